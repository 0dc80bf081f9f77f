package job

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file, creating it if it is missing, so that no other process can write to it. The system releases the lock
// when the process ends, even after a crash. The error is ErrHeld if another process has the lock.
func (d plainDir) openLocked(file string) (*os.File, error) {
	path := d.path(file)
	if info, err := d.root.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return nil, notPlain(path, kindOf(info.Mode()))
	}
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, ErrHeld
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// openShared is like openLocked.
func (d plainDir) openShared(name string) (*os.File, error) { return d.openLocked(name) }

// closeLocked closes a file, which also unlocks it.
func (plainDir) closeLocked(f *os.File) error { return f.Close() }
