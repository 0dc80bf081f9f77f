package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/simhash"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Crawler runs the crawl its Config describes. It may be run several times, also at once: all its
// Runs go through one gate, so that to the hosts they are one crawler, which remembers between Runs
// what it was asked to wait for.
type Crawler struct {
	cfg  Config
	gate *politeness.Gate
	pins pins
	had  atomic.Bool // an answer, in any Run

	mu   sync.Mutex
	runs map[*run]bool
}

// New makes a Crawler. The error joins everything wrong with c ([Config.Validate]).
func New(c Config) (*Crawler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	p := c.Politeness
	p.Identity, p.Contactless = c.identity(), c.Contact == ""
	if err := restoreGate(&p, c.Frontier); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResume, err)
	}
	gate, err := politeness.NewGate(p)
	if err != nil {
		return nil, err
	}
	return &Crawler{cfg: c, gate: gate, runs: make(map[*run]bool)}, nil
}

// Gate is the gate that all requests go through, to be asked what it knows of hosts and origins.
func (c *Crawler) Gate() *politeness.Gate { return c.gate }

// Errors of Run.
var (
	ErrNoSeeds = errors.New("crawler: no seeds")
	// ErrNothingInScope is wrapped by the error that names a seed and the rule which leaves it out, where that is
	// so of all seeds and nothing else is queued.
	ErrNothingInScope = errors.New("crawler: no seed is in scope")
	// ErrRulesChanged is wrapped by the error that names what was changed, when a crawl with a durable frontier
	// has ended and is run with other settings than those by which it decided what to queue.
	ErrRulesChanged = errors.New("crawler: the crawl in this frontier has ended and was decided by other settings")
	ErrRunning      = errors.New("crawler: a crawl with a durable frontier is under way")
	// ErrResume is wrapped by errors of New and Run, besides the cause, when what an earlier process left in the
	// frontier or in a sink cannot be read, or they cannot be brought to the same point.
	ErrResume = errors.New("crawler: the crawl cannot be resumed")
)

// SeedError is a seed that cannot be crawled.
type SeedError struct {
	Seed string
	Err  error
}

func (e *SeedError) Error() string { return fmt.Sprintf("crawler: seed %q: %v", e.Seed, e.Err) }

// Unwrap is the cause.
func (e *SeedError) Unwrap() error { return e.Err }

// Run crawls from the seeds until nothing is left, a limit is reached, Drain is called or ctx ends.
// It blocks until every worker has ended. The Report is never nil once the crawl has begun; the
// error is nil unless the crawl could not begin (joined *SeedErrors, configuration), ctx ended
// (its cause), a sink or the frontier failed, or no host ever answered (*[UnreachableError]). A limit is not an
// error: see [Report.Finish].
func (c *Crawler) Run(ctx context.Context, seeds ...string) (*Report, error) {
	r, err := c.start(seeds, nil)
	if err != nil {
		return nil, err
	}
	defer c.end(r)
	return r.crawl(ctx)
}

// Drain makes every Run that is under way stop claiming and end when what is in flight has ended.
func (c *Crawler) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.runs {
		r.drain(FinishDrained)
	}
}

// start makes a run, by a Config that may differ from the Crawler's.
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
	if r.store != nil && len(c.runs) > 0 {
		r.close()
		return nil, ErrRunning
	}
	c.runs[r] = true
	return r, nil
}

func (c *Crawler) end(r *run) {
	c.mu.Lock()
	delete(c.runs, r)
	c.mu.Unlock()
	r.close()
}

// run is one crawl under way.
type run struct {
	cfg      Config
	seeds    []weburl.URL
	scope    Scope
	gate     *politeness.Gate
	pins     *pins        // the Crawler's
	had      *atomic.Bool // likewise
	frontier frontier.Frontier
	knower   frontier.Knower   // the frontier, when it is one
	counter  frontier.Counter  // likewise
	rationer frontier.Rationer // likewise
	idler    idler             // the fetcher, when it keeps connections
	fetcher  Fetcher
	client   *fetcher.Client // of gate and fetcher
	closers  []func()
	budget   *budget
	tally    *tally
	bound    *bound
	causes   causes
	crowds   *crowds
	contents *contents
	cuts     *cuts
	vain     vain
	linkers  linkers
	inflight *inflight
	hasher   *simhash.Hasher // nil without Config.Duplicates.NearBits
	near     *simhash.Index
	fresh    nearPages    // what the crawl must keep of near
	table    uint64       // the number of the crowds' table
	deliver  func(*Visit) // for Pages; nil otherwise

	claims     context.Context // ends when no more claims are to be made
	stopClaims context.CancelCauseFunc

	store   frontier.Durable // the frontier, when it outlives the process
	commits *committer       // with store
	resumed bool             // an earlier process began this crawl

	sinkMu    sync.Mutex // visits reach the sinks one at a time
	exchanges []sink.ExchangeSink

	mu          sync.Mutex
	finish      Finish
	err         error
	unreachable *UnreachableError // with FinishUnreachable
}

