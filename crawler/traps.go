package crawler

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Bounds of a path that is no trap. They have served web archives for two decades: Heritrix'
// defaults are 20 segments and 2 repetitions.
const (
	maxSegments    = 25
	maxRepeatedRow = 3
	maxRepeatedAll = 5
)

// trapPath names what makes a path look like one of an endless space, "" when nothing does.
func trapPath(path string) string {
	var seen [maxSegments]string
	n, row := 0, 1
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if n == maxSegments {
			return ReasonTrapPath + ": too many segments"
		}
		if n > 0 && seg == seen[n-1] && seg != "" {
			row++
		} else {
			row = 1
		}
		all := 1
		for _, s := range seen[:n] {
			if s == seg && seg != "" {
				all++
			}
		}
		if row >= maxRepeatedRow || all >= maxRepeatedAll {
			return ReasonTrapPath + ": segment repeats"
		}
		seen[n] = seg
		n++
	}
	return ""
}

// calendarWords are what the paths and queries of generated calendars have in them.
var calendarWords = []string{"calendar", "kalender", "calendrier", "month=", "day=", "date=", "/events/"}

// calendarReach is how far ahead of today a calendar is followed.
const calendarReach = 3

// trapCalendar names a page of a calendar that lies years ahead, "" for anything else: generated
// calendars link to next month for ever.
func trapCalendar(pathQuery string, now time.Time) string {
	lower := strings.ToLower(pathQuery)
	found := false
	for _, w := range calendarWords {
		found = found || strings.Contains(lower, w)
	}
	if found && latestYear(lower) > now.Year()+calendarReach {
		return ReasonTrapCalendar + ": years ahead"
	}
	return ""
}

// latestYear is the largest number of four digits from 1000 to 9999 that stands by itself in s.
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

// crowds counts the URLs queued per directory and the query variants queued per path, so that no
// single script or directory fills the queue. Counts are by keyed hash; when there are too many to
// keep, the table starts again, which only lets more through.
type crowds struct {
	seed    maphash.Seed
	queries int // most variants of one path; 0 none
	dir     int // most URLs of one directory; 0 none

	mu     sync.Mutex
	counts map[uint64]uint32
}

// maxCrowds bounds the table: about 20 MB.
const maxCrowds = 1 << 20

func newCrowds(queries, dir int) *crowds {
	return &crowds{seed: maphash.MakeSeed(), queries: max(0, queries), dir: max(0, dir), counts: map[uint64]uint32{}}
}

// enter counts a URL that is about to be queued, and names the crowd that is too large for it.
func (c *crowds) enter(u weburl.URL) string {
	path := u.Path()
	dir := path[:strings.LastIndexByte(path, '/')+1]
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.counts) >= maxCrowds {
		clear(c.counts)
	}
	if c.queries > 0 && len(path) < len(u.PathQuery()) && !c.count("?", u.Authority(), path, c.queries) {
		return ReasonTrapQuery + ": too many variants of one path"
	}
	if c.dir > 0 && !c.count("/", u.Authority(), dir, c.dir) {
		return ReasonTrapDirectory + ": too many URLs in one directory"
	}
	return ""
}

// count adds one to a crowd unless it has most already.
func (c *crowds) count(kind, host, path string, most int) bool {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(kind)
	h.WriteString(host)
	h.WriteString(path)
	k := h.Sum64()
	if int(c.counts[k]) >= most {
		return false
	}
	c.counts[k]++
	return true
}
