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
	// HostSlots returns the maximum number of simultaneous holders of a host (weburl.URL.Host); nil or below 1: one.
	// It is called when the store begins to keep a host in memory and must not call the Store.
	HostSlots func(host string) int
	// BestFirst has the store serve, among the hosts that are due, the one with the best URL (frontier.Frontier, F22).
	BestFirst bool
	// Patience is the maximum time for which BestFirst waits for a better URL. 0: it takes the best one that is due.
	Patience time.Duration
	// MaxPending limits the URLs that are queued, waiting or claimed at once. 0: only the disk limits them.
	MaxPending int
	// MaxPendingPerHost is the same limit for one host. 0: frontier.DefaultMaxPendingPerHost.
	MaxPendingPerHost int
	// Key returns the identity of a URL. nil: weburl.URL.Key. It must be the same each time a directory is opened.
	Key func(weburl.URL) weburl.Key
	// ReopenDelay is the time after Open during which no host with pending URLs is ready. It should be the crawl's delay: the last
	// request of the previous process may be missing from the store.
	ReopenDelay time.Duration
	// LastWrite is the path of a file with the time of the last durable write. With it, Open detects a directory that has lost its
	// last writes or was restored from an older copy, and returns ErrDamaged. The file is created if it is missing. "": AMBLE.last
	// in the directory, where it is copied together with the store.
	LastWrite string
	// Journal gets each group of changes before it takes effect. The store then does not wait for the disk, and LastWrite is not
	// used. A directory must always be opened with its journal, or always without one. nil: only the directory stores the changes.
	Journal Journal
	// CacheSize is the memory, in bytes, for data that was read and for memtables. It should be several times MemTableSize. 0:
	// DefaultCacheSize.
	CacheSize int64
	// MemTableSize limits the bytes of writes that are collected in memory before they are sorted into a file. 0:
	// DefaultMemTableSize.
	MemTableSize int
	// PrefetchSize is the memory, in bytes, for the heads of queues. 0: DefaultPrefetchSize.
	PrefetchSize int
	// KnownURLs limits the number of URLs that are remembered, at some 40 bytes each, so that a link on every page of a site needs
	// no look-up (frontier.Frontier.Known). 0: DefaultKnownURLs.
	KnownURLs int
	// NoURLs makes a [Copy] that stores no URLs, but values, offsets and the numbers of URLs of hosts. It is for one process:
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

// tuning holds the sizes that users need not choose; tests choose small ones.
type tuning struct {
	head   int // entries of a host's head
	read   int // number of entries read at once
	window int // number of waiting URLs in memory
	ops    int // number of ops written at once
	links  int // number of links written at once
	known  int // number of URLs remembered for Known; 0: Config.KnownURLs
}

func tuned() tuning {
	return tuning{head: 64, read: 32, window: 50_000, ops: 256, links: 30_000}
}

// cache is the engine's cache, kept no larger than the store can use: a crawl of a few hundred thousand URLs would fill it with
// data that is hardly read again. Only the writer uses it.
type cache struct {
	engine  *pebble.Cache
	most    int64
	least   int64
	held    int64  // bytes of most that are withheld from the engine
	release func() // returns the withheld bytes; nil: none are withheld
}

// cachePerURL is the size of the cache, in bytes, for each known URL. One of these bytes is for the URL's filter, which nearly
// every new link reads.
const cachePerURL = 2

// newCache makes a cache of at most this many bytes, including memtables of this size.
func newCache(most int64, memTable int) *cache {
	c := &cache{engine: pebble.NewCache(most), most: most}
	// The engine divides the cache into shards, four for each processor unless they would be too small. It caches no block that is
	// larger than a shard.
	shards := int64(4 * runtime.GOMAXPROCS(0))
	if most/shards < 4<<20 {
		shards = 4
	}
	c.least = 2*int64(memTable) + shards*3*maxFilterSize
	c.fit(0)
	return c
}

// fit adapts the size of the cache to the number of known URLs. Small differences change nothing.
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
	epoch int64 // the clock's zero in Unix nanoseconds, or later: times on disk never go back
}

func newClock() clock {
	c := clock{Clock: sched.NewClock()}
	c.epoch = c.Time(0).UnixNano()
	return c
}

// unix returns a time of the clock in Unix nanoseconds; 0 is before everything.
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

// resume continues from the time of the store's last write if the wall clock is behind it, because it was set back since or was
// wrong then. So nothing waits longer than at the time of that write.
func (c *clock) resume(written int64) { c.epoch += max(0, written-c.unix(c.Now())) }
