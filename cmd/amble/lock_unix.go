//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens the file at path, made when missing, and locks it for this process: the system
// takes the lock away when the process ends, however it ends. The error is errHeld if another
// process has it.
func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
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
		err = &os.PathError{Op: "flock", Path: path, Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
