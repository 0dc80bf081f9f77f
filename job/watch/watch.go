// Package watch requests the pages of a job again, under a budget of requests per day for each host, and reports new, changed and
// missing pages:
//
//	w, err := watch.Open("site", watch.Config{Budget: 2000, For: 30 * 24 * time.Hour})
//	…
//	report, err := w.Run(ctx)
//
// It is an ordinary crawl of the job: every request passes its gate and has its lines in its ledger, every visit its line in
// visits.jsonl, committed with the queue. All its knowledge of pages comes from these visits, so that a watch that was killed and
// started again has lost nothing. Package recrawl estimates how often pages change, and chooses the next page.
package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/recrawl"
	"github.com/amble-crawler/amble/weburl"
)

// LeastBudget is the minimum budget of a host, in requests per day: a daily robots.txt, and some pages.
const LeastBudget = 10

// Config configures a watch.
type Config struct {
	// Budget limits the requests to each host in any 24 hours, of all kinds: pages, redirects, robots.txt, sitemaps and further
	// attempts. 85 % of them are for known pages. It must be at least LeastBudget.
	Budget int
	// For is the duration of the watch. It must be positive.
	For time.Duration
	// Found is called with each change, in the order in which visits end, one call at a time. nil: nothing is called; the
	// changes are in the lines of visits.jsonl in any case.
	Found func(c Change)
	// Program sets fields that the settings of the job cannot express: the Trace, and fields that the program that made the job has
	// set, such as its Handler, which is called for each visit as in a crawl. It may be nil.
	Program func(c *job.Config)
}

// Change is the finding of a visit. It is an element of Record.Data of the visit's line in visits.jsonl.
type Change struct {
	Change string    `json:"change"` // New, Changed, Gone, Moved or Back
	URL    string    `json:"url"`
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"`
	To     string    `json:"to,omitempty"`     // with Moved: target of the redirect
	SHA256 string    `json:"sha256,omitempty"` // hexadecimal hash of the body; "" if the page is gone
	Before string    `json:"before,omitempty"` // with Changed: the SHA-256 at the previous visit
	// Since is the time of the previous visit, after which the page has changed. It is zero with New.
	Since time.Time `json:"since,omitzero"`
	// Signal tells, with Changed, whether a sitemap or feed that lists the page announced the change: Announced or Missed; "" if none
	// lists it.
	Signal string `json:"signal,omitempty"`
}

// Values of Change.Signal.
const (
	Announced = "announced" // the sitemap or feed announced a change since the previous visit
	Missed    = "missed"    // the page changed, and the sitemap or feed did not announce it
)

// Values of Change.Change.
const (
	New     = "new"
	Changed = "changed"
	Gone    = "gone"  // status 404 or 410
	Moved   = "moved" // a redirect
	Back    = "back"  // a page that was gone or had moved is back
)

// Watch is a job whose pages are requested again. Its methods are those of the job; Status is safe for concurrent use.
type Watch struct {
	*job.Job

	cfg     Config
	dir     string
	budget  *budget
	limits  crawler.Limits      // limits of the job, for unknown pages
	store   frontier.Durable    // queue of the job
	profile weburl.Profile      // profile of the job
	mu      sync.Mutex          // guards the fields below
	hosts   map[string]*host    // keyed by weburl.URL.Host
	order   []*host             // hosts in the order in which they were found
	pages   map[weburl.Key]*ref // pages of all hosts
	maps    map[weburl.Key]*siteMap
	granted map[weburl.Key]bool // unknown pages that have waited for their turn
	known   int
	forgave time.Time
	end     time.Time     // end of the watch; zero before Run
	changed chan struct{} // closed and replaced when something is queued
	loaded  bool
}

