package disk

import (
	"sync"
	"sync/atomic"
)

// failure is why a store no longer works. All later calls return its first error.
type failure struct {
	dir  string
	told func(err error, hangs bool) // called for each error once the store is open; hangs: the engine may never return

	opened atomic.Bool   // Open has succeeded; changed with mu held
	hung   chan struct{} // closed when the engine may hang

	mu    sync.Mutex
	first error
	hangs bool
}

func newFailure(dir string, told func(err error, hangs bool)) *failure {
	return &failure{dir: dir, told: told, hung: make(chan struct{})}
}

// open is called when the store has been loaded. Until then no other part of it is told of an error, as Open, which
// changes them all, reads without their locks; open returns the error there has been. The engine compacts from the
// moment it is opened, and may meet damage that Open does not.
func (f *failure) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.opened.Store(true)
	}
	return f.first
}

// err returns the first error, nil if there is none.
func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// mayHang reports whether the engine must not be waited for.
func (f *failure) mayHang() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hangs
}

// fail records err, unless there was an error before, and returns the first.
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
