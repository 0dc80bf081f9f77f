package crawler

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/amble-crawler/amble/weburl"
)

// Limits of paths; beyond them, a URL is a trap. Web archives have used similar limits for two decades: Heritrix' defaults are 20
// segments and 2 repetitions.
const (
	maxSegments    = 25
	maxRepeatedRow = 3
	maxRepeatedAll = 5
)

// trap returns the reason code and a description of the feature that makes a URL look like part of an endless space, or "".
func trap(u weburl.URL) string {
	if why := trapPath(u.Path()); why != "" {
		return why
	}
	return trapCalendar(u.PathQuery(), time.Now)
}

// trapPath returns the reason code and a description of the feature that makes a path look like part of an endless space, or "".
func trapPath(path string) string {
	path = strings.Trim(path, "/")
	n := strings.Count(path, "/") + 1
	switch {
	case n < maxRepeatedRow:
		return ""
	case n > maxSegments:
		return reasonTrapPath + ": too many segments"
	}
	if repeats(path) {
		return reasonTrapPath + ": segment repeats"
	}
	return ""
}

// repeats reports whether a segment occurs too often in path. path has at most maxSegments segments.
func repeats(path string) bool {
	var seen [maxSegments]string
	row := 1
	for n, more := 0, true; more; n++ {
		var seg string
		seg, path, more = strings.Cut(path, "/")
		if n > 0 && seg == seen[n-1] {
			row++
		} else {
			row = 1
		}
		all := 1
		for _, s := range seen[:n] {
			if s == seg {
				all++
			}
		}
		if seg != "" && (row >= maxRepeatedRow || all >= maxRepeatedAll) {
			return true
		}
		seen[n] = seg
	}
	return false
}

// calendarWords lists words in the paths and queries of generated calendars.
var calendarWords = []string{"calendar", "kalender", "calendrier", "month=", "day=", "date=", "/events/"}

// calendarReach is the number of years ahead of today for which a calendar is followed.
const calendarReach = 3

// trapCalendar returns the reason code and a description if the URL is a calendar page that is too many years ahead, otherwise "".
// Generated calendars link to the next month for ever. Few URLs contain a year, so the year is checked first.
func trapCalendar(pathQuery string, now func() time.Time) string {
	year := latestYear(pathQuery)
	if year == 0 || year <= now().Year()+calendarReach {
		return ""
	}
	lower := strings.ToLower(pathQuery)
	for _, w := range calendarWords {
		if strings.Contains(lower, w) {
			return reasonTrapCalendar + ": years ahead"
		}
	}
	return ""
}

// latestYear returns the largest number from 1000 to 9999 in s that has exactly four digits. It returns 0 if there is none.
func latestYear(s string) int {
	best, run, n := 0, 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			run, n = run*10+int(s[i]-'0'), n+1
			if n > 4 {
				run = 0
			}
			continue
		}
		if n == 4 {
			best = max(best, run)
		}
		run, n = 0, 0
	}
	return best
}

// trapCounts counts the URLs queued per directory, the query variants queued per path, the session variants queued per URL, and the URLs
// of a host that have the same body, so that no single script or directory fills the queue. Each count belongs to such a group of URLs,
// which is identified by a keyed hash. When the table is full, it is emptied, which only admits more URLs.
type trapCounts struct {
	queries  int // maximum variants of one path; 0: no limit
	dir      int // maximum URLs of one directory; 0: no limit
	sessions int // maximum variants of one URL that differ only in their session; 0: no limit

	// own is Config.Politeness.OwnHosts. The limits queries and dir do not apply there, because the operator knows how many pages these
	// hosts have.
	own func(host string) int

	most int // maximum number of trap counts

	mu      sync.Mutex
	seed    uint64
	counts  map[uint64]uint32
	changed map[uint64]struct{}       // groups whose counts changed since the last call of changes; nil before the first call
	fresh   bool                      // the table has been emptied since the last call of changes
	kept    func(group uint64) uint32 // returns the count that an earlier process stored; may be nil
}

// maxTrapCounts limits the size of the table to about 20 MB.
const maxTrapCounts = 1 << 20

func newTrapCounts(t Traps, own func(host string) int) *trapCounts {
	return &trapCounts{
		queries: max(0, int(t.Queries)), dir: max(0, int(t.PerDir)), sessions: max(0, int(t.Sessions)), own: own, most: maxTrapCounts,
		seed: rand.Uint64(), counts: map[uint64]uint32{},
	}
}

// enter counts a URL that is about to be queued. If a group of URLs is full, it returns the reason code and a description of the trap.
func (c *trapCounts) enter(u weburl.URL) string {
	path := u.Path()
	dir := path[:strings.LastIndexByte(path, '/')+1]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions > 0 {
		if text, had := u.Sessionless(); had && !c.count("s", text, "", c.sessions) {
			return reasonTrapSession + ": too many sessions of one page"
		}
	}
	if c.own != nil && c.own(u.Host()) > 0 {
		return ""
	}
	if c.queries > 0 && len(path) < len(u.PathQuery()) && !c.count("?", u.Authority(), path, c.queries) {
		return reasonTrapQuery + ": too many variants of one path"
	}
	if c.dir > 0 && !c.count("/", u.Authority(), dir, c.dir) {
		return reasonTrapDirectory + ": too many URLs in one directory"
	}
	return ""
}

// leave reverts enter for a URL that is not queued after all.
func (c *trapCounts) leave(u weburl.URL) {
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

// same counts a URL of host whose body an earlier URL had. It reports whether the maximum number of such URLs had already been counted.
func (c *trapCounts) same(host string, sum [32]byte, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.count("=", host, string(sum[:16]), most)
}

// unsame reverts same.
func (c *trapCounts) unsame(host string, sum [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncount("=", host, string(sum[:16]))
}

// count adds one to a group of URLs. It returns false if the group has reached the maximum.
func (c *trapCounts) count(kind, host, path string, most int) bool {
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

// uncount subtracts one from a group of URLs, unless it is 0.
func (c *trapCounts) uncount(kind, host, path string) {
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

// size returns the size of a group of URLs. Counts of an earlier process are only read when they are needed, so that restarts do not
// take longer as counts accumulate.
func (c *trapCounts) size(k uint64) uint32 {
	n, counted := c.counts[k]
	if !counted && c.kept != nil {
		return c.kept(k)
	}
	return n
}

func (c *trapCounts) key(kind, host, path string) uint64 {
	var space [512]byte
	name := append(append(append(append(space[:0], kind...), host...), 0), path...)
	return xxh3.HashSeed(name, c.seed)
}

func (c *trapCounts) restart() {
	clear(c.counts)
	c.kept = nil
	if c.changed != nil {
		clear(c.changed)
		c.fresh = true
	}
}

// changes returns the counts that changed since the last call, keyed by the hash of their group under seed. fresh reports whether all
// other counts must be forgotten first. The first call returns all counts; from then on the table records its changes.
func (c *trapCounts) changes() (counts map[uint64]uint32, seed uint64, fresh bool) {
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

// load makes an empty table continue from the state that changes returned, under the same seed. kept returns the stored counts; it is
// called while the table is locked.
func (c *trapCounts) load(seed uint64, kept func(group uint64) uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed, c.kept, c.changed = seed, kept, map[uint64]struct{}{}
}
