//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file, made when missing, and locks it for this process: the system takes the lock
// away when the process ends, however it ends. The error is errHeld if another process has it.
func (d plainDir) openLocked(name string) (*os.File, error) {
	f, err := d.edit(name, 0)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	} else if err != nil {
		err = &os.PathError{Op: "flock", Path: d.path(name), Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
