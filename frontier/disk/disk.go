// Package disk is the frontier of crawls that must survive: a directory from which a crawl that was killed
// at any instant can be resumed, with every URL that was acknowledged and none that was settled.
//
// [Open] makes or opens the directory of one crawl. The [Store] keeps the clauses of
// frontier.Frontier and frontier.Durable: Add, Settle and Commit return when their effects are on
// disk. Concurrent calls share one write, so a store is fast with many callers, and each of them waits
// for the disk once; a crawler that releases its claims and commits them together waits in one place
// only. Claims are kept in memory: after a crash a claimed URL is queued.
//
// The engine is Pebble. However many URLs are known, memory is the cache, of which the store uses 2 bytes for
// each known URL, 16 MiB of queue heads, 10 MiB of URLs that were linked last, and about 300 bytes for
// each host with something pending. A known URL takes about 14 bytes of disk, a queued one 25 to 100 more,
// depending on how much paths resemble one another; recent writes take twice as much until they are
// compacted.
//
// The Store is made of parts: engine is the database and its failures; lanes are what may be claimed, in
// memory; writer turns calls into batches; offsets, known and calls are small. Reading order: disk.go,
// frontier.go (the calls), op.go, lanes.go, queue.go, reading.go and waiting.go (what is in memory of a queue),
// writer.go, group.go and publish.go (a batch from its ops to its effects), keys.go and record.go (the
// format), engine.go, failure.go and guard.go (what happens when the disk fails).
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
	// It is called when the store begins to keep a host in memory and must not call the Store.
	HostSlots func(host string) int
	// MaxPending is how many URLs may be queued, waiting or claimed at once. 0: as the disk allows.
	MaxPending int
	// MaxPendingPerHost is the same for one host. 0: frontier.DefaultMaxPendingPerHost.
	MaxPendingPerHost int
	// Key tells URLs apart. nil: weburl.URL.Key. It must be the same each time a directory is opened.
	Key func(weburl.URL) weburl.Key
	// ReopenDelay is how long after Open no host with something pending is ready. It should be the crawl's
	// delay: the last request of the previous process may have left no trace.
	ReopenDelay time.Duration
	// LastWrite is the path of a file that holds the time of the last durable write. By it Open notices a directory
	// that has lost its last writes or was restored from an older copy, and returns ErrDamaged. The file is made
	// when it is missing. "": AMBLE.last in the directory, which is copied with it.
	LastWrite string
	// CacheSize is the memory, in bytes, for data that was read and for memtables: it should be several
	// times MemTableSize. 0: DefaultCacheSize.
	CacheSize int64
	// MemTableSize is how many bytes of writes are collected in memory before they are sorted into a file.
	// 0: DefaultMemTableSize.
	MemTableSize int
	// PrefetchSize is the memory, in bytes, for the heads of queues. 0: DefaultPrefetchSize.
	PrefetchSize int
	// MaxTables is about how many of its sorted files the store keeps open; some ten other files are open too.
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

// tuning holds the sizes that no user needs to choose; tests choose small ones.
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
// not exist. The error wraps [ErrLocked] if another process has it open, [ErrForeign] if it holds
// something else, [ErrNewer] if a newer version of this package made it, [ErrDamaged], or is the disk's.
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

// Dir returns the crawl's directory, as an absolute path.
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
