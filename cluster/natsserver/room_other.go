//go:build !linux && !darwin && !freebsd

package natsserver

// roomOn returns no size: reading the free space is not implemented on this system.
func roomOn(string) (bytes int64, known bool) { return 0, false }
