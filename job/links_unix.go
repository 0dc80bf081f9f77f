//go:build unix

package job

import (
	"io/fs"
	"syscall"
)

// links returns the number of hard links to a file.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // it is smaller on other systems
	}
	return 1
}
