package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadValues calls f with the values of an owner in a directory, as frontier.Durable.Values does. It changes nothing
// in dir, which may be read-only, and takes no lock: no process may have the crawl open. Of c only LastWrite is
// used. The error is f's or as of [Open], and wraps fs.ErrNotExist if there is no crawl.
func ReadValues(dir string, c Config, owner, prefix string, f func(name string, value []byte) error) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	return readValues(plainFS{vfs.Default}, dir, c, owner, prefix, f)
}

func readValues(fs vfs.FS, dir string, c Config, owner, prefix string, f func(name string, value []byte) error) error {
	if _, err := fs.Stat(fs.PathJoin(dir, marker)); errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("disk: %s has no crawl: %w", dir, iofs.ErrNotExist)
	}
	if err := check(fs, dir); err != nil {
		return err
	}
	fs = unlockedFS{fs}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	s := newStore(dir, c, tuned())
	if err := s.openEngine(fs, lock, true); err != nil {
		return errors.Join(describe(dir, err), lock.Close())
	}
	told := error(nil)
	err = s.engine.guarded(func() error {
		wrote, err := s.engine.loadTime()
		if err = errors.Join(err, checkLast(fs, s.c.LastWrite, wrote)); err != nil {
			return err
		}
		return s.engine.scanPrefix(appendValue(nil, owner, prefix), func(key, value []byte) (bool, error) {
			told = f(string(key[len(appendValue(nil, owner, "")):]), value)
			return told == nil, nil
		})
	})
	return errors.Join(told, describe(dir, err), s.engine.close(), lock.Close())
}

// unlockedFS is a file system whose Lock does nothing.
type unlockedFS struct{ vfs.FS }

// Unwrap lets the engine see what kind of file system it is.
func (u unlockedFS) Unwrap() vfs.FS { return u.FS }

// Lock implements vfs.FS. It locks nothing.
func (unlockedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
