// Package disk implements a frontier in a directory. A crawl that was killed at any instant can be resumed from it, with every URL whose
// addition was acknowledged and none that was settled.
//
// [Open] makes or opens the directory of one crawl. The [Store] keeps the clauses of frontier.Frontier and frontier.Durable: Add, Settle
// and Commit return when their effects are on disk. Concurrent calls share one write, so a store is fast with many callers, but each call
// waits for the disk. A crawler that releases its claims and commits many of them together waits less often. Claims are kept in memory
// only: after a crash, a claimed URL is queued again.
//
// The engine is Pebble. Whatever the number of known URLs, the store needs memory only for the cache, of which it uses 2 bytes for each
// known URL, 16 MiB of queue heads, 10 MiB of recently linked URLs, and about 300 bytes for each host with pending URLs. A known URL
// takes about 14 bytes of disk, a queued URL 25 to 100 more, depending on the similarity of paths; recent writes take twice as much until
// they are compacted.
//
// The Store is made of parts: engine is the database and its failures; lanes hold the claimable URLs in memory; writer turns calls into
// batches. Offsets, known and calls are small.
package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
)

// Store is a Frontier in a directory. It implements frontier.Durable.
//
// If the disk fails, the calls that encounter the failure and every later call return its error. The directory contains all changes that
// were acknowledged, and can be opened again when the process has ended. It contains the effects of a call that returned the error either
// completely or not at all.
type Store struct {
	c       Config
	dir     string
	fs      vfs.FS
	secret  secret
	calls   calls
	engine  *engine
	lanes   *lanes
	writer  *writer
	known   *known
	offsets *offsets
}

var (
	_ frontier.Durable = (*Store)(nil)
)

// Open opens the crawl in dir, or creates one there. dir must contain a crawl, be empty, or not exist. The error wraps [ErrLocked] if
// another process has dir open, [ErrForeign] if dir contains something else, [ErrDamaged], or an error of the disk. A directory that a
// newer version of this package made is an error, too.
func Open(dir string, c Config) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	return open(plainFS{vfs.Default}, dir, c, tuned())
}

func open(fs vfs.FS, dir string, c Config, t tuning) (*Store, error) {
	lock, err := prepare(fs, dir)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, c, t)
	if err := s.start(fs, lock); err != nil {
		_ = lock.Close()
		return nil, describe(dir, err)
	}
	return s, nil
}

func newStore(dir string, c Config, t tuning) *Store {
	c = c.withDefaults()
	if c.LastWrite == "" {
		c.LastWrite = filepath.Join(dir, lastName)
	}
	if t.known == 0 {
		t.known = c.KnownURLs
	}
	s := &Store{c: c, dir: dir, lanes: newLanes(c, t), writer: newWriter(c, t), known: newKnown(t.known), offsets: &offsets{}}
	s.calls.failure = newFailure(dir, func(err error, hangs bool) {
		s.lanes.end(err)
		s.writer.refuse(err, hangs)
	})
	s.lanes.wake = s.writer.look
	s.writer.lanes, s.writer.known, s.writer.offsets = s.lanes, s.known, s.offsets
	return s
}

// openEngine opens the database for all parts of the store.
func (s *Store) openEngine(fs vfs.FS, lock *pebble.Lock, readOnly bool) (err error) {
	s.engine, err = openEngine(fs, s.c, lock, s.calls.failure, readOnly)
	s.lanes.disk, s.writer.engine = s.engine, s.engine
	return err
}

func (s *Store) start(fs vfs.FS, lock *pebble.Lock) error {
	s.fs = fs
	if err := s.openEngine(fs, lock, false); err != nil {
		return err
	}
	var wrote int64
	err := s.engine.guarded(func() (err error) {
		wrote, err = s.load()
		return err
	})
	if err == nil && s.c.Journal == nil {
		if err = checkLast(fs, s.c.LastWrite, wrote); err == nil {
			s.writer.last, err = openLast(fs, s.c.LastWrite)
		}
	}
	if err == nil {
		s.writer.cacheFits()
		err = s.engine.failure.open()
	}
	if err != nil {
		_, _ = s.engine.close(), s.writer.last.close()
		return err
	}
	s.writer.start()
	return nil
}

// Dir returns the crawl's directory, as an absolute path.
func (s *Store) Dir() string { return s.dir }

// Snapshot copies the store into dir, which must not exist. [Open] and [ReadValues] find in the copy what they would find if the process
// had been killed at one instant during the call. All earlier acknowledged writes are in it. Other calls continue meanwhile. Tables are
// hard links to those of the store if the file system of dir supports that. It returns frontier.ErrClosed, the error of the context, or
// an error of copying. A failed call may leave parts of the copy in dir; the store is not affected.
func (s *Store) Snapshot(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	err = s.engine.guarded(func() error { return s.engine.db.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err = errors.Join(err, s.engine.failure.err()); err == nil {
		err = mark(s.fs, dir)
	}
	if err != nil {
		return fmt.Errorf("disk: copy the crawl directory to %s: %w", dir, err)
	}
	return nil
}

// Close implements frontier.Frontier. It waits for calls in progress. After a failure of the disk it returns the error of that failure,
// and does not wait for the engine if the engine may hang.
func (s *Store) Close() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	s.lanes.end(frontier.ErrClosed)
	s.calls.under.Wait()
	if s.lanes.hasRested() {
		_ = s.writer.write(&op{}) // the store records a failure
	}
	s.writer.stop()
	err := s.engine.failure.err()
	if s.engine.failure.mayHang() {
		return err
	}
	s.writer.work.Wait()
	if cerr := errors.Join(s.engine.close(), s.writer.last.close()); err == nil {
		err = describe(s.dir, cerr)
	}
	if _, ok := s.fs.(plainFS); ok {
		trimLogs(s.dir)
	}
	_ = s.engine.lock.Close()
	return err
}

// trimLogs frees the disk space behind the end of the engine's closed logs. The engine preallocates 18 MB for each log, of which a small
// crawl needs a few KB. trimLogs ignores errors, because they only cost space.
func trimLogs(dir string) {
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range logs {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Truncate(path, info.Size())
		}
	}
}

// load reads the state that is kept in memory. It returns the time of the last write, in Unix nanoseconds.
func (s *Store) load() (wrote int64, err error) {
	if err := s.loadSecret(); err != nil {
		return 0, err
	}
	if wrote, err = s.engine.loadTime(); err != nil {
		return 0, err
	}
	if wrote != 0 {
		s.lanes.clock.resume(wrote)
	}
	counts, err := s.engine.loadCounters()
	if err != nil {
		return 0, err
	}
	if counts.pending, err = s.lanes.load(counts); err != nil {
		return 0, err
	}
	s.writer.stored = counts
	return wrote, s.offsets.load(s.engine)
}
