//go:build unix

package chromium

import (
	"os"
	"syscall"
)

// lockFile locks a file, or fails at once if another process has the lock. The lock ends with the last descriptor.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
