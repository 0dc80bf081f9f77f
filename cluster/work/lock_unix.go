//go:build unix

package work

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile locks a file for this process, and returns what identifies it on this machine.
func lockFile(f *os.File) (id string, held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return "", errors.Is(err, syscall.EWOULDBLOCK), &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id = fmt.Sprintf("%d/%d", s.Dev, s.Ino)
	}
	return id, false, nil
}
