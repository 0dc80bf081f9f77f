//go:build unix

package chromium

import (
	"os"
	"syscall"
)

// lockFile locks a file, or fails at once if another process holds the lock. The lock ends when its last descriptor is closed.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
