package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt returns the position of the locked byte, which is beyond the end of every file, because other processes cannot read locked
// bytes.
func lockAt() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// TryLock locks a file for this process, exclusively or shared, and returns false if another process has a conflicting lock. The system
// releases the lock when the process ends.
func TryLock(f *os.File, alone bool) (locked bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockAt())
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

// Unlock unlocks a file.
func Unlock(f *os.File) error { return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockAt()) }