// Open opens the job in a directory to watch it. It makes no requests; Run does. The errors are those of [job.Revisit], and errors
// about c.
func Open(dir string, c Config) (*Watch, error) {
	switch {
	case c.Budget < LeastBudget:
		return nil, refused("a budget of %d requests a day is too small: at least %d, of which a robots.txt is one or more", c.Budget, LeastBudget)
	case c.For <= 0:
		return nil, refused("a watch of %v: say how long it takes, such as 720h", c.For)
	}
	w := &Watch{
		cfg: c, dir: dir, budget: newBudget(c.Budget), changed: make(chan struct{}), granted: map[weburl.Key]bool{},
		hosts: map[string]*host{}, pages: map[weburl.Key]*ref{}, maps: map[weburl.Key]*siteMap{},
	}
	var err error
	if w.Job, err = job.Revisit(dir, c.Program, w.configure); err != nil {
		return nil, err
	}
	if err := w.Forgive(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func refused(format string, args ...any) error {
	return &job.Error{Kind: job.Refused, Err: fmt.Errorf(format, args...)}
}

// configure changes the configuration of the job's crawl so that it revisits pages. The job is locked meanwhile.
func (w *Watch) configure(c *crawler.Config) error {
	if c.Sample.N > 0 {
		return refused("%s draws a sample, and a watch finds pages by their links: crawl the pages drawn as seeds into a new directory, and watch that", w.dir)
	}
	r, err := job.Read(w.dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read, so an error of closing loses nothing
	if err := w.budget.recall(r, time.Now()); err != nil {
		return err
	}
	w.limits, w.profile = c.Limits, c.Canonical
	w.store = c.Frontier.(frontier.Durable)
	l := &c.Limits
	l.Pages, l.PagesPerHost, l.Bytes, l.Time, l.Errors = crawler.Unlimited, 0, 0, 0, 0
	l.Sitemaps, l.Robots = crawler.Unlimited, crawler.Unlimited // unlimited, because the same sitemaps are read repeatedly
	c.Hosts = slices.Clone(c.Hosts)
	for i := range c.Hosts {
		c.Hosts[i].Pages, c.Hosts[i].Bytes, c.Hosts[i].Time = 0, 0, 0
	}
	c.Duplicates.Same, c.Duplicates.Soft = 0, crawler.Unlimited // no duplicates, because the same page is visited many times
	c.Frontier = &queue{Durable: w.store, w: w, turn: make(chan struct{}, 1)}
	w.budget.Sharing = c.Sharing()
	c.Politeness.Shared = w.budget
	c.Since, c.Handler = (*past)(w), &handler{w, c.Handler}
	return nil
}

// Run watches until Config.For has passed, Drain is called or ctx ends. The result is that of [job.Job.Run].
func (w *Watch) Run(ctx context.Context) (*crawler.Report, error) {
	w.mu.Lock()
	w.end = time.Now().Add(w.cfg.For)
	w.mu.Unlock()
	return w.Job.Run(ctx)
}

// Status describes the state of a watch.
type Status struct {
	Hosts []HostStatus // hosts in the order in which they were found
}

// HostStatus describes the state of a host's pages.
type HostStatus struct {
	Host     string
	Pages    int // known pages, without those that are gone
	Gone     int
	Used     int             // requests in the last 24 hours
	TooFast  []string        // pages that change too fast to follow, at most 20
	Fast     int             // number of such pages
	Signals  recrawl.Signals // statistics of sitemaps and feeds
	Estimate float64         // mean of the expected freshness of pages
}

// maxNamed limits HostStatus.TooFast.
const maxNamed = 20

// Status returns the state of the watch. Before Run it has no pages.
func (w *Watch) Status() (s Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.order {
		s.Hosts = append(s.Hosts, h.status(w.budget.used(h.name)))
	}
	return s
}

// Next returns the next page of all hosts and its time, "" if there is none. It is faster than Status.
func (w *Watch) Next() (url string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.order {
		if i, t := h.sched.First(); i >= 0 && (url == "" || t.Before(at)) {
			url, at = h.pages[i].url.String(), t
		}
	}
	return url, at
}

// past implements crawler.History with the state of each page at its previous visit.
type past Watch

// Past implements crawler.History.
func (p *past) Past(u weburl.URL) (crawler.Past, bool) {
	w := (*Watch)(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.pages[w.profile.Key(u)]
	if r == nil {
		return crawler.Past{}, false
	}
	return r.past, true
}

// All implements crawler.History: only pages that the crawl finds are visited.
func (*past) All() iter.Seq2[weburl.URL, int] { return nil }

var errState = errors.New("watch: the state of the job cannot be read")

// load reads the visits of the job, once, after the crawl has cut them to the state of the queue.
func (w *Watch) load() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loaded {
		return nil
	}
	r, err := job.Read(w.Dir())
	if err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	defer func() { _ = r.Close() }() // only read, so an error of closing loses nothing
	for v, err := range r.Visits() {
		if err != nil {
			return fmt.Errorf("%w: %w", errState, err)
		}
		w.recall(v)
	}
	w.loaded, w.forgave = true, time.Now()
	return nil
}

// wake wakes all goroutines that wait for a change of the queue. The caller must hold the lock.
func (w *Watch) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// forgive allows, once a day, requests to hosts that were given up, because a watch lasts longer than their failures.
func (w *Watch) forgive(now time.Time) error {
	if now.Sub(w.forgave) < day {
		return nil
	}
	w.forgave = now
	return w.Forgive()
}
