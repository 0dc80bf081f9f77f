//go:build unix

package job

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file, made when missing, and locks it for this process: the system takes the lock
// away when the process ends, however it ends. The error is ErrHeld if another process has it.
func (d plainDir) openLocked(name string) (*os.File, error) {
	f, err := d.edit(name, 0)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, syscall.LOCK_EX)
}

// openShared opens a file that is there and locks it against those who lock it with openLocked. Nothing is
// written, so that it may be on a disk that cannot be written to.
func (d plainDir) openShared(name string) (*os.File, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	return f, d.flock(f, syscall.LOCK_SH)
}

// flock locks a file, or closes it.
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
