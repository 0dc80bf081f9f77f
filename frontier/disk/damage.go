package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"syscall"
)

// ErrDamaged is wrapped by errors of a crawl directory in which a file is missing or does not hold what was
// written, because the disk is broken or somebody changed it, for example. The crawl in it cannot be resumed.
var ErrDamaged = errors.New("disk: the crawl directory is damaged")

// storeError is an error of the engine as one line of text that names the directory.
type storeError struct {
	text    string
	wrapped []error
}

func (f *storeError) Error() string   { return f.text }
func (f *storeError) Unwrap() []error { return f.wrapped }

// engineError is the engine's last message, with the errors that led to it.
type engineError struct {
	text   string
	causes []error
}

func (e *engineError) Error() string   { return "the engine gave up: " + e.text }
func (e *engineError) Unwrap() []error { return e.causes }

// describe makes an error of the engine one of the store in dir. An error that does not come from the operating
// system means damage: the engine reads nothing but what it wrote.
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

// checkEngine reports a directory without the file that names the engine's list of files. There the engine would
// begin anew and remove what it finds.
func checkEngine(dir string, names []string) error {
	files := false
	for _, n := range names {
		if strings.HasPrefix(n, "marker.manifest.") {
			return nil
		}
		files = files || strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log")
	}
	if !files {
		return nil // the engine was never started in it
	}
	return fmt.Errorf("%w: %s: the file marker.manifest is missing", ErrDamaged, dir)
}

// oneLine returns the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
