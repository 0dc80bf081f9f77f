package warc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// operation is a change of the disk that is about to be made.
type operation struct {
	verb string
	path string
	// data is what a write will write. The hook may shorten it, to have only a part written.
	data []byte
	n    *int
}

// disk makes every change of the output's files, so that tests can stop the world between any two. With
// a hook nothing is forced out to the hardware, which would only take time.
type disk struct {
	hook func(op operation) error
}

func (d disk) ask(verb, path string) error {
	if d.hook == nil {
		return nil
	}
	return d.hook(operation{verb: verb, path: path})
}

func (d disk) create(path string) (*file, error) {
	return d.open("create", path, os.O_CREATE|os.O_EXCL)
}
func (d disk) edit(path string) (*file, error) { return d.open("open", path, 0) }

// replace opens a file empty.
func (d disk) replace(path string) (*file, error) {
	return d.open("create", path, os.O_CREATE|os.O_TRUNC)
}

func (d disk) open(verb, path string, flags int) (*file, error) {
	if err := d.ask(verb, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0o644)
	if err != nil {
		return nil, err
	}
	return &file{File: f, disk: d}, nil
}

func (d disk) rename(from, to string) error {
	if err := d.ask("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// remove removes a file, if it is there.
func (d disk) remove(path string) error {
	if err := d.ask("remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes the names in a directory durable, where the system can.
func (d disk) syncDir(path string) error {
	if d.hook != nil {
		return d.ask("sync", path)
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// file is an open file of a disk.
type file struct {
	*os.File
	disk disk
}

func (f *file) Write(p []byte) (int, error) {
	if f.disk.hook == nil {
		return f.File.Write(p)
	}
	n := len(p)
	fault := f.disk.hook(operation{verb: "write", path: f.Name(), data: p, n: &n})
	m, err := f.File.Write(p[:n])
	return m, errors.Join(err, fault)
}

func (f *file) Truncate(size int64) error {
	if err := f.disk.ask("truncate", f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *file) Sync() error {
	if f.disk.hook != nil {
		return f.disk.ask("sync", f.Name())
	}
	return f.File.Sync()
}
