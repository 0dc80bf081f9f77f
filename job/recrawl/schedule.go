// Package recrawl decides when pages are requested again. It estimates how often each page changes, from visits that only show whether
// it has changed since the previous one, and divides a budget of requests accordingly. It makes no requests and uses no files or
// clocks: every function computes its result from its arguments.
//
// Rates and frequencies are in events per day. The changes of each page are modelled as a Poisson process, as Cho and Garcia-Molina
// found ("Estimating frequency of change", ACM Transactions on Internet Technology 3(3), 2003, section 2).
//
//	var h recrawl.History
//	h.Add(24*time.Hour, true, 0) // it had changed after a day
//	rate := h.Rate(recrawl.Unknown())
//	frequencies, _ := recrawl.Optimum([]float64{rate, 1, 300}, 2, 0.01, 24) // two requests a day in total
package recrawl

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"
)

// Defaults of Config.
const (
	DefaultDiscovery = 0.15
	defaultFloor     = 0.03
	defaultShortest  = time.Hour
	defaultSolve     = time.Hour
)

// Config configures the schedule of one host. Zero fields have their defaults.
type Config struct {
	Budget    float64       // all requests per day. It must be positive
	Discovery float64       // fraction of Budget for unknown pages, sitemaps and robots.txt. 0: DefaultDiscovery
	Floor     float64       // fraction of the budget for revisits that is spread evenly, so that every page is visited. 0: 0.03
	Shortest  time.Duration // minimum time between two visits to a page. 0: one hour
	Solve     time.Duration // time between two computations of the frequencies. 0: one hour
	Uniform   bool          // request all pages equally often, for comparison
}

// Schedule plans the visits to the known pages of one host. It is not safe for concurrent use. It takes about 100 bytes for each page,
// and 8 for each of its changes, of which it keeps at most 40.
type Schedule struct {
	cfg     Config
	signals Signals
	pages   []page
	queue   queue     // pages by due time; an entry is outdated if page.due differs
	slot    time.Time // no further page is due before this time, so that requests are spread evenly
	solved  time.Time
	visits  int // number of visits since the priors were learnt
	fast    float64
	priors  map[string]Gamma
}

type page struct {
	folders   []string // shared by the pages of a folder
	history   History
	first     time.Time
	last      time.Time // last visit with an outcome
	tried     time.Time // last visit
	rate      float64   // 0: to be computed
	frequency float64   // 0 before the first computation
	due       time.Time // due time of the page's entry in the queue
	out       bool      // a visit to the page is under way
	gone      bool
	listed    bool      // signals cover the page
	announced time.Time // time of a change after the last visit, according to a signal; zero: none
}

// New returns a schedule without pages.
func New(c Config) *Schedule {
	c.Discovery = cmp.Or(c.Discovery, DefaultDiscovery)
	c.Floor = cmp.Or(c.Floor, defaultFloor)
	c.Shortest = cmp.Or(c.Shortest, defaultShortest)
	c.Solve = cmp.Or(c.Solve, defaultSolve)
	return &Schedule{cfg: c, fast: math.Inf(1), priors: map[string]Gamma{}}
}

// Revisits returns the number of requests per day for known pages.
func (s *Schedule) Revisits() float64 { return s.cfg.Budget * (1 - s.cfg.Discovery) }

// Add adds a page by its path and the time of its first visit, and returns its number. Numbers start at 0.
func (s *Schedule) Add(path string, at time.Time) int {
	p := page{folders: folders(path), first: at, last: at, tried: at}
	if n := len(s.pages); n > 0 && slices.Equal(s.pages[n-1].folders, p.folders) {
		p.folders = s.pages[n-1].folders
	}
	s.pages = append(s.pages, p)
	return len(s.pages) - 1
}

// Len returns the number of pages.
func (s *Schedule) Len() int { return len(s.pages) }

// Visit records the outcome of a visit: whether the page had changed since the previous visit, and how long before this visit, 0 if
// that is unknown.
func (s *Schedule) Visit(i int, at time.Time, hasChanged bool, age time.Duration) {
	p := &s.pages[i]
	p.out, p.gone = false, false
	if age > 0 { // a page generated anew at each visit has an age near 0, which must not raise the rates of other pages
		age = max(age, s.cfg.Shortest)
	}
	if gap := at.Sub(p.last); gap > 0 {
		p.history.Add(gap, hasChanged, age)
		p.rate = 0
		s.visits++
		if p.listed {
			s.signals.judge(!p.announced.IsZero(), hasChanged)
		}
	}
	p.announced, p.last, p.tried = time.Time{}, at, at
	s.enqueue(i)
}

