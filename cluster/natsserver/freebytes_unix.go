//go:build linux || darwin || freebsd

package natsserver

import "syscall"

// freeBytes returns the free bytes on the disk of a directory.
func freeBytes(dir string) (bytes int64, known bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(uint64(fs.Bavail) * uint64(fs.Bsize)), true //nolint:unconvert // their types differ between systems
}
