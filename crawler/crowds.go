package crawler

import (
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/amble-crawler/amble/weburl"
)

// crowds counts the URLs queued per directory, the query variants queued per path, the sessions
// queued of one URL, and the URLs of a host that have one body, so that no single script or directory
// fills the queue. Counts are by keyed hash; when there are too many to keep, the table starts again,
// which only lets more through.
type crowds struct {
	queries  int // most variants of one path; 0 none
	dir      int // most URLs of one directory; 0 none
	sessions int // most variants of one URL that differ in their session; 0 none

	// own is Config.Politeness.OwnHosts: who owns a host knows how many pages it has.
	own func(host string) int

	most int // crowds at most

	mu      sync.Mutex
	seed    uint64
	counts  map[uint64]uint32
	changed map[uint64]struct{}       // since the last call of changes; nil before the first
	fresh   bool                      // the table started again since then
	kept    func(crowd uint64) uint32 // what an earlier process has counted; nil: there was none
}

// maxCrowds bounds the table: about 20 MB.
const maxCrowds = 1 << 20

func newCrowds(t Traps, own func(host string) int) *crowds {
	return &crowds{
		queries: max(0, t.Queries), dir: max(0, t.PerDir), sessions: max(0, t.Sessions), own: own, most: maxCrowds,
		seed: rand.Uint64(), counts: map[uint64]uint32{},
	}
}

// enter counts a URL that is about to be queued, and names the crowd that is too large for it.
func (c *crowds) enter(u weburl.URL) string {
	path := u.Path()
	dir := path[:strings.LastIndexByte(path, '/')+1]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions > 0 {
		if text, had := u.Sessionless(); had && !c.count("s", text, "", c.sessions) {
			return ReasonTrapSession + ": too many sessions of one page"
		}
	}
	if c.own != nil && c.own(u.Host()) > 0 {
		return ""
	}
	if c.queries > 0 && len(path) < len(u.PathQuery()) && !c.count("?", u.Authority(), path, c.queries) {
		return ReasonTrapQuery + ": too many variants of one path"
	}
	if c.dir > 0 && !c.count("/", u.Authority(), dir, c.dir) {
		return ReasonTrapDirectory + ": too many URLs in one directory"
	}
	return ""
}

// leave undoes enter for a URL that is not queued after all.
func (c *crowds) leave(u weburl.URL) {
	path := u.Path()
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, had := u.Sessionless(); had {
		c.uncount("s", text, "")
	}
	if len(path) < len(u.PathQuery()) {
		c.uncount("?", u.Authority(), path)
	}
	c.uncount("/", u.Authority(), path[:strings.LastIndexByte(path, '/')+1])
}

// same counts a URL of host that has a body which another had before, and reports whether most have
// it already.
func (c *crowds) same(host string, sum [32]byte, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.count("=", host, string(sum[:16]), most)
}

// unsame takes back a URL that same counted.
func (c *crowds) unsame(host string, sum [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncount("=", host, string(sum[:16]))
}

// count adds one to a crowd unless it has most already.
func (c *crowds) count(kind, host, path string, most int) bool {
	k := c.key(kind, host, path)
	n := c.size(k)
	if int(n) >= most {
		return false
	}
	if c.counts[k] == 0 && len(c.counts) >= c.most {
		c.restart()
		n = 0
	}
	c.counts[k] = n + 1
	if c.changed != nil {
		c.changed[k] = struct{}{}
	}
	return true
}

// uncount takes one from a crowd that has any.
func (c *crowds) uncount(kind, host, path string) {
	k := c.key(kind, host, path)
	n := c.size(k)
	if n == 0 {
		return
	}
	c.counts[k] = n - 1
	if c.changed != nil {
		c.changed[k] = struct{}{}
	}
}

// size is how many are in a crowd. What an earlier process has counted is read when it is needed: a restart would take the
// longer, the more there is.
func (c *crowds) size(k uint64) uint32 {
	n, counted := c.counts[k]
	if !counted && c.kept != nil {
		return c.kept(k)
	}
	return n
}

func (c *crowds) key(kind, host, path string) uint64 {
	var space [512]byte
	name := append(append(append(append(space[:0], kind...), host...), 0), path...)
	return xxh3.HashSeed(name, c.seed)
}

func (c *crowds) restart() {
	clear(c.counts)
	c.kept = nil
	if c.changed != nil {
		clear(c.changed)
		c.fresh = true
	}
}

// changes are the counters that changed since it was called last, by the hash of their crowds under
// the seed, and whether all others have to be forgotten first. The first call gives all there are;
// from then on the crowds keep note. A table whose changes are never taken notes none.
func (c *crowds) changes() (counts map[uint64]uint32, seed uint64, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed, fresh = c.seed, c.fresh || c.changed == nil
	counts = make(map[uint64]uint32, len(c.changed))
	if c.changed == nil {
		c.changed = map[uint64]struct{}{}
		for k, n := range c.counts {
			counts[k] = n
		}
	}
	for k := range c.changed {
		counts[k] = c.counts[k]
	}
	clear(c.changed)
	c.fresh = false
	return counts, seed, fresh
}

// load lets a table that has counted nothing yet count on from what changes gave out under the same seed. kept is called
// while the table is locked.
func (c *crowds) load(seed uint64, kept func(crowd uint64) uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed, c.kept, c.changed = seed, kept, map[uint64]struct{}{}
}
