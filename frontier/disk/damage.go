package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"syscall"
)

// ErrDamaged is wrapped by errors of a crawl directory that has lost a file, or in which a file is not what was
// written: by a broken disk, say, or by somebody's hand. The crawl in it cannot be resumed.
var ErrDamaged = errors.New("disk: the crawl directory is damaged")

// storeError is an error of the engine on one line, with the directory.
type storeError struct {
	text    string
	wrapped []error
}

func (f *storeError) Error() string   { return f.text }
func (f *storeError) Unwrap() []error { return f.wrapped }

// engineError is what the engine says when it gives up, with the errors that led to it.
type engineError struct {
	text   string
	causes []error
}

func (e *engineError) Error() string   { return "the engine gave up: " + e.text }
func (e *engineError) Unwrap() []error { return e.causes }

// describe returns what err, an error of the engine, says of the store in dir. Unless the operating system complains
// about the disk it is damage: the engine reads nothing but what it wrote.
func describe(dir string, err error) error {
	var before *storeError
	var no syscall.Errno
	switch {
	case err == nil, errors.As(err, &before):
		return err
	case errors.As(err, &no) && !errors.Is(err, iofs.ErrNotExist), errors.Is(err, io.ErrShortWrite):
		return &storeError{fmt.Sprintf("disk: the crawl in %s: %s", dir, oneLine(err)), []error{err}}
	}
	return &storeError{fmt.Sprintf("%v: %s: %s", ErrDamaged, dir, oneLine(err)), []error{ErrDamaged, err}}
}

// checkEngine reports a directory in which the engine would begin anew, and remove what is there: the file
// that names its list of files is missing.
func checkEngine(dir string, names []string) error {
	files := false
	for _, n := range names {
		if strings.HasPrefix(n, "marker.manifest.") {
			return nil
		}
		files = files || strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log")
	}
	if !files {
		return nil // it was not begun
	}
	return fmt.Errorf("%w: %s: the file marker.manifest is missing", ErrDamaged, dir)
}

// oneLine is the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
