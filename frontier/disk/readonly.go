package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadValues calls f with the values of an owner in a directory, as frontier.Durable.Values does. It changes nothing in dir, which may be
// read-only, and takes no lock. Of c, only LastWrite is used. If LastWrite is empty, another process may have the crawl open. Its latest
// writes may then be missing, and ReadValues may fail while that process replaces files; another call may succeed. ReadValues returns the
// error of f or an error like those of [Open]; it wraps fs.ErrNotExist if there is no crawl.
func ReadValues(dir string, c Config, owner, prefix string, f func(name string, value []byte) error) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	return readValues(plainFS{vfs.Default}, dir, c, owner, prefix, f)
}

func readValues(fs vfs.FS, dir string, c Config, owner, prefix string, f func(name string, value []byte) error) error {
	told := error(nil)
	err := withEngine(fs, dir, c, func(s *Store) error {
		wrote, err := s.engine.loadTime()
		if err = errors.Join(err, checkLast(fs, s.c.LastWrite, wrote)); err != nil {
			return err
		}
		return s.engine.scanPrefix(appendValue(nil, owner, prefix), func(key, value []byte) (bool, error) {
			told = f(string(key[len(appendValue(nil, owner, "")):]), value)
			return told == nil, nil
		})
	})
	return errors.Join(told, err)
}

// withEngine opens the store in dir, of which only the engine may be used, and calls f with it. Nothing is changed or locked.
func withEngine(fs vfs.FS, dir string, c Config, f func(*Store) error) error {
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
	c.KnownURLs = 1 // small, because only the engine is used
	s := newStore(dir, c, tuned())
	if err := s.openEngine(fs, lock, true); err != nil {
		return errors.Join(describe(dir, err), lock.Close())
	}
	err = s.engine.guarded(func() error { return f(s) })
	return errors.Join(describe(dir, err), s.engine.close(), lock.Close())
}

// HostCount counts the pending URLs of a host.
type HostCount struct {
	Host    string    // host:port
	Queued  int       // URLs that are queued or claimed
	Waiting int       // URLs that wait until a time in the future
	Ready   time.Time // time from which a URL may be claimed; zero: at once
}

// ReadHosts calls f with each host that has pending URLs, in no particular order, and returns the numbers of URLs that are done and that
// were rejected. Like [ReadValues] it changes nothing and takes no lock. Another process may have the crawl open. Its latest writes may
// then be missing, and ReadHosts may fail while that process replaces files; another call may succeed.
func ReadHosts(dir string, f func(HostCount) error) (done, rejected int, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, 0, fmt.Errorf("disk: %w", err)
	}
	told := error(nil)
	err = withEngine(plainFS{vfs.Default}, dir, Config{}, func(s *Store) error {
		counts, err := s.engine.loadCounters()
		if err != nil {
			return err
		}
		done, rejected = counts.done, counts.rejected
		return s.engine.scanHosts(func(c HostCount) bool {
			told = f(c)
			return told == nil
		})
	})
	return done, rejected, errors.Join(told, err)
}

// scanHosts calls f with each host that has pending URLs, until f returns false.
func (e *engine) scanHosts(f func(HostCount) bool) error {
	return e.scanPrefix([]byte{tagHost}, func(_, value []byte) (bool, error) {
		r, err := readHost(value)
		if err != nil || r.queued+r.waiting == 0 {
			return err == nil, err
		}
		c := HostCount{Host: r.name, Queued: r.queued, Waiting: r.waiting}
		if r.ready > 0 {
			c.Ready = time.Unix(0, r.ready)
		}
		return f(c), nil
	})
}

// unlockedFS is a file system whose Lock does nothing.
type unlockedFS struct{ vfs.FS }

// Unwrap returns the file system, so that the engine can determine its kind.
func (u unlockedFS) Unwrap() vfs.FS { return u.FS }

// Lock implements vfs.FS. It locks nothing.
func (unlockedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
