//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// TryLock locks a file for this process, exclusively or shared, and returns false if another process has a conflicting lock. The system
// releases the lock when the process ends.
func TryLock(f *os.File, alone bool) (locked bool, err error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	switch err := flock(f, how|syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	default:
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}

// Unlock unlocks a file.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) (err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = raw.Control(func(fd uintptr) {
		for {
			if result = syscall.Flock(int(fd), how); !errors.Is(result, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, result)
}
