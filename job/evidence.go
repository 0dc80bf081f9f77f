package job

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
)

// evidence is an append-only file with the hash of its contents. Committed data never changes; Truncate removes data that a
// killed process wrote after the last commit.
type evidence struct {
	*os.File
	name string // path in the job's directory

	mu     sync.Mutex
	hash   hash.Hash
	bytes  int64 // bytes that the hash covers
	synced int64 // of bytes, the number that is durable
}

// openEvidence opens a file of the job, creating it if it is missing. was is its extent at the last commit, nil without one: the
// file must be at least as long, and the compared parts must be unchanged.
func (d jobFiles) openEvidence(name string, was *extent) (*evidence, error) {
	if was == nil {
		was = &extent{SHA256: hexSum(sha256.New())}
	}
	f, err := d.committed(name, was)
	if err != nil {
		return nil, d.told(name, err)
	}
	info, err := f.Stat()
	e := &evidence{File: f, name: name, bytes: was.Bytes}
	if err == nil {
		e.hash, err = was.check(f, info.Size())
	}
	if err != nil {
		return nil, errors.Join(d.told(name, err), f.Close())
	}
	return e, nil
}

// committed opens a file. It creates a missing file only if nothing was committed to it.
func (d jobFiles) committed(name string, was *extent) (*os.File, error) {
	if was.Bytes == 0 {
		return d.edit(name, os.O_APPEND)
	}
	f, err := d.file(name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		err = gone(was.Bytes)
	}
	return f, err
}

// Write implements io.Writer. A partial write is not in the hash: Truncate removes it.
func (e *evidence) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.File.Write(b)
	if err == nil {
		_, _ = e.hash.Write(b) // Write on a hash never fails
		e.bytes += int64(n)
	}
	return n, err
}

// Truncate cuts the file. It must be called before the first Write, or after one that failed.
func (e *evidence) Truncate(size int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.File.Truncate(size); err != nil {
		return err
	}
	if size < e.bytes {
		e.hash, e.bytes, e.synced = sha256.New(), 0, 0
	}
	n, err := io.Copy(e.hash, io.NewSectionReader(e.File, e.bytes, size-e.bytes))
	e.bytes += n
	return err
}

// Sync makes the contents of the file durable.
func (e *evidence) Sync() error {
	e.mu.Lock()
	n := e.bytes
	e.mu.Unlock()
	if err := e.File.Sync(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.synced = max(e.synced, n)
	return nil
}

// grown makes the file durable and returns its extent. was is the extent at the last commit. It also reports whether there is a
// new mark, and whether the file has grown.
func (e *evidence) grown(was extent) (now extent, marked, grown bool, err error) {
	e.mu.Lock()
	if e.bytes == was.Bytes && was.State != nil {
		e.mu.Unlock()
		return was, false, false, nil
	}
	now, marked = was.grown(e.bytes, hexSum(e.hash), stateOf(e.hash))
	durable := e.synced >= e.bytes
	e.mu.Unlock()
	if !durable {
		err = e.Sync()
	}
	return now, marked, true, err
}
