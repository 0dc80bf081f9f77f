//go:build unix

package chromium

import (
	"os"
	"syscall"
)

// lockFile takes the lock of a file, or fails at once if another process has it. It ends with the last descriptor.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