// Failed records a visit without an outcome. It adds no observation; the page is scheduled as if it had been visited.
func (s *Schedule) Failed(i int, at time.Time) {
	p := &s.pages[i]
	p.out, p.tried = false, at
	s.enqueue(i)
}

// Gone records a visit that found the page missing. It is still visited at the minimum frequency.
func (s *Schedule) Gone(i int, at time.Time) {
	p := &s.pages[i]
	p.out, p.gone, p.last, p.tried, p.announced = false, true, at, at, time.Time{}
	s.enqueue(i)
}

// Announce records a signal that the page changed at a time. A signal that is not newer than the last visit means that nothing has
// changed since. It reports whether the signal is new: later than the last visit, and not recorded before.
func (s *Schedule) Announce(i int, changed time.Time) (news bool) {
	p := &s.pages[i]
	p.listed = true
	if !changed.After(p.last) || changed.Equal(p.announced) {
		return false
	}
	p.announced = changed
	s.enqueue(i)
	return true
}

// List marks a page as covered by change signals; a change without a signal then counts as missed.
func (s *Schedule) List(i int) { s.pages[i].listed = true }

// Signal reports whether signals cover a page, and whether one announces a change after the last visit.
func (s *Schedule) Signal(i int) (listed, announced bool) {
	p := &s.pages[i]
	return p.listed, !p.announced.IsZero()
}

// Signals returns the statistics of the host's signals.
func (s *Schedule) Signals() Signals { return s.signals }

// Page describes the state of a page.
type Page struct {
	Rate      float64   // estimated changes per day
	Changes   int       // changes seen, at most 40
	Frequency float64   // visits per day; 0 before the first call of Next
	Due       time.Time // time of the next visit; zero during a visit, and before the first call of Next
	TooFast   bool      // the page changes too fast for the budget: other pages gain more from its visits
	Gone      bool
}

// Page returns the state of a page.
func (s *Schedule) Page(i int) Page {
	p := &s.pages[i]
	rate := p.rate
	if rate == 0 {
		rate = p.history.Rate(s.prior(p))
	}
	x := Page{Rate: rate, Changes: p.history.Changes(), Frequency: p.frequency, Gone: p.gone, TooFast: rate > s.fast && !p.gone}
	if !p.out {
		x.Due = p.due
	}
	return x
}

// First returns the page that is due first and its time, -1 if there is none.
func (s *Schedule) First() (i int, at time.Time) {
	if i = s.queue.first(s.pages); i < 0 {
		return i, at
	}
	if at = s.from(i); at.Before(s.slot) {
		at = s.slot
	}
	return i, at
}

// Next returns the page to visit now, and marks it as being visited until Visit, Failed or Gone is called for it. If no page is due, it
// returns -1 and the time by which to call again.
func (s *Schedule) Next(now time.Time) (i int, wait time.Time) {
	if len(s.pages) == 0 {
		return -1, now.Add(s.cfg.Solve)
	}
	if s.solved.IsZero() || now.Sub(s.solved) >= s.cfg.Solve {
		s.solve(now)
	}
	if now.Before(s.slot) {
		return -1, s.slot
	}
	first := s.queue.first(s.pages)
	if first < 0 {
		return -1, s.solved.Add(s.cfg.Solve)
	}
	if from := s.from(first); from.After(now) {
		return -1, minTime(from, s.solved.Add(s.cfg.Solve))
	}
	heap.Pop(&s.queue)
	s.pages[first].out = true
	between := Duration(1 / s.Revisits())
	if s.slot = s.slot.Add(between); s.slot.Before(now) {
		s.slot = now.Add(between)
	}
	return first, time.Time{}
}

// solve computes all rates and frequencies.
func (s *Schedule) solve(now time.Time) {
	anew := !s.cfg.Uniform && s.visits >= leastSiblings && s.visits >= len(s.pages)/2
	if anew {
		s.learn()
	}
	rates := make([]float64, 0, len(s.pages))
	for i := range s.pages {
		p := &s.pages[i]
		if anew || p.rate == 0 {
			p.rate = p.history.Rate(s.prior(p))
		}
		if p.gone {
			continue
		}
		rate := p.rate
		if p.listed {
			rate = max(leastRate, rate*s.signals.Silent())
		}
		rates = append(rates, rate)
	}
	s.share(rates)
	s.solved = now
	s.sort()
}

