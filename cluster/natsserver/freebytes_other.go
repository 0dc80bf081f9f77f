//go:build !linux && !darwin && !freebsd

package natsserver

// freeBytes returns no size: reading the free space is not implemented on this system.
func freeBytes(string) (bytes int64, known bool) { return 0, false }
