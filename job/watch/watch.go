// Package watch requests the pages of a job again, each as often as it is worth it under a budget of requests a day for each
// host, and says what is new, changed or gone:
//
//	w, err := watch.Open("site", watch.Config{Budget: 2000, For: 30 * 24 * time.Hour})
//	…
//	report, err := w.Run(ctx)
//
// It is an ordinary crawl of the job: every request passes its gate and has its lines in its ledger, every visit its line in
// visits.jsonl, committed with the queue. What it knows of each page is what these visits say, so that a watch that was
// killed and is begun again forgets nothing. How often pages change, and which is next, is decided by package recrawl.
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

// LeastBudget is the smallest budget of a host, in requests a day: a robots.txt that is read daily, and some pages.
const LeastBudget = 10

// Config describes a watch.
type Config struct {
	// Budget limits the requests to each host in any 24 hours, for everything: pages, redirects, robots.txt,
	// sitemaps and further attempts. 85 % of them are for pages that are known. At least LeastBudget.
	Budget int
	// For is the duration of the watch. It must be positive.
	For time.Duration
	// Found is called with each change, in the order in which visits end, one call at a time. nil: nothing is called; the
	// changes are in the lines of visits.jsonl in any case.
	Found func(c Change)
	// Program sets what the settings of the job cannot say: the Trace, and what the program that made the job has set, such
	// as its Handler, which is called for each visit as in a crawl. nil: nothing does.
	Program func(c *job.Config)
}

// Change is the finding of a visit. It is an element of Record.Data of the visit's line in visits.jsonl.
type Change struct {
	Change string    `json:"change"` // New, Changed, Gone, Moved or Back
	URL    string    `json:"url"`
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"`
	To     string    `json:"to,omitempty"`     // with Moved: where it redirects to
	SHA256 string    `json:"sha256,omitempty"` // of the body, hexadecimal; unless it is gone
	Before string    `json:"before,omitempty"` // the SHA-256 at the visit before, with Changed
	// Since is the time of the visit before, after which the page has changed. Zero with New.
	Since time.Time `json:"since,omitzero"`
	// Signal says, with Changed, what a sitemap or feed that lists the page said before: Announced or Missed; "" if none does.
	Signal string `json:"signal,omitempty"`
}

// Values of Change.Signal.
const (
	Announced = "announced" // it has changed since the visit before
	Missed    = "missed"    // nothing
)

// Values of Change.Change.
const (
	New     = "new"
	Changed = "changed"
	Gone    = "gone"  // status 404 or 410
	Moved   = "moved" // a redirect
	Back    = "back"  // after it was gone or had moved
)

// Watch is a job whose pages are requested again. Its methods are those of the job; Status is safe for concurrent use.
type Watch struct {
	*job.Job

	cfg     Config
	dir     string
	budget  *budget
	limits  crawler.Limits      // of the job, for pages that are not known yet
	store   frontier.Durable    // of the job
	profile weburl.Profile      // of the job
	mu      sync.Mutex          // guards what follows
	hosts   map[string]*host    // by weburl.URL.Host
	order   []*host             // in the order in which they were found
	pages   map[weburl.Key]*ref // of all hosts
	maps    map[weburl.Key]*siteMap
	granted map[weburl.Key]bool // pages that are not known yet and have waited for their turn
	known   int
	forgave time.Time
	end     time.Time     // of the watch; zero before Run
	changed chan struct{} // closed and replaced when something is queued
	loaded  bool
}

// Open opens the job in a directory to watch it. Nothing is requested before Run. The errors are those of [job.Revisit], and
// those that say what is wrong with c.
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

// configure makes the crawl of the job one that revisits pages. The job is locked meanwhile.
func (w *Watch) configure(c *crawler.Config) error {
	if c.Sample.N > 0 {
		return refused("%s draws a sample, and a watch finds pages by their links: crawl the pages drawn as seeds into a new directory, and watch that", w.dir)
	}
	r, err := job.Read(w.dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	if err := w.budget.recall(r, time.Now()); err != nil {
		return err
	}
	w.limits, w.profile = c.Limits, c.Canonical
	w.store = c.Frontier.(frontier.Durable)
	l := &c.Limits
	l.Pages, l.PagesPerHost, l.Bytes, l.Time, l.Errors = crawler.Unlimited, 0, 0, 0, 0
	l.Sitemaps, l.Robots = crawler.Unlimited, crawler.Unlimited // the same ones are read again and again
	c.Hosts = slices.Clone(c.Hosts)
	for i := range c.Hosts {
		c.Hosts[i].Pages, c.Hosts[i].Bytes, c.Hosts[i].Time = 0, 0, 0
	}
	c.Duplicates.Same, c.Duplicates.Soft = 0, crawler.Unlimited // one page is met many times
	c.Frontier = &queue{Durable: w.store, w: w, turn: make(chan struct{}, 1)}
	w.budget.Sharing = c.Sharing()
	c.Politeness.Shared = w.budget
	c.Since, c.Handler = (*past)(w), &handler{w, c.Handler}
	return nil
}

// Run watches until Config.For is over, Drain is called or ctx ends. The result is that of [job.Job.Run].
func (w *Watch) Run(ctx context.Context) (*crawler.Report, error) {
	w.mu.Lock()
	w.end = time.Now().Add(w.cfg.For)
	w.mu.Unlock()
	return w.Job.Run(ctx)
}

// Status is how a watch stands.
type Status struct {
	Hosts []HostStatus // in the order in which they were found
}

// HostStatus is how the pages of a host stand.
type HostStatus struct {
	Host     string
	Pages    int // that are known, without those that are gone
	Gone     int
	Used     int             // requests in the last 24 hours
	TooFast  []string        // pages that change too fast to follow, at most 20
	Fast     int             // how many those are
	Signals  recrawl.Signals // of sitemaps and feeds
	Estimate float64         // the mean of the expected freshness of pages
}

// maxNamed limits the pages that HostStatus names as changing too fast.
const maxNamed = 20

// Status returns how the watch stands. Before Run it knows of no page.
func (w *Watch) Status() (s Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.order {
		s.Hosts = append(s.Hosts, h.status(w.budget.used(h.name)))
	}
	return s
}

// Next returns the page that is next of all hosts, and when; "" if none is known to be. It is quicker than Status.
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

// past is the History of the crawl: what the visits before said of each page.
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

// All implements crawler.History: nothing is visited again but what the crawl finds.
func (*past) All() iter.Seq2[weburl.URL, int] { return nil }

var errState = errors.New("watch: the state of the job cannot be read")

// load reads what the visits of the job say, once, when the crawl has brought them to where the queue is.
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
	defer func() { _ = r.Close() }() // only read
	for v, err := range r.Visits() {
		if err != nil {
			return fmt.Errorf("%w: %w", errState, err)
		}
		w.recall(v)
	}
	w.loaded, w.forgave = true, time.Now()
	return nil
}

// wake wakes everyone waiting for something to be queued. The caller holds the lock.
func (w *Watch) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// forgive lets hosts be requested again, once a day, that did not answer: a watch outlives their failures.
func (w *Watch) forgive(now time.Time) error {
	if now.Sub(w.forgave) < day {
		return nil
	}
	w.forgave = now
	return w.Forgive()
}