// idler is a Fetcher that keeps connections open between requests.
type idler interface{ CloseIdle(host string) }

func newRun(cfg Config, c *Crawler, seeds []string) (*run, error) {
	urls, err := parseSeeds(seedURLs(cfg.Seeds, seeds), cfg.Limits.URLLength)
	if err != nil {
		return nil, err
	}
	if cfg.Contact == "" && !allLoopback(urls) {
		return nil, cfg.identity().Validate(false)
	}
	r := &run{
		cfg: cfg, gate: c.gate, pins: &c.pins, had: &c.had, seeds: urls, scope: cfg.Scope.Custom,
		budget: newBudget(cfg.Limits.Pages), tally: newTally(time.Now()),
		bound: newBound(), crowds: newCrowds(cfg.Traps.Queries, cfg.Traps.PerDir, cfg.Traps.Sessions), contents: newContents(), inflight: newInflight(cfg.Limits.InFlight), cuts: newCuts(),
	}
	r.crowds.own = cfg.Politeness.OwnHosts
	for _, s := range cfg.Sinks {
		if x, ok := s.(sink.ExchangeSink); ok {
			r.exchanges = append(r.exchanges, x)
		}
	}
	if cfg.Duplicates.NearBits > 0 {
		r.hasher, r.near = simhash.NewHasher(), simhash.NewIndex(maxContents, cfg.Duplicates.NearBits)
	}
	if r.scope == nil {
		if r.scope, err = NewSeedScope(cfg.Scope.Kind, cfg.Scope.Rules, urls...); err != nil {
			return nil, err
		}
	}
	r.frontier = cfg.Frontier
	if err := r.checkScope(); err != nil {
		return nil, err
	}
	if err := r.makeFetcher(); err != nil {
		return nil, err
	}
	r.makeClient()
	r.makeFrontier()
	r.knower, _ = r.frontier.(frontier.Knower)
	r.counter, _ = r.frontier.(frontier.Counter)
	r.rationer, _ = r.frontier.(frontier.Rationer)
	r.idler, _ = r.fetcher.(idler)
	return r, r.makeCommitter()
}

// makeCommitter prepares a crawl that is to outlive the process.
func (r *run) makeCommitter() error {
	if r.store = durable(r.frontier); r.store == nil {
		return nil
	}
	r.commits = newCommitter(r, r.store)
	r.tally.keeps()
	r.bound.changed = map[party]bool{}
	r.contents.fresh = map[[16]byte]*content{}
	return checkSinks(r.cfg.Sinks)
}

