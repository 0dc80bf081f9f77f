//go:build !linux && !darwin && !freebsd

package natsserver

// freeBytes returns false: the free space is known only on Linux, macOS and FreeBSD.
func freeBytes(string) (bytes int64, known bool) { return 0, false }
