//go:build unix

package safefile

import (
	"os"
	"syscall"
)

const (
	noWait   = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
	shared   = 0o077 // permission bits of users other than the owner
)

// own reports whether a file belongs to this process's user.
func own(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// single reports whether a file has only one name.
func single(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 1
}

// lent returns the permission bits that users other than the owner may have for a secret: reading by the group, if the file belongs to
// root and this process to the group.
func lent(info os.FileInfo) os.FileMode {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid == 0 && os.Geteuid() != 0 {
		return 0o040
	}
	return 0
}
