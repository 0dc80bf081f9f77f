// Package crawler runs bounded, polite crawls: it claims URLs from a frontier, asks the politeness gate, fetches them, finds their links
// and hands the outcome of every URL to a [Handler] and to the sinks.
//
// The smallest crawl is
//
//	c, err := crawler.New(crawler.Config{Contact: "https://lab.university.edu/crawl"})
//	report, err := c.Run(ctx, "https://site.to.crawl/")
//
// It stays on the seed's host, reads robots.txt first, sends one request at a time with a second
// between them, follows links five deep and stops at 1,000 pages. Fields of [Config] change all of this
// except robots.txt. Every URL that enters the crawl ends as exactly one [Visit].
//
// There are four ways to use a crawl: [Crawler.Run] with Config.Sinks writes every visit to files; [Collect] loops over values that a
// function makes of pages; [Crawler.Pages] loops over visits; and a [Handler] or a [Mux] handles many at once.
package crawler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Crawler runs the crawl its Config describes. It may be run several times, also concurrently: all its Runs use one gate, so that
// hosts see a single crawler, which remembers between Runs how long it must wait.
//
// Cancelling Run's context is a hard stop: requests in flight are aborted and their URLs stay queued. [Crawler.Drain] stops claiming and
// lets requests in flight end; leaving a loop over Pages or [Collect] does the same. [Crawler.Pause] and [Crawler.Resume] stop and
// continue claiming, [Crawler.LeaveOut] requests nothing more from a host, [Crawler.Slower] lengthens a host's delay. No method makes a
// crawl faster than its Config allows.
type Crawler struct {
	cfg  Config
	gate *politeness.Gate
	pins pins
	had  atomic.Bool // some host has responded, in any Run

	shared politeness.Sharing

	control control

	mu   sync.Mutex
	runs map[*run]bool
}

// New makes a Crawler. The error joins all errors in c ([Config.Validate]).
func New(c Config) (*Crawler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Render.Renders() && c.Renderer == nil {
		return nil, configError("Render.Mode is %q without a Renderer: set one, such as that of package render/chromium", c.Render.Mode)
	}
	if c.Follow.Documents && c.Documents == nil {
		return nil, configError("Follow.Documents is set without Documents: set a reader, such as document.Links of package article/document")
	}
	c = c.withDefaults()
	p := c.Politeness
	p.Identity, p.Contactless = c.Identity(), c.Contact == ""
	p.HostDelays = c.HostDelays()
	if err := restoreGate(&p, c.Frontier); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResume, err)
	}
	x := &Crawler{cfg: c, runs: make(map[*run]bool)}
	if p.Shared == nil {
		p.Shared = c.Sharing()
	}
	x.shared = p.Shared
	p.OptOut = x.control.optOut(p.OptOut)
	p.CopyRobots = c.copyRobots()
	var err error
	if p.Account, err = c.account(); err != nil {
		return nil, err
	}
	if x.gate, err = politeness.NewGate(p); err != nil {
		return nil, err
	}
	return x, nil
}

// Gate returns the gate of all requests, which has the state of hosts and origins.
func (c *Crawler) Gate() *politeness.Gate { return c.gate }

// Errors of Run, of Visits and of ReadHistory, and errors that a Handler returns to control the crawl.
var (
	// ErrNoSeeds is returned by Run without a seed.
	ErrNoSeeds = errors.New("crawler: no seeds")
	// ErrNothingInScope is wrapped by the error for a crawl in which every seed is excluded and nothing else is queued. That error
	// names a seed and the rule that excludes it.
	ErrNothingInScope = errors.New("crawler: no seed is in scope")
	// ErrRulesChanged is wrapped by the error for a crawl with a durable frontier that is run again with other settings. The error names
	// the changed settings. A crawl that has ended rejects changes of all settings that decide which URLs are queued; a crawl that has
	// not ended rejects only a change of Config.Sample.
	ErrRulesChanged = errors.New("crawler: the crawl in this frontier was decided by other settings")
	// errRunning is returned by Run while another Run uses the same frontier, which is durable.
	errRunning = errors.New("crawler: a crawl with a durable frontier is under way")
	// ErrResume is wrapped by errors of New and Run, in addition to the cause, if the state that an earlier process left in the
	// frontier or in a sink cannot be read, or if the two cannot be brought to the same point.
	ErrResume = errors.New("crawler: the crawl cannot be resumed")
	// ErrOver is returned by Visit.Enqueue, Visit.Emit and Visit.Tree after the Handler, or the body of the loop over Pages, has
	// returned.
	ErrOver = errors.New("crawler: the visit is over")
	// ErrHistory is wrapped by errors of ReadHistory about content that is not the visits of a crawl.
	ErrHistory = errors.New("crawler: not the visits of a crawl")

	// SkipLinks is returned by a Handler to follow none of the page's links. URLs that the Handler enqueued are still queued.
	SkipLinks = errors.New("crawler: skip links")
	// Stop is returned by a Handler to drain the crawl; [StopBecause] adds a reason. The visit is kept in both cases. Stop may be joined
	// with SkipLinks; if it is joined with any other error, neither of the two applies.
	Stop = errors.New("crawler: stop")
)

