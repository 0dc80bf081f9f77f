// Package disk is the frontier of crawls that must survive: a directory that a crawl, killed at any
// instant, is opened from again, with every URL that was acknowledged and none that was settled.
//
// [Open] makes or opens the directory of one crawl. The [Store] keeps the clauses of
// frontier.Frontier and frontier.Durable, F12 among them: Add, Settle and Commit return when what they
// did is on the disk. Many calls at once share one write, so a store is fast with many callers and
// costs each a disk's latency; a crawler that releases its claims and commits them together waits for
// the disk in one place only. Claims are kept in memory alone: after a crash what was claimed is
// queued.
//
// The engine is Pebble. Memory is the cache, which has room for 8 bytes of each known URL up to its size,
// 16 MiB of queue heads, 10 MiB of URLs that were linked last, and about 300 bytes for each host with
// something pending, however many URLs are known. A known
// URL takes about 14 bytes of the disk, a queued one 25 to 100 more, as paths resemble one another or
// not; what was written last takes twice as much until it is sorted in.
package disk

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// The defaults of [Config].
const (
	DefaultCacheSize    = 192 << 20
	DefaultMemTableSize = 16 << 20
	DefaultPrefetchSize = 16 << 20
)

// Config is how a [Store] is set up. The zero value works.
type Config struct {
	// ClaimTimeout is how long a claim lasts. 0: claims never expire.
	ClaimTimeout time.Duration
	// HostSlots is how many holders a host (weburl.URL.Host) may have at once; nil or below 1: one.
	// It is asked when the host comes up and must not call the Store.
	HostSlots func(host string) int
	// MaxPending is how many URLs may be queued, waiting or claimed at once. 0: as the disk allows.
	MaxPending int
	// MaxPendingPerHost is the same for one host. 0: frontier.DefaultMaxPendingPerHost.
	MaxPendingPerHost int
	// Key tells URLs apart. nil: weburl.URL.Key. It must be the same each time a directory is opened.
	Key func(weburl.URL) weburl.Key
	// ReopenDelay is how long after Open no host with something pending is ready: the crawl's delay,
	// as the last request of the process before may have left no trace.
	ReopenDelay time.Duration
	// LastWrite is the path of a file that says when the last durable write was, by which a directory is told that
	// has lost its last writes, or was put back from an earlier time: Open returns ErrDamaged then. It is made when
	// missing. "": AMBLE.last in the directory, which goes with it.
	LastWrite string
	// CacheSize is the memory for what was read and for what is being written, in bytes. The
	// memtables are taken out of it: it should be several times MemTableSize. 0: DefaultCacheSize.
	CacheSize int64
	// MemTableSize is how much is collected in memory before it is sorted into a file. 0:
	// DefaultMemTableSize.
	MemTableSize int
	// PrefetchSize is the memory for the heads of queues. 0: DefaultPrefetchSize.
	PrefetchSize int
	// MaxTables is how many of its sorted files the store keeps open, about; it has some ten other files open.
	// 0: the engine's default, nearly 1,000.
	MaxTables int
}

func (c Config) withDefaults() Config {
	if c.HostSlots == nil {
		c.HostSlots = func(string) int { return 1 }
	}
	if c.MaxPending <= 0 {
		c.MaxPending = math.MaxInt
	}
	if c.MaxPendingPerHost <= 0 {
		c.MaxPendingPerHost = frontier.DefaultMaxPendingPerHost
	}
	c.MaxPendingPerHost = min(c.MaxPendingPerHost, math.MaxInt32)
	if c.Key == nil {
		c.Key = weburl.URL.Key
	}
	if c.CacheSize <= 0 {
		c.CacheSize = DefaultCacheSize
	}
	if c.MemTableSize <= 0 {
		c.MemTableSize = DefaultMemTableSize
	}
	if c.PrefetchSize <= 0 {
		c.PrefetchSize = DefaultPrefetchSize
	}
	return c
}

// Store is a Frontier in a directory. It implements frontier.Durable, frontier.Counter,
// frontier.Knower and frontier.Rationer.
//
// When the disk fails, the calls that meet the failure and every later one return its error. All that
// was acknowledged is in the directory, which can be opened again once the process has ended; of
// the calls that returned the error each may be there as a whole or not at all.
type Store struct {
	c       Config
	dir     string
	secret  secret
	calls   calls
	engine  *engine
	lanes   *lanes
	writer  *writer
	known   *known
	offsets *offsets
}

// tuning is the sizes that no user needs to choose; tests choose small ones.
type tuning struct {
	head   int // entries of a host's head
	read   int // entries read at once
	window int // waiting URLs in memory
	ops    int // written at once
	links  int // written at once
	known  int // URLs remembered for Known
}

func tuned() tuning {
	return tuning{head: 64, read: 32, window: 50_000, ops: 256, links: 30_000, known: 1 << 19}
}

var (
	_ frontier.Durable  = (*Store)(nil)
	_ frontier.Counter  = (*Store)(nil)
	_ frontier.Knower   = (*Store)(nil)
	_ frontier.Rationer = (*Store)(nil)
)

// Open opens the crawl in dir, or begins one there: dir must be a crawl's directory, or empty, or
// not exist. The error is [ErrLocked] if another process has it open, [ErrForeign] if it holds
// something else, [ErrNewer] if a newer version of this package made it, or the disk's.
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
	if err := s.openEngine(fs, lock, false); err != nil {
		return err
	}
	var wrote int64
	err := s.engine.guarded(func() (err error) {
		wrote, err = s.load()
		return err
	})
	if err == nil {
		err = checkLast(fs, s.c.LastWrite, wrote)
	}
	if err == nil {
		s.writer.last, err = openLast(fs, s.c.LastWrite)
	}
	if err != nil {
		_ = s.engine.close()
		return err
	}
	s.writer.cacheFits()
	s.engine.failure.opened.Store(true)
	s.writer.start()
	return nil
}

// Dir is the crawl's directory, as an absolute path.
func (s *Store) Dir() string { return s.dir }

// Close implements frontier.Frontier. It waits for calls under way. After a failure of the disk it
// returns its error, and does not wait for the engine if that may hang.
func (s *Store) Close() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	s.lanes.end(frontier.ErrClosed)
	s.calls.under.Wait()
	if s.lanes.hasRested() {
		_ = s.writer.write(&op{}) // its failure is the store's
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
	_ = s.engine.lock.Close()
	return err
}
