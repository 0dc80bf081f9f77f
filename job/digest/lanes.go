package digest

import "time"

// Bins is the number of bins into which the time of a crawl is divided.
const Bins = 1500

// Kind is a set of kinds of events, in a bin of a Lane or in a Mark.
type Kind uint8

// The kinds, which are combined with OR.
const (
	Page   Kind = 1 << iota // a request for a page or a sitemap with a status below 400
	Robots                  // a request for a robots.txt
	Error                   // a request with a status of 4xx or 5xx, or without a response
	Held                    // nothing was requested because of Retry-After, back-off or a robots.txt that could not be fetched
	Early                   // a request that was too early
)

// Lane shows what happened at a host over time, in bins of [Facts.Bin] from [Facts.First].
type Lane struct {
	Host  string
	First int // index of the first element of Bins, counted from Facts.First
	Bins  []Kind
}

// lane is a Lane that is being filled.
type lane struct {
	fold  int // number of times that the width of the lane's bins was doubled
	first int
	bins  []Kind
}

// clock divides the time of a crawl into at most Bins bins: it doubles their width when the crawl outgrows them.
type clock struct {
	begun time.Time
	fold  int // the width is firstBin << fold
}

const firstBin = 10 * time.Millisecond

func (c *clock) width() time.Duration { return firstBin << c.fold }

// mark adds an event of kind k to a host's lane, from one time to another.
func (c *clock) mark(h *Host, from, to time.Time, k Kind) {
	if h.Name == "" { // the sum of other hosts has no lane
		return
	}
	if c.begun.IsZero() {
		c.begun = from
	}
	for to.Sub(c.begun) >= Bins*c.width() && c.fold < 40 {
		c.fold++
	}
	h.lane.foldTo(c.fold)
	h.lane.set(c.bin(from), c.bin(to), k)
}

func (c *clock) bin(t time.Time) int {
	return min(max(0, int(t.Sub(c.begun)/c.width())), Bins-1)
}

// foldTo merges neighbouring bins until they have the present width.
func (l *lane) foldTo(fold int) {
	if len(l.bins) == 0 {
		l.fold = fold
	}
	for ; l.fold < fold; l.fold++ {
		half := l.first / 2
		for i, k := range l.bins {
			at := (l.first+i)/2 - half
			if at < i {
				l.bins[i] = 0
			}
			l.bins[at] |= k
		}
		l.bins = l.bins[:(l.first+len(l.bins)-1)/2-half+1]
		l.first = half
	}
}

// set adds a kind to the bins from one index to another.
func (l *lane) set(from, to int, k Kind) {
	if len(l.bins) == 0 {
		l.first = from
	}
	if n := l.first - from; n > 0 {
		l.bins, l.first = append(make([]Kind, n, n+len(l.bins)), l.bins...), from
	}
	for len(l.bins) <= to-l.first {
		l.bins = append(l.bins, 0)
	}
	for i := from; i <= to; i++ {
		l.bins[i-l.first] |= k
	}
}

// lane returns a host's lane.
func (c *clock) lane(h *Host) Lane {
	h.lane.foldTo(c.fold)
	return Lane{h.Name, h.lane.first, append([]Kind(nil), h.lane.bins...)}
}