// SeedError reports a seed that cannot be crawled.
type SeedError struct {
	Seed string
	Err  error
}

func (e *SeedError) Error() string { return fmt.Sprintf("crawler: seed %q: %v", e.Seed, e.Err) }

// Unwrap returns the cause.
func (e *SeedError) Unwrap() error { return e.Err }

// Run crawls from the seeds until nothing is left, a limit is reached, Drain is called or ctx ends. It
// blocks until every worker has ended. The Report is never nil once the crawl has begun; the error is nil
// unless the crawl could not begin (joined *SeedErrors, configuration), ctx ended (its cause), a sink or
// the frontier failed, or no host ever answered (*[UnreachableError]). A limit is not an error: see
// [Report.Finish].
func (c *Crawler) Run(ctx context.Context, seeds ...string) (*Report, error) {
	r, err := c.start(seeds, nil)
	if err != nil {
		return nil, err
	}
	defer c.end(r)
	rep, err := r.crawl(ctx)
	if alone := c.NotShared(); alone != nil && rep != nil {
		rep.NotShared = alone.Error()
	}
	return rep, err
}

// Drain makes every Run in progress stop claiming URLs, and end as soon as the requests in flight have ended.
func (c *Crawler) Drain() { c.DrainFor(FinishDrained) }

// DrainFor is like Drain, for a caller that enforces another limit: limit becomes [Report.Finish]. If a Run is already ending, its first
// reason is kept.
func (c *Crawler) DrainFor(limit Finish) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.runs {
		r.drain(limit)
	}
}

// start starts a run with a copy of the Crawler's Config that change has modified.
func (c *Crawler) start(seeds []string, change func(*Config)) (*run, error) {
	cfg := c.cfg
	if change != nil {
		change(&cfg)
	}
	r, err := newRun(cfg, c, seeds)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.checkpoint != nil && len(c.runs) > 0 {
		r.close()
		return nil, errRunning
	}
	if c.control.paused {
		r.halt.begin()
	}
	c.runs[r] = true
	return r, nil
}

func (c *Crawler) end(r *run) {
	c.mu.Lock()
	if delete(c.runs, r); len(c.runs) == 0 {
		c.gate.Leave()
	}
	c.mu.Unlock()
	r.close()
}

// Pages runs a crawl and yields its visits one at a time, in the order in which they become final. Breaking out of the loop drains the
// crawl. If Run fails, the last pair is a nil Visit and Run's error.
//
// The loop's body is a Handler: until the next iteration the Visit is valid and may be added to
// ([Visit.Enqueue], [Visit.Emit]). If Config.Handler is set, it is called before the loop's body.
func (c *Crawler) Pages(ctx context.Context, seeds ...string) iter.Seq2[*Visit, error] {
	return c.pages(ctx, func(*Config) {}, seeds)
}

