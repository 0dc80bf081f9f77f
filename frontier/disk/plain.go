package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// plainFS is the system's file system restricted to regular files. A crawl's directory may contain other files that somebody has put
// there: through a symbolic link the engine would write elsewhere, and a named pipe would block it for ever.
type plainFS struct{ vfs.FS }

// Unwrap returns the file system, so that the engine can determine its kind.
func (p plainFS) Unwrap() vfs.FS { return p.FS }

// Lock implements vfs.FS. It truncates the file.
func (p plainFS) Lock(name string) (io.Closer, error) {
	if err := plain(name); err != nil {
		return nil, err
	}
	return p.FS.Lock(name)
}

// OpenReadWrite implements vfs.FS.
func (p plainFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := plain(name); err != nil {
		return nil, err
	}
	return p.FS.OpenReadWrite(name, c, opts...)
}

// Open implements vfs.FS.
func (p plainFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := plain(name); err != nil {
		return nil, err
	}
	return p.FS.Open(name, opts...)
}

// List implements vfs.FS. It fails if anything in the directory is not a regular file, apart from hidden files and
// lost+found.
func (p plainFS) List(dir string) ([]string, error) {
	names, err := p.FS.List(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if strings.HasPrefix(n, ".") || n == "lost+found" {
			continue
		}
		if err := plain(p.PathJoin(dir, n)); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// plain returns an error if there is a file at path that is not a regular file.
func plain(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s is not a regular file: move it out of the directory", ErrForeign, path)
}
