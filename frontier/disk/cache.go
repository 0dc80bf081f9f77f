package disk

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// cache is the engine's cache, kept only as large as the store has use for: a crawl of a few hundred
// thousand URLs would fill it with data that is hardly read again. Only the writer uses it.
type cache struct {
	engine  *pebble.Cache
	most    int64
	least   int64
	held    int64  // bytes of most that the engine does not get
	release func() // gives it back; nil: nothing is held
}

// cachePerURL is how many bytes of cache a known URL justifies. One of them is for its filter, which nearly
// every new link reads.
const cachePerURL = 2

// newCache makes a cache of at most that many bytes, with room for memtables of that size.
func newCache(most int64, memTable int) *cache {
	c := &cache{engine: pebble.NewCache(most), most: most}
	// The engine divides the cache into shards, four for each processor unless they would be too small,
	// and caches no block that is larger than its shard.
	shards := int64(4 * runtime.GOMAXPROCS(0))
	if most/shards < 4<<20 {
		shards = 4
	}
	c.least = 2*int64(memTable) + shards*3*maxFilterSize
	c.fit(0)
	return c
}

// fit makes the cache as large as that many known URLs justify. Small differences change nothing.
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