func parseSeeds(seeds []string, maxLen int) ([]weburl.URL, error) {
	if len(seeds) == 0 {
		return nil, ErrNoSeeds
	}
	var errs []error
	urls := make([]weburl.URL, 0, len(seeds))
	for _, s := range seeds {
		u, err := weburl.Parse(s)
		if err == nil && len(u.String()) > maxLen {
			err = fmt.Errorf("longer than %d octets", maxLen)
		}
		if err != nil {
			errs = append(errs, &SeedError{Seed: s, Err: err})
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(errs...)
}

// allLoopback reports whether a contact may be missing: nobody else is asked for anything.
func allLoopback(seeds []weburl.URL) bool {
	for _, u := range seeds {
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}

// makeFetcher makes the run's fetcher. A seed may name a host of any address, since its operator did so
// knowingly; a link or a redirect may not. What a name stands for is settled by its first look-up: see pin.
func (r *run) makeFetcher() error {
	r.fetcher = r.cfg.Fetcher
	if r.fetcher != nil {
		return nil
	}
	named := make(map[string]bool, len(r.seeds))
	for _, u := range r.seeds {
		named[u.Hostname()] = true
	}
	fc := r.cfg.Fetch
	fc.Record = fc.Record || len(r.exchanges) > 0
	fc.Wanted = r.wanted(fc.Wanted)
	if fc.Reserve == nil {
		fc.Reserve = reserve
	}
	allowed := fc.AllowHosts
	fc.AllowHosts = func(hostname string) bool {
		return named[hostname] || allowed != nil && allowed(hostname)
	}
	if fc.Pin == nil {
		fc.Pin = r.pin
	}
	f, err := fetcher.New(fc)
	if err != nil {
		return err
	}
	r.fetcher = f
	r.closers = append(r.closers, f.Close)
	return nil
}

func (r *run) makeClient() {
	r.client = &fetcher.Client{Gate: r.gate, Fetcher: r.fetcher, KeepRobots: r.cfg.KeepRobots, Admitted: r.admitted}
	if with, ok := r.fetcher.(ConditionalFetcher); ok && r.cfg.Since != nil {
		r.client.Fetcher = conditional{r.fetcher, r.past, with}
	}
}

// keepsBodies reports whether a sink stores bodies.
func (r *run) keepsBodies() bool {
	return len(r.exchanges) > 0 || r.cfg.KeepBodies
}

func (r *run) makeFrontier() {
	r.frontier = r.cfg.Frontier
	if r.frontier != nil {
		return
	}
	m := frontier.NewMemory(frontier.MemoryConfig{HostSlots: r.cfg.Politeness.OwnHosts, Key: r.cfg.Canonical.Key})
	r.frontier = m
	r.closers = append(r.closers, func() { _ = m.Close() }) // a memory store's Close cannot fail
}

func (r *run) close() {
	for _, f := range r.closers {
		f()
	}
}

// crawl starts the workers and waits for them.
func (r *run) crawl(ctx context.Context) (*Report, error) {
	defer r.begin(ctx)(nil)
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if r.commits != nil {
		r.commits.start(ctx)
	}
	if r.cfg.Limits.Time > 0 {
		t := time.AfterFunc(r.cfg.Limits.Time-r.tally.elapsed, func() { r.drain(FinishTime) })
		defer t.Stop()
	}
	var workers sync.WaitGroup
	for range r.cfg.Concurrency {
		workers.Go(func() { r.work(ctx) })
	}
	workers.Wait()
	if r.commits != nil {
		r.commits.close()
	}
	rep := r.tally.report(time.Now(), r.finished(ctx), r.left())
	rep.Bound.Duration, rep.BoundBy = r.bound.least()
	rep.Rejected = r.rejected() + rep.Links[FateFull]
	rep.Overrides = r.cfg.Politeness.Overrides
	return rep, r.outcome(ctx)
}

// open brings the frontier to where the crawl begins or is resumed.
func (r *run) open(ctx context.Context) error {
	if r.commits != nil {
		if err := r.resume(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrResume, err)
		}
	}
	seeds, err := r.addSeeds(ctx)
	if err != nil {
		return err
	}
	past, err := r.addPast(ctx)
	if err != nil || r.commits == nil {
		return err
	}
	return r.keepRules(ctx, seeds+past)
}

// begin makes the context that claims are made with. Drain may have been called before.
func (r *run) begin(ctx context.Context) context.CancelCauseFunc {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims, r.stopClaims = context.WithCancelCause(ctx)
	if r.finish != "" {
		r.stopClaims(errDrain)
	}
	return r.stopClaims
}

// addSeeds queues the seeds and returns how many of them are new.
func (r *run) addSeeds(ctx context.Context) (added int, err error) {
	queue := make([]frontier.Request, len(r.seeds))
	for i, u := range r.seeds {
		queue[i] = frontier.Request{URL: u, Kind: frontier.KindSeed}
		if i < len(r.cfg.Seeds) {
			queue[i].Priority, queue[i].Meta = r.cfg.Seeds[i].Priority, r.cfg.Seeds[i].Meta
		}
	}
	return r.frontier.Add(ctx, queue...)
}

// drain ends claiming; the first reason stands.
func (r *run) drain(why Finish) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finish == "" {
		r.finish = why
	}
	if r.stopClaims != nil {
		r.stopClaims(errDrain)
	}
}

var errDrain = errors.New("crawler: draining")

// fail ends the crawl because of its own parts.
func (r *run) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.drain(FinishError)
}

// finished is why the crawl ended, asked after all workers have.
func (r *run) finished(ctx context.Context) Finish {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return FinishError
	case r.finish != "":
		return r.finish
	case ctx.Err() != nil:
		return FinishCanceled
	case r.budget.exhausted() && r.left() > 0:
		return FinishPages
	}
	return FinishDone
}

func (r *run) outcome(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return r.err
	case r.unreachable != nil:
		return r.unreachable
	case r.finish == "":
		return context.Cause(ctx)
	}
	return nil
}

// rejected is the number of URLs that the frontier has turned away, 0 when it does not count.
func (r *run) rejected() int {
	if s, ok := r.frontier.(frontier.Counter); ok {
		return s.Stats().Rejected
	}
	return 0
}

// left is the number of URLs that are known and not served, 0 when the frontier does not count.
func (r *run) left() int {
	s, ok := r.frontier.(frontier.Counter)
	if !ok {
		return 0
	}
	n := s.Stats()
	return n.Queued + n.Waiting + n.Claimed
}
