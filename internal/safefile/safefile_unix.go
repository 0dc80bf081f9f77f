//go:build unix

package safefile

import (
	"os"
	"syscall"
)

const (
	noWait   = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
	shared   = 0o077 // mode bits of others than the owner
)

// own reports whether a file belongs to this process's user.
func own(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// single reports whether a file has one name.
func single(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 1
}
