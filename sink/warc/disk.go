package warc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// operation is a change of the disk that is about to be made. A hook gets it.
type operation struct {
	verb string
	path string
	// data is the content of the next write. The hook may shorten it: then only this part is written.
	data []byte
	n    *int
}

// disk makes all changes of the output's files, so that tests can stop the process between any two changes. If there is a hook, nothing is
// synced to the hardware, to save time. disk never follows symbolic links. A new file never replaces another, except by replace.
type disk struct {
	root *os.Root
	hook func(op operation) error
}

func (d disk) path(name string) string { return filepath.Join(d.root.Name(), name) }

func (d disk) ask(verb, name string) error {
	if d.hook == nil {
		return nil
	}
	return d.hook(operation{verb: verb, path: d.path(name)})
}

// create creates a file. The file must not exist.
func (d disk) create(name string) (*file, error) {
	if err := d.ask("create", name); err != nil {
		return nil, err
	}
	return d.make(name)
}

func (d disk) make(name string) (*file, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	return &file{f, name, d}, nil
}

// replace creates a file. If one of that name exists, it is replaced.
func (d disk) replace(name string) (*file, error) {
	if err := d.ask("create", name); err != nil {
		return nil, err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, d.named("remove", name, err)
	}
	return d.make(name)
}

// edit opens an existing file for writing.
func (d disk) edit(name string) (*file, error) {
	if err := d.ask("open", name); err != nil {
		return nil, err
	}
	f, err := d.open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return &file{f, name, d}, nil
}

// read opens an existing file for reading.
func (d disk) read(name string) (*os.File, error) { return d.open(name, os.O_RDONLY) }

func (d disk) open(name string, flag int) (*os.File, error) {
	before, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, flag, 0)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = d.named("open", name, errNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errNotRegular = errors.New("not a regular file")

// stat returns information about a file. It returns an error if the file is not a regular one.
func (d disk) stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	return info, d.named("stat", name, err)
}

// list returns the entries of the output's directory.
func (d disk) list() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, d.named("open", ".", err)
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

func (d disk) rename(from, to string) error {
	if err := d.ask("rename", to); err != nil {
		return err
	}
	return d.named("rename", to, d.root.Rename(from, to))
}

// remove removes a file if it exists.
func (d disk) remove(name string) error {
	if err := d.ask("remove", name); err != nil {
		return err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.named("remove", name, err)
	}
	return nil
}

// sync makes the names in the directory durable, if the system supports that.
func (d disk) sync() error {
	if d.hook != nil {
		return d.ask("sync", ".")
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(".")
	if err != nil {
		return d.named("open", ".", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// named adds to err the path of the file, which errors of an os.Root do not have.
func (d disk) named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: op, Path: d.path(name), Err: err}
}

// file is an open file of a disk.
type file struct {
	*os.File
	name string
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
	if err := f.disk.ask("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *file) Sync() error {
	if f.disk.hook != nil {
		return f.disk.ask("sync", f.name)
	}
	return f.File.Sync()
}
