//go:build !linux && !darwin && !freebsd

package natsserver

// roomOn knows nothing here.
func roomOn(string) (bytes int64, known bool) { return 0, false }
