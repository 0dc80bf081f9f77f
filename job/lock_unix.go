//go:build unix

package job

import (
	"errors"
	"os"

	"github.com/amble-crawler/amble/internal/filelock"
)

// openLocked opens a file, creating it if it is missing, and locks it for this process. The system releases the lock when the
// process ends, even after a crash. The error is ErrHeld if another process has the lock.
func (d plainDir) openLocked(name string) (*os.File, error) {
	f, err := d.edit(name, 0)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, true)
}

// openShared opens an existing file with a shared lock, which conflicts with openLocked. It writes nothing, so the file may be on
// a read-only disk.
func (d plainDir) openShared(name string) (*os.File, error) {
	f, err := d.file(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, false)
}

// closeLocked unlocks a file and closes it.
func (plainDir) closeLocked(f *os.File) error { return filelock.Close(f) }

// flock locks a file, exclusively or shared, and closes it on failure.
func (d plainDir) flock(f *os.File, alone bool) error {
	locked, err := filelock.TryLock(f, alone)
	if err == nil && !locked {
		err = ErrHeld
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}