// pages implements Pages, with a Config that change has modified. It keeps bodies, because the caller may read them.
func (c *Crawler) pages(ctx context.Context, change func(*Config), seeds []string) iter.Seq2[*Visit, error] {
	return func(yield func(*Visit, error) bool) {
		r, err := c.start(seeds, func(cfg *Config) { cfg.KeepBodies = true; change(cfg) })
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.end(r)
		p := newPager()
		r.deliver = p.deliver
		go func() {
			defer close(p.next)
			_, err = r.crawl(ctx)
		}()
		// The loop may end by break or by a panic in its body: drain the crawl then, too, and wait for its end.
		defer func() {
			r.drain(FinishDrained)
			p.discard()
		}()
		for v := range p.next {
			if !yield(v, nil) {
				return
			}
			p.taken <- struct{}{}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// pager passes visits from the workers to the loop over Pages, one at a time: a worker continues when the loop's body has processed
// its visit.
type pager struct {
	mu      sync.Mutex // held by the worker whose visit the loop body is processing
	next    chan *Visit
	taken   chan struct{}
	stopped chan struct{} // closed when the loop accepts no more visits
}

func newPager() *pager {
	return &pager{next: make(chan *Visit), taken: make(chan struct{}), stopped: make(chan struct{})}
}

func (p *pager) deliver(v *Visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.next <- v:
	case <-p.stopped:
		return
	}
	select {
	case <-p.taken:
	case <-p.stopped:
	}
}

// discard drops the remaining visits and waits until the workers have ended.
func (p *pager) discard() {
	close(p.stopped)
	for range p.next {
	}
}

// VisitError is yielded by [Collect] for a visit that failed: its page could not be fetched, or the function given to Collect or the
// Crawler's Handler returned the error.
type VisitError struct {
	URL    weburl.URL
	Reason string // Visit.Reason
	Err    error  // Visit.Err; may be nil
}

func (e *VisitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("crawler: %s: %s", e.URL, e.Reason)
	}
	return fmt.Sprintf("crawler: %s: %s: %v", e.URL, e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *VisitError) Unwrap() error { return e.Err }

// Collect runs a crawl and yields the values that read returns for its pages, one at a time:
//
//	for article, err := range crawler.Collect(ctx, c, read, "https://site.to.crawl/") {
//
// Collect calls read for each page that was fetched with a status from 200 to 299, after c's Handler if c has one. read returns the
// values of the page, or nil if there are none. The rules for a Handler apply to read: it is called concurrently, it may use
// Visit.Enqueue and Visit.Emit, and it may return SkipLinks, Stop or a Retry. If it fails, none of its values is yielded; the values of a
// page that is read again are yielded once.
//
// A visit that failed, because of the network or because of read, is yielded as a *VisitError, and the crawl continues. Any other
// error is that of Run, and is the last. URLs that were refused, deferred or rejected are not errors: use c's Handler, the sinks or
// Trace to see them. Breaking out of the loop drains the crawl.
//
// If c has sinks, each value is also a result of its visit, as if read had given it to Visit.Emit: with [sink.NewItems],
// [sink.NewCSV] or a table of package sink/sqlite among them, the values are in a file, each once even if the crawl is killed and
// resumed, while the loop sees only those of this process. A value that is not JSON then fails its visit.
//
// The loop's body gets the values of one page at a time, while the page's host waits: a slow body makes the crawl slow.
func Collect[T any](ctx context.Context, c *Crawler, read func(context.Context, *Visit) ([]T, error), seeds ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		reading := func(cfg *Config) { cfg.Handler = reader(cfg.Handler, read, len(cfg.Sinks) > 0) }
		for v, err := range c.pages(ctx, reading, seeds) {
			var none T
			switch {
			case err != nil:
				yield(none, err)
				return
			case v.Outcome == Failed:
				if !yield(none, &VisitError{v.URL, v.Reason, v.Err}) {
					return
				}
				continue
			}
			values, _ := v.results.([]T)
			for _, x := range values {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// reader returns a Handler that calls h, stores the values that read returns, and emits them if emit is true.
func reader[T any](h Handler, read func(context.Context, *Visit) ([]T, error), emit bool) Handler {
	return HandlerFunc(func(ctx context.Context, v *Visit) error {
		var err error
		if h != nil {
			err = h.Handle(ctx, v)
		}
		if fatal(err) || !had.holds(v) {
			return err
		}
		values, err2 := read(ctx, v)
		v.results = values
		for i := 0; emit && i < len(values) && !fatal(err2); i++ {
			err2 = errors.Join(err2, v.Emit(values[i]))
		}
		return errors.Join(err, err2)
	})
}
