// Package safefile opens files that other users may have created, such as files in a job directory or a temporary folder. It does not
// wait for a FIFO, does not read a device, and limits the bytes that it reads.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits for files that the operator specifies.
const (
	Settings = 16 << 20  // bytes of a job file, a list of hosts or a robots.txt
	Token    = 64 << 10  // bytes of a file with a token
	Stream   = 256 << 20 // bytes of seeds from a file that is not regular
)

// ErrTooLong is the error of a file that exceeds its size limit.
var ErrTooLong = errors.New("longer than")

// ErrNotRegular is the error of a file that is a FIFO, a device, a socket or a directory.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading, without waiting for a writer.
func Open(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|noWait, 0))
}

// OpenOwn is like Open, for a file of this process's user that is not a symbolic link.
func OpenOwn(path string) (*os.File, error) {
	f, err := regular(os.OpenFile(path, os.O_RDONLY|noWait|noFollow, 0))
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !own(info) {
		return nil, errors.Join(&os.PathError{Op: "open", Path: path, Err: errors.New("another user's file")}, err, f.Close())
	}
	return f, nil
}

// EditOwn opens a regular file of this process's user for reading and writing, and creates it if it is missing. It must not be a symbolic
// link, have a second hard link, or be writable by others.
func EditOwn(path string) (*os.File, error) {
	f, err := regular(os.OpenFile(path, os.O_RDWR|os.O_CREATE|noWait|noFollow, 0o600))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !own(info):
		err = errors.New("another user's file")
	case err == nil && !single(info):
		err = errors.New("a file with a second name (a hard link)")
	case err == nil && info.Mode().Perm()&shared&0o022 != 0:
		err = fmt.Errorf("a file that others can write to, with mode %04o", info.Mode().Perm())
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a regular file up to limit bytes. A longer file is an error.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ReadAll(f, path, limit)
}

// ReadNamed reads a file that the operator specified, which may be a pipe, up to limit bytes. A longer file is an error.
func ReadNamed(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ReadAll(f, path, limit)
}

// ErrShared is the error of a file with a secret that users other than its owner can read.
var ErrShared = errors.New("others than its owner can read it")

// ReadSecret is like ReadNamed, but returns an error for a regular file that users other than its owner can read, if the system reports
// that. A file of root may be readable by the group of this process, because Kubernetes and systemd pass secrets in this way.
func ReadSecret(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&shared&^lent(info) != 0 {
		return nil, fmt.Errorf("%s has mode %04o: %w: chmod 600 %s", path, mode.Perm(), ErrShared, path)
	}
	return ReadAll(f, path, limit)
}

// ReadSeeds reads a list of seeds from a file that the operator specified. A regular file may have any size, other files up to Stream
// bytes.
func ReadSeeds(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ReadSeedsFrom(f, path)
}

// ReadSeedsFrom is like ReadSeeds, for an open reader. Errors contain name.
func ReadSeedsFrom(r io.Reader, name string) ([]byte, error) {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return io.ReadAll(r)
		}
	}
	return ReadAll(r, name, Stream)
}

// ReadAll reads r up to limit bytes. More bytes are an error. Errors contain name.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is %w %d bytes", name, ErrTooLong, limit)
	}
	return b, err
}
