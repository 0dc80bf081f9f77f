//go:build unix

package job

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file, creating it if it is missing, and locks it for this process. The system releases the lock
// when the process ends, however it ends. The error is ErrHeld if another process has the lock.
func (d plainDir) openLocked(name string) (*os.File, error) {
	f, err := d.edit(name, 0)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, syscall.LOCK_EX)
}

// openShared opens an existing file and locks it against openLocked. Nothing is written, so the file may be on a
// read-only disk.
func (d plainDir) openShared(name string) (*os.File, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, syscall.LOCK_SH)
}

// flock locks a file, and closes it on failure.
func (d plainDir) flock(f *os.File, how int) (err error) {
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrHeld
	default:
		err = &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return errors.Join(err, f.Close())
}
