package stores

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"runtime"
	"strings"
)

// newSuffix is the suffix of files while they are written. A killed process leaves them; Put and List ignore them.
const newSuffix = ".amble-new"

// Dir is a [Store] of files in a directory, one for each object. It does not follow symbolic links out of the directory.
type Dir struct{ root *os.Root }

// OpenDir opens a directory, which must exist, as a store. The error wraps [fs.ErrNotExist] if it does not.
func OpenDir(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("stores: %w", err)
	}
	return &Dir{root}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Put implements [Store].
func (d *Dir) Put(ctx context.Context, o Object, body io.ReadSeeker) error {
	if err := errors.Join(ctx.Err(), CheckName(o.Name)); err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	if err := d.root.MkdirAll(path.Dir(o.Name), 0o755); err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	temp := path.Join(path.Dir(o.Name), "."+rand.Text()+newSuffix)
	f, err := d.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), whileOpen{ctx, body})
	if err == nil {
		err = o.compare(n, h)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(temp, o.Name)
	}
	if err != nil {
		return fmt.Errorf("stores: write %s: %w", o.Name, errors.Join(err, d.root.Remove(temp)))
	}
	for dir := path.Dir(o.Name); ; dir = path.Dir(dir) { // directories may be new, too
		if err := d.sync(dir); err != nil {
			return fmt.Errorf("stores: %w", err)
		}
		if dir == "." {
			return nil
		}
	}
}

// sync makes the names in a directory durable where the system supports it.
func (d *Dir) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// whileOpen reads until a context ends.
type whileOpen struct {
	ctx context.Context
	io.Reader
}

func (r whileOpen) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// Get implements [Store].
func (d *Dir) Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	f, size, err := d.open(ctx, name)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = size - offset
	}
	if offset < 0 || length < 0 || length > size-offset {
		return nil, errors.Join(fmt.Errorf("stores: %s has %d bytes, and %d from byte %d are wanted: %w", name, size, length, offset, io.ErrUnexpectedEOF), f.Close())
	}
	return &section{whileOpen{ctx, io.NewSectionReader(f, offset, length)}, f}, nil
}

// section is a part of a file.
type section struct {
	io.Reader
	io.Closer
}

func (d *Dir) open(ctx context.Context, name string) (f *os.File, size int64, err error) {
	if err := errors.Join(ctx.Err(), CheckName(name)); err != nil {
		return nil, 0, err
	}
	info, err := d.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() { // opening a named pipe would block
		err = fmt.Errorf("%s is no file: %w", name, fs.ErrNotExist)
	}
	if err == nil {
		f, err = d.root.Open(name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("stores: %w", err)
	}
	return f, info.Size(), nil
}

// Stat implements [Store]. It reads the file.
func (d *Dir) Stat(ctx context.Context, name string) (Object, error) {
	f, _, err := d.open(ctx, name)
	if err != nil {
		return Object{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, whileOpen{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return Object{}, fmt.Errorf("stores: read %s: %w", name, err)
	}
	return Object{Name: name, Size: n, SHA256: [32]byte(h.Sum(nil))}, nil
}

// List implements [Store].
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		stopped := false
		err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
				return nil
			case err != nil:
				return err
			case e.IsDir() && name != "." && !strings.HasPrefix(name+"/", prefix) && !strings.HasPrefix(prefix, name+"/"):
				return fs.SkipDir
			case !e.Type().IsRegular() || !strings.HasPrefix(name, prefix) || strings.HasSuffix(name, newSuffix):
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return nil //nolint:nilerr // removed meanwhile
			}
			if stopped = !yield(Object{Name: name, Size: info.Size()}, nil); stopped {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil && !stopped {
			yield(Object{}, fmt.Errorf("stores: %w", err))
		}
	}
}

// Delete implements [Store]. It also removes directories that have become empty.
func (d *Dir) Delete(ctx context.Context, name string) error {
	if err := errors.Join(ctx.Err(), CheckName(name)); err != nil {
		return err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stores: %w", err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		_ = d.root.Remove(dir) // fails if dir is not empty
	}
	return nil
}