// leastGain is the minimum relative gain of the optimal frequencies over equal ones. A smaller gain would be lost to errors of the
// estimates.
const leastGain = 0.015

// share computes the frequency of each page, given the rates of those that are not gone.
func (s *Schedule) share(rates []float64) {
	n, budget := float64(len(s.pages)), s.Revisits()
	least, most := s.cfg.Floor*budget/n, 1/Days(s.cfg.Shortest)
	budget -= least * (n - float64(len(rates)))
	frequencies, tooFast := Optimum(rates, budget, least, most)
	alike := min(most, budget/max(1, float64(len(rates))))
	var best, plain float64
	for i, rate := range rates {
		best += Freshness(rate, frequencies[i])
		plain += Freshness(rate, alike)
	}
	uniform := s.cfg.Uniform || best < plain*(1+leastGain)
	s.fast = tooFast
	next := 0
	for i := range s.pages {
		p := &s.pages[i]
		switch p.frequency = min(least, most); {
		case p.gone:
			continue
		case uniform:
			p.frequency = alike
		default:
			p.frequency = frequencies[next]
		}
		next++
	}
}

// learn finds the priors of all folders, from the outermost inwards.
func (s *Schedule) learn() {
	pasts := map[string][]*History{}
	var names []string
	for i := range s.pages {
		p := &s.pages[i]
		if p.history.Empty() {
			continue
		}
		for _, f := range p.folders {
			if pasts[f] == nil {
				names = append(names, f)
			}
			pasts[f] = append(pasts[f], &p.history)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	clear(s.priors)
	s.visits = 0
	for _, f := range names {
		if len(pasts[f]) >= leastSiblings {
			s.priors[f] = Learn(pasts[f], s.above(f))
		}
	}
}

// above returns the prior for a folder without one.
func (s *Schedule) above(folder string) Gamma {
	all := folders(folder)
	return s.innermost(all[:len(all)-1])
}

func (s *Schedule) prior(p *page) Gamma { return s.innermost(p.folders) }

func (s *Schedule) innermost(folders []string) Gamma {
	for i := len(folders) - 1; i >= 0; i-- {
		if g, ok := s.priors[folders[i]]; ok {
			return g
		}
	}
	return Unknown()
}

// enqueue inserts a page into the queue at its due time.
func (s *Schedule) enqueue(i int) {
	p := &s.pages[i]
	if p.out || p.frequency == 0 {
		return
	}
	if due := s.dueOf(i); !due.Equal(p.due) {
		p.due = due
		heap.Push(&s.queue, entry{due, int32(i)})
	}
}

// dueOf returns when a page is to be visited next.
func (s *Schedule) dueOf(i int) time.Time {
	p := &s.pages[i]
	if !p.announced.IsZero() && s.signals.Believed() {
		return p.tried.Add(s.cfg.Shortest)
	}
	after := 1 / p.frequency
	if p.tried.Equal(p.first) { // spread the first revisits: a site that was crawled in an hour is not revisited within one hour
		_, part := math.Modf(float64(i+1) * math.Phi)
		after *= part
	}
	return p.tried.Add(max(s.cfg.Shortest, Duration(after)))
}

// early is the maximum fraction of the interval between two visits by which a visit may be early, so that no request of the budget is
// wasted.
const early = 0.2

// from returns when a page may be visited at the earliest.
func (s *Schedule) from(i int) time.Time {
	p := &s.pages[i]
	from := p.due.Add(-Duration(early / p.frequency))
	if least := p.tried.Add(s.cfg.Shortest); from.Before(least) {
		return least
	}
	return from
}

// sort rebuilds the queue.
func (s *Schedule) sort() {
	s.queue = s.queue[:0]
	for i := range s.pages {
		p := &s.pages[i]
		p.due = time.Time{}
		if !p.out {
			p.due = s.dueOf(i)
			s.queue = append(s.queue, entry{p.due, int32(i)})
		}
	}
	heap.Init(&s.queue)
}

// queue is a heap of pages.
type queue []entry

type entry struct {
	due  time.Time
	page int32
}

// first returns the page that is due first, -1 if there is none.
func (q *queue) first(pages []page) int {
	for len(*q) > 0 {
		e := (*q)[0]
		if p := &pages[e.page]; !p.out && p.due.Equal(e.due) {
			return int(e.page)
		}
		heap.Pop(q)
	}
	return -1
}

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, k int) bool {
	return cmp.Or(q[i].due.Compare(q[k].due), cmp.Compare(q[i].page, q[k].page)) < 0
}

// Swap implements heap.Interface.
func (q queue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(entry)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
