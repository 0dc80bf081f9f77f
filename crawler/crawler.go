package crawler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/politeness"
)

// Crawler runs the crawl its Config describes. It may be run several times, also concurrently: all its Runs
// go through one gate, so that hosts see a single crawler, which remembers between Runs how long hosts want
// it to wait.
//
// Cancelling Run's context is a hard stop: requests in flight are broken off and their URLs stay queued.
// [Crawler.Drain] stops claiming and lets requests in flight end, and so does leaving a loop over Pages or
// [Collect]. [Crawler.Pause] and [Crawler.Resume] stop and continue claiming, [Crawler.LeaveOut] leaves a host alone
// from then on, [Crawler.Slower] lengthens its pauses. Nothing makes a crawl faster than its Config says.
type Crawler struct {
	cfg  Config
	gate *politeness.Gate
	pins pins
	had  atomic.Bool // whether there was an answer, in any Run

	shared politeness.Sharing

	control control

	mu   sync.Mutex
	runs map[*run]bool
}

// New makes a Crawler. The error joins everything wrong with c ([Config.Validate]).
func New(c Config) (*Crawler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Render.Renders() && c.Renderer == nil {
		return nil, configError("Render.Mode is %q without a Renderer: set one, such as that of package render/chromium", c.Render.Mode)
	}
	c = c.withDefaults()
	p := c.Politeness
	p.Identity, p.Contactless = c.identity(), c.Contact == ""
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

// Gate returns the gate that all requests go through, which knows the state of hosts and origins.
func (c *Crawler) Gate() *politeness.Gate { return c.gate }

// Errors of Run, of Visits and of ReadHistory.
var (
	// ErrNoSeeds is returned by Run without a seed.
	ErrNoSeeds = errors.New("crawler: no seeds")
	// ErrNothingInScope is wrapped by the error that names a seed and the rule that excludes it, when every
	// seed is excluded and nothing else is queued.
	ErrNothingInScope = errors.New("crawler: no seed is in scope")
	// ErrRulesChanged is wrapped by the error that names what was changed, when a crawl with a durable
	// frontier has ended and is run again with settings other than those that decided what was queued, and when
	// one that has not ended is run with another Config.Sample.
	ErrRulesChanged = errors.New("crawler: the crawl in this frontier was decided by other settings")
	// ErrRunning is returned by Run while another crawl uses the same durable frontier.
	ErrRunning = errors.New("crawler: a crawl with a durable frontier is under way")
	// ErrResume is wrapped by errors of New and Run, in addition to the cause, when what an earlier process
	// left in the frontier or in a sink cannot be read, or when the two cannot be brought to the same
	// point.
	ErrResume = errors.New("crawler: the crawl cannot be resumed")
	// ErrOver is returned by Visit.Enqueue, Visit.Emit and Visit.Tree when the Handler, or the body of the loop over Pages,
	// is done with the visit.
	ErrOver = errors.New("crawler: the visit is over")
	// ErrHistory is wrapped by the errors of ReadHistory that concern the contents.
	ErrHistory = errors.New("crawler: not the visits of a crawl")
)

// SeedError is a seed that cannot be crawled.
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

// Drain makes every Run in progress stop claiming URLs and end when the requests in flight have ended.
func (c *Crawler) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.runs {
		r.drain(FinishDrained)
	}
}

// start makes a run, with a Config that may differ from the Crawler's.
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
		return nil, ErrRunning
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
