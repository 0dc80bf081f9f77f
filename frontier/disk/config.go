package disk

import (
	"math"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// The defaults of [Config].
const (
	DefaultCacheSize    = 192 << 20
	DefaultMemTableSize = 16 << 20
	DefaultPrefetchSize = 16 << 20
	DefaultKnownURLs    = 1 << 19
)

// Config configures a [Store]. The zero value is ready for use.
type Config struct {
	// ClaimTimeout is the duration of a claim. 0: claims never expire.
	ClaimTimeout time.Duration
	// HostSlots returns the maximum number of claims of a host (weburl.URL.Host) at a time. nil, or a number below 1: one. It is called
	// when the store begins to keep a host in memory and must not call the Store.
	HostSlots func(host string) int
	// BestFirst makes the store serve, among the hosts that are due, the host whose first URL is best (frontier.Frontier, F22).
	BestFirst bool
	// Patience is the maximum time for which BestFirst waits for a better URL. 0: it takes the best URL of the hosts that are due.
	Patience time.Duration
	// MaxPending limits the URLs that are queued, waiting or claimed at once. 0: only the disk limits them.
	MaxPending int
	// MaxPendingPerHost is the limit for the URLs of one host. 0: frontier.DefaultMaxPendingPerHost.
	MaxPendingPerHost int
	// Key returns the identity of a URL. nil: weburl.URL.Key. It must be the same each time a directory is opened.
	Key func(weburl.URL) weburl.Key
	// ReopenDelay is the time after Open during which no host with pending URLs is ready. It should be the crawl's delay: the last
	// request of the previous process may be missing from the store.
	ReopenDelay time.Duration
	// LastWrite is the path of a file with the time of the last durable write. Open compares it with the store, and returns ErrDamaged if
	// the directory has lost its last writes or was restored from an older copy. The file is created if it is missing. "": AMBLE.last in
	// the directory, which is copied together with the store.
	LastWrite string
	// Journal gets each group of changes before the group takes effect. With a Journal, the store does not wait for the disk, and
	// LastWrite is not used. A directory must be opened with its journal every time, or never with one. nil: only the directory stores
	// the changes.
	Journal Journal
	// CacheSize is the memory, in bytes, for data read from disk and for memtables. It should be several times MemTableSize. 0:
	// DefaultCacheSize.
	CacheSize int64
	// MemTableSize is the size, in bytes, of a memtable, which collects writes in memory before they are sorted into a file. 0:
	// DefaultMemTableSize.
	MemTableSize int
	// PrefetchSize is the memory, in bytes, for the URLs at the heads of the hosts' queues. 0: DefaultPrefetchSize.
	PrefetchSize int
	// KnownURLs limits the number of URLs that are remembered, at some 40 bytes each, so that a link on every page of a site needs
	// no look-up (frontier.Frontier.Known). 0: DefaultKnownURLs.
	KnownURLs int
	// NoURLs makes a [Copy] that stores no URLs, but only values, offsets and the numbers of URLs of hosts. It is for use in one process:
	// nothing is made durable, and neither a Store nor another Copy can be opened in its directory. Only OpenCopy uses it.
	NoURLs bool
	// MaxTables is the approximate number of sorted files that the store keeps open, in addition to some ten other files. 0: the
	// engine's default, nearly 1,000.
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
	if c.KnownURLs <= 0 {
		c.KnownURLs = DefaultKnownURLs
	}
	return c
}

// tuning holds sizes that users need not choose; tests use small ones.
type tuning struct {
	head   int // maximum number of entries in the head of a host's queue
	read   int // number of entries of a queue that are read from disk at once
	window int // maximum number of waiting URLs in memory
	ops    int // maximum number of ops that are written at once
	links  int // maximum number of links that are written at once
	known  int // number of URLs remembered for Known; 0: Config.KnownURLs
}

func tuned() tuning {
	return tuning{head: 64, read: 32, window: 50_000, ops: 256, links: 30_000}
}

// cache is the engine's cache. Its size is limited to what the store can use, because a crawl of a few hundred thousand URLs would fill a
// large cache with data that is hardly read again. Only the writer uses it.
type cache struct {
	engine  *pebble.Cache
	most    int64
	least   int64
	held    int64  // bytes of the maximum size that the engine may not use
	release func() // lets the engine use the held bytes; nil if held is 0
}

// cachePerURL is the size of the cache, in bytes, for each known URL. One byte is for the filters, which are read for nearly every new
// link.
const cachePerURL = 2

// newCache makes a cache of at most this many bytes. Memtables of the given size are part of it.
func newCache(most int64, memTable int) *cache {
	c := &cache{engine: pebble.NewCache(most), most: most}
	// The engine divides the cache into shards: four for each processor, or fewer if they would be too small. It caches no block that is
	// larger than a shard.
	shards := int64(4 * runtime.GOMAXPROCS(0))
	if most/shards < 4<<20 {
		shards = 4
	}
	c.least = 2*int64(memTable) + shards*3*maxFilterSize
	c.fit(0)
	return c
}

// fit adapts the size of the cache to the number of known URLs, but ignores small changes.
func (c *cache) fit(urls int) {
	held := max(0, c.most-c.least-cachePerURL*int64(urls))
	if held == c.held || held > 0 && c.held-held < 1<<20 && held-c.held < 1<<20 {
		return
	}
	if c.release != nil {
		c.release()
	}
	c.held, c.release = held, nil
	if held > 0 {
		c.release = c.engine.Reserve(int(held))
	}
}

// clock is the store's time, in nanoseconds since the store was opened. Times on disk are Unix nanoseconds.
type clock struct {
	sched.Clock
	epoch int64 // zero of the clock in Unix nanoseconds, or later, so that times on disk never decrease
}

func newClock() clock {
	c := clock{Clock: sched.NewClock()}
	c.epoch = c.Time(0).UnixNano()
	return c
}

// unix converts a time of the clock to Unix nanoseconds. 0 means earlier than every other time.
func (c clock) unix(t int64) int64 {
	switch {
	case t <= -c.epoch:
		return 0
	case t > sched.Never-c.epoch:
		return sched.Never
	}
	return c.epoch + t
}

// at converts Unix nanoseconds to a time of the clock.
func (c clock) at(unix int64) int64 {
	switch unix {
	case 0:
		return sched.Always
	case sched.Never:
		return sched.Never
	}
	return unix - c.epoch
}

// resume makes the clock continue from the time of the store's last write if the wall clock is behind that time, because it was set back
// or was wrong then. So no URL waits longer than it had to wait at the last write.
func (c *clock) resume(written int64) { c.epoch += max(0, written-c.unix(c.Now())) }
