//go:build !linux && !darwin && !freebsd

package natsserver

// roomOn is not implemented on this system.
func roomOn(string) (bytes int64, known bool) { return 0, false }
