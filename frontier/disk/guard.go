package disk

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system that the engine uses. If a write fails, guard makes the store fail and blocks the goroutine of that write for
// ever, so that the engine does not learn of it: the engine would try again for ever, or panic in a place where a deferred unlock would
// end the process.
type guard struct {
	vfs.FS
	failure  *failure
	unsynced bool // nothing is synced, because no later process needs the files
}

// Unwrap returns the file system, so that the engine can determine its kind.
func (g guard) Unwrap() vfs.FS { return g.FS }

// check returns err while the store is being opened. Afterwards, it does not return if err is not nil.
func (g guard) check(err error) error { return g.checkOf(g.failure.dir, err) }

// checkOf is like check, but returns err if the file does not belong to the store.
func (g guard) checkOf(name string, err error) error {
	if err != nil && !g.elsewhere(name) && g.failure.opened.Load() {
		g.failure.breakDown(err)
		select {}
	}
	return err
}

// elsewhere reports whether a file is part of a [Store.Snapshot], on which the store does not depend.
func (g guard) elsewhere(name string) bool {
	return name != g.failure.dir && g.PathDir(name) != g.failure.dir
}

func (g guard) file(name string, f vfs.File, err error) (vfs.File, error) {
	if err := g.checkOf(name, err); err != nil || g.elsewhere(name) {
		return f, err
	}
	return guardedFile{f, g}, nil
}

// Create implements vfs.FS.
func (g guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.Create(name, c)
	return g.file(name, f, err)
}

// OpenReadWrite implements vfs.FS.
func (g guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.OpenReadWrite(name, c, opts...)
	return g.file(name, f, err)
}

// OpenDir implements vfs.FS.
func (g guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	return g.file(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (g guard) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.ReuseForWrite(old, name, c)
	return g.file(name, f, err)
}

// Rename implements vfs.FS.
func (g guard) Rename(old, name string) error { return g.checkOf(name, g.FS.Rename(old, name)) }

// Link implements vfs.FS. The engine makes links only for a [Store.Snapshot]. Not every file system supports them.
func (g guard) Link(old, name string) error { return g.checkOf(name, g.FS.Link(old, name)) }

type guardedFile struct {
	vfs.File
	g guard
}

// Write implements io.Writer.
func (f guardedFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, f.g.check(err)
}

// WriteAt implements io.WriterAt.
func (f guardedFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, f.g.check(err)
}

// Sync implements vfs.File.
func (f guardedFile) Sync() error {
	if f.g.unsynced {
		return nil
	}
	return f.g.check(f.File.Sync())
}

// SyncData implements vfs.File.
func (f guardedFile) SyncData() error {
	if f.g.unsynced {
		return nil
	}
	return f.g.check(f.File.SyncData())
}

// SyncTo implements vfs.File.
func (f guardedFile) SyncTo(length int64) (bool, error) {
	if f.g.unsynced {
		return false, nil
	}
	whole, err := f.File.SyncTo(length)
	return whole, f.g.check(err)
}
