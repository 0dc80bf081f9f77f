package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// failure holds the first error of a store that no longer works. All later calls return it.
type failure struct {
	dir  string
	told func(err error, hangs bool) // called for each error once the store is open; if hangs is set, calls of the engine may never return

	opened atomic.Bool   // Open has succeeded; changed with mu held
	hung   chan struct{} // closed when calls of the engine may never return

	mu    sync.Mutex
	first error
	hangs bool
}

func newFailure(dir string, told func(err error, hangs bool)) *failure {
	return &failure{dir: dir, told: told, hung: make(chan struct{})}
}

// open is called when the store has been loaded. It returns the first error so far, or nil. Before this call no part of the store is
// notified of errors, because Open accesses all parts without their locks. The engine begins to compact when it is opened, and may find
// damage that Open does not find.
func (f *failure) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.opened.Store(true)
	}
	return f.first
}

// err returns the first error, or nil.
func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// mayHang reports whether calls of the engine may never return.
func (f *failure) mayHang() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hangs
}

// fail records err if it is the first error, and returns the first error.
func (f *failure) fail(err error) error {
	err = f.record(err)
	f.tell(err, false)
	return err
}

// breakDown is like fail, for an error after which the engine may hang.
func (f *failure) breakDown(err error) {
	err = f.record(err)
	if f.hang() {
		f.tell(err, true)
		close(f.hung)
	}
}

func (f *failure) tell(err error, hangs bool) {
	if f.opened.Load() {
		f.told(err, hangs)
	}
}

func (f *failure) record(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = describe(f.dir, err)
	}
	return f.first
}

// hang reports whether this is its first call.
func (f *failure) hang() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.hangs
	f.hangs = true
	return first
}

// ErrDamaged is wrapped by errors about a crawl directory in which a file is missing or does not have the content that was written, for
// example because the disk is broken or the file was changed. The crawl in the directory cannot be resumed.
var ErrDamaged = errors.New("disk: the crawl directory is damaged")

// storeError is an error of the engine. Its text is one line that names the directory.
type storeError struct {
	text    string
	wrapped []error
}

func (f *storeError) Error() string   { return f.text }
func (f *storeError) Unwrap() []error { return f.wrapped }

// engineError is the last message of the engine, with the errors that led to it.
type engineError struct {
	text   string
	causes []error
}

func (e *engineError) Error() string   { return "the engine gave up: " + e.text }
func (e *engineError) Unwrap() []error { return e.causes }

// describe converts an error of the engine to an error of the store in dir. An error that does not come from the operating system means
// that the directory is damaged, because the engine only reads files that it wrote.
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

// checkEngine returns an error if the file that names the engine's list of files is missing although other files of the engine exist. In
// such a directory the engine would start with an empty database and remove the existing files.
func checkEngine(dir string, names []string) error {
	files := false
	for _, n := range names {
		if strings.HasPrefix(n, "marker.manifest.") {
			return nil
		}
		files = files || strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log")
	}
	if !files {
		return nil // the engine was never started in this directory
	}
	return fmt.Errorf("%w: %s: the file marker.manifest is missing", ErrDamaged, dir)
}

// oneLine returns the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
