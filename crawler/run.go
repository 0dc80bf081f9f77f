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
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// run is one crawl in progress: it makes the parts, starts the workers and waits for them. The work on one URL is an attempt.
type run struct {
	parts
	state
}

// parts holds the parts of a run. newRun makes them. The fields do not change while the crawl runs, and each part is safe for concurrent
// use.
type parts struct {
	cfg      Config
	seeds    []weburl.URL
	gate     *politeness.Gate // the gate of the Crawler
	pins     *pins            // the pins of the Crawler
	frontier frontier.Frontier
	fetcher  Fetcher
	client   *fetcher.Client // combines gate and fetcher
	sessions *sessions
	closers  []func()

	hosts      *hostTable // nil without Config.Hosts
	judge      *judge
	duplicates *duplicates
	output     *output
	checkpoint *checkpoint // nil unless the frontier outlives the process
	commits    *committer  // nil unless there is a checkpoint
	sampler    *sampler    // nil unless a sample is drawn
	renders    *renders    // nil unless pages are rendered

	deliver func(*Visit) // passes visits to the loop over Pages; nil without one
}

// state holds the data of a run that workers change: how it ends and its counts.
type state struct {
	ending
	halt halt

	budget     *budget
	tally      *tally
	bound      *bound
	inflight   *inflight
	partials   *partials
	causes     causes
	forbidden  forbidden
	unanswered unanswered
	linkers    linkers
	terms      *terms
}

func newRun(cfg Config, c *Crawler, seeds []string) (*run, error) {
	urls, err := parseSeeds(seedURLs(cfg.Seeds, seeds), cfg.Limits.URLLength)
	if err != nil {
		return nil, err
	}
	if cfg.Contact == "" && !cfg.Politeness.Offline && !allLoopback(urls) {
		return nil, cfg.Identity().Validate(false)
	}
	r := &run{
		parts: parts{cfg: cfg, gate: c.gate, pins: &c.pins, seeds: urls},
		state: state{
			budget: newBudget(cfg.Limits.Pages), tally: newTally(time.Now()), bound: newBound(),
			inflight: newInflight(cfg.Limits.InFlight), partials: newPartials(), terms: newTerms(&cfg),
		},
	}
	if r.sampler, err = newSampler(cfg.Sample, urls); err != nil {
		return nil, err
	}
	if r.hosts, err = newHostTable(cfg.Hosts); err != nil {
		return nil, err
	}
	if err := r.make(&c.had); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// make creates the parts of a run; each part uses only earlier parts.
func (r *run) make(had *atomic.Bool) error {
	r.makeFrontier()
	if err := r.makeJudge(); err != nil {
		return err
	}
	r.duplicates = newDuplicates(r.cfg.Duplicates, r.judge.trapCounts)
	r.unanswered = unanswered{had: had, off: r.cfg.Politeness.RobotsGiveUp == Forever, gate: r.gate, queue: r.frontier, giveUp: r.giveUp}
	r.output = newOutput(r.cfg.Sinks, r.archiveFailed)
	if err := r.makeCommitter(); err != nil {
		return err
	}
	if err := r.makeRenders(); err != nil {
		return err
	}
	return r.makeFetcher()
}

func (r *run) makeFrontier() {
	r.frontier = r.cfg.Frontier
	if r.frontier == nil {
		m := frontier.NewMemory(frontier.MemoryConfig{
			HostSlots: r.cfg.Politeness.OwnHosts, Key: r.cfg.Canonical.Key, BestFirst: r.cfg.BestFirst, Patience: r.cfg.Patience(),
		})
		r.frontier = m
		r.closers = append(r.closers, func() { _ = m.Close() }) // closing a queue in memory cannot fail
	}
}

func (r *run) makeJudge() (err error) {
	cfg := &r.cfg
	j := &judge{cfg: cfg, scope: cfg.Scope.Custom, trapCounts: newTrapCounts(cfg.Traps, cfg.Politeness.OwnHosts), priorities: newPriorities(cfg), sampler: r.sampler}
	if j.scope == nil {
		if j.scope, err = cfg.seedScope(r.hosts, r.seeds...); err != nil {
			return err
		}
	}
	j.queue = r.frontier
	r.linkers.around = newAroundExtract(j, cfg.AroundExtract)
	if r.judge = j; r.left() == 0 {
		return j.seeds(r.seeds)
	}
	return nil
}

// makeCommitter creates the checkpoint and the committer if the frontier is durable.
func (r *run) makeCommitter() error {
	store := durable(r.frontier)
	if store == nil {
		return nil
	}
	r.checkpoint, r.terms.store = newCheckpoint(r, store), store
	r.commits = newCommitter(store, r.output, r.fail)
	r.commits.checkpoint, r.commits.done, r.commits.trace, r.commits.how = r.checkpoint, r.leave, r.cfg.Trace, r.cfg.Commits
	r.commits.ordered = r.judge.priorities.order != nil || r.cfg.Score != nil
	return r.output.checkNames()
}

// archiveFailed ends the crawl after an exchange could not be archived, so that no visit is committed without it. The caller holds the
// output's lock.
func (r *run) archiveFailed(err error) {
	if r.commits != nil {
		r.commits.refuse()
	}
	r.fail(err)
}

// makeFetcher makes the run's fetcher. The host of a seed may have any address, because the operator chose it; the host of a link or a
// redirect may not. The first look-up of a name fixes its addresses: see pin.
func (r *run) makeFetcher() error {
	r.fetcher = r.cfg.Fetcher
	if r.fetcher == nil {
		f, err := fetcher.New(r.fetching())
		if err != nil {
			return err
		}
		r.fetcher = f
		r.closers = append(r.closers, f.Close)
	}
	if err := r.makeSessions(); err != nil {
		return err
	}
	if around := r.cfg.AroundFetch; around != nil {
		r.fetcher = around(r.fetcher)
	}
	r.client = &fetcher.Client{Gate: r.gate, Fetcher: r.fetcher, KeepRobots: r.cfg.KeepRobots, Admitted: r.admitted}
	if r.cfg.Since != nil {
		r.client.Fetcher = conditional{r.fetcher, r.cfg.past}
	}
	return nil
}

// fetching returns Config.Fetch with the settings that the run adds.
func (r *run) fetching() fetcher.Config {
	named := make(map[string]bool, len(r.seeds))
	for _, u := range r.seeds {
		named[u.Hostname()] = true
	}
	fc := r.cfg.Fetch
	archives := len(r.output.exchanges) > 0
	fc.Record = fc.Record || archives
	if fc.Wanted == nil && r.cfg.Handler == nil && !archives && !r.cfg.KeepBodies {
		fc.Wanted = r.cfg.reads
	}
	fc.Wanted = r.judge.wanted(fc.Wanted)
	if fc.Reserve == nil {
		fc.Reserve = reserve
	}
	fc.Request = r.hosts.request(&fc)
	allowed := fc.AllowHosts
	fc.AllowHosts = func(hostname string) bool {
		return named[hostname] || allowed != nil && allowed(hostname)
	}
	if fc.Pin == nil {
		fc.Pin = r.pin
	}
	return fc
}

// pin implements fetcher.Config.Pin. With a durable frontier, the look-up is stored before the addresses are requested, so that it still
// applies after a restart.
func (r *run) pin(ctx context.Context, host string, private []netip.Addr) ([]netip.Addr, error) {
	if r.checkpoint != nil {
		var err error
		if private, err = r.checkpoint.pin(context.WithoutCancel(ctx), host, private); err != nil {
			return nil, fmt.Errorf("crawler: the first look-up of %s: %w", host, err)
		}
	}
	return r.pins.set(host, private), nil
}

// admitted implements fetcher.Client.Admitted. It is called before each request.
func (r *run) admitted(ctx context.Context, u weburl.URL, p politeness.Permit) {
	r.cfg.Trace.admitted(u, p)
	if r.counts(p.URL().Host()) != nil {
		r.tally.begins(p.URL().Host(), time.Now())
	}
	if err := r.missedSitemaps(ctx, u, p.Purpose()); err != nil {
		r.fail(err)
	}
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
	if err := r.login(ctx); err != nil {
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
	if err := r.gate.SignHead(); err != nil {
		r.fail(err)
	}
	if r.commits != nil {
		r.commits.close()
	}
	return r.report(ctx), r.outcome(ctx)
}

// open prepares the frontier: it restores the stored state, and queues the seeds and the URLs of Config.Since.
func (r *run) open(ctx context.Context) error {
	if r.checkpoint != nil {
		was, err := r.checkpoint.resume(ctx, r.output)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrResume, err)
		}
		r.budget.spend(was.Report.Pages)
		if err := r.renders.resume(ctx, time.Now()); err != nil {
			return fmt.Errorf("%w: the pages that wait to be rendered: %w", ErrResume, err)
		}
		if was.Report.Bytes > 0 || len(was.Report.Statuses) > 0 {
			r.unanswered.hear()
		}
	}
	seeds, err := r.addSeeds(ctx)
	if err != nil {
		return err
	}
	past, err := r.addPast(ctx)
	if err != nil || r.checkpoint == nil {
		return err
	}
	return r.checkpoint.keepRules(ctx, r.cfg.rulebook(), seeds+past == 0 && r.left() == 0)
}

// addSeeds queues the seeds and returns the number of new ones.
func (r *run) addSeeds(ctx context.Context) (added int, err error) {
	if r.sampler != nil {
		return r.frontier.Add(ctx, r.entries()...)
	}
	queue := make([]frontier.Request, len(r.seeds))
	for i, u := range r.seeds {
		queue[i] = frontier.Request{URL: u, Kind: frontier.KindSeed, Priority: r.judge.priorities.of(u)}
		if i < len(r.cfg.Seeds) {
			s := &r.cfg.Seeds[i]
			queue[i].Priority, queue[i].Score, queue[i].Meta = or(s.Priority, queue[i].Priority), s.Score, s.Meta
		}
	}
	return r.frontier.Add(ctx, queue...)
}

// leave closes the connections to a host that has no URLs left. While URLs are left, connections stay open, even during its pauses.
func (r *run) leave(host string) {
	if r.frontier.HostPending(host) == 0 {
		r.fetcher.CloseIdle(host)
	}
}

// report completes and returns the Report, after all workers have ended.
func (r *run) report(ctx context.Context) *Report {
	left := r.left()
	rep := r.tally.report(time.Now(), r.finished(ctx, r.budget.exhausted() && left > 0), left)
	rep.Stopped = r.reason()
	rep.Bound.Duration, rep.BoundBy = r.bound.least()
	rep.Rejected = rep.Links[FateFull]
	if r.frontier != nil {
		rep.Rejected += r.frontier.Stats().Rejected
	}
	rep.Overrides = r.cfg.Politeness.Overrides
	rep.Unmet = r.hosts.unmet()
	rep.Draws = r.sampler.draws()
	return rep
}

// left returns the number of known URLs that are not done.
func (r *run) left() int {
	n := r.frontier.Stats()
	return n.Queued + n.Waiting + n.Claimed
}

// checkSeeds returns an error for each URL in Config.Seeds that is invalid, with its field.
func checkSeeds(seeds []Request) error {
	var errs []error
	for i, q := range seeds {
		if _, err := weburl.Parse(q.URL); err != nil {
			errs = append(errs, &ConfigError{fmt.Sprintf("Seeds[%d].URL", i), "is not a URL to crawl: " + err.Error(), err})
		}
	}
	return errors.Join(errs...)
}

// seedURLs returns the URLs of requests, followed by those in plain.
func seedURLs(requests []Request, plain []string) []string {
	all := make([]string, 0, len(requests)+len(plain))
	for _, q := range requests {
		all = append(all, q.URL)
	}
	return append(all, plain...)
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
			err = fmt.Errorf("longer than %d bytes", maxLen)
		}
		if err != nil {
			errs = append(errs, &SeedError{Seed: s, Err: err})
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(errs...)
}

// allLoopback reports whether all seeds are on loopback. If so, no request leaves this machine, and Contact may be empty.
func allLoopback(seeds []weburl.URL) bool {
	for _, u := range seeds {
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}

// ending decides how a run ends. The first reason to stop claiming URLs is kept.
type ending struct {
	claims     context.Context // canceled when claims must stop
	stopClaims context.CancelCauseFunc

	mu          sync.Mutex
	finish      Finish
	why         string // reason that a Handler gave with StopBecause; with FinishDrained
	err         error
	unreachable *UnreachableError // with FinishUnreachable
}

var errDrain = errors.New("crawler: draining")

// begin creates the context for claiming URLs and returns the function that cancels it. Drain may have been called already.
func (e *ending) begin(ctx context.Context) context.CancelCauseFunc {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claims, e.stopClaims = context.WithCancelCause(ctx)
	if e.finish != "" {
		e.stopClaims(errDrain)
	}
	return e.stopClaims
}

// drain stops the claiming of URLs. Only the reason of the first call is kept.
func (e *ending) drain(why Finish) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finish == "" {
		e.finish = why
	}
	if e.stopClaims != nil {
		e.stopClaims(errDrain)
	}
}

// stop drains the crawl because a Handler asked for it, with a reason that may be "".
func (e *ending) stop(why string) {
	e.mu.Lock()
	if e.finish == "" {
		e.why = why
	}
	e.mu.Unlock()
	e.drain(FinishDrained)
}

// reason returns the reason that a Handler gave for stopping the crawl. It returns "" if the crawl ended for another reason.
func (e *ending) reason() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finish != FinishDrained || e.err != nil {
		return ""
	}
	return e.why
}

// fail ends the crawl because one of its parts failed.
func (e *ending) fail(err error) {
	e.mu.Lock()
	if e.err == nil {
		e.err = err
	}
	e.mu.Unlock()
	e.drain(FinishError)
}

// giveUp ends the crawl because no host has ever responded.
func (e *ending) giveUp(err *UnreachableError) {
	e.mu.Lock()
	if e.finish == "" {
		e.unreachable = err
	}
	e.mu.Unlock()
	e.drain(FinishUnreachable)
}

// finished returns the reason for the end of the crawl, after all workers have ended. cut reports whether URLs are left because of the
// page limit.
func (e *ending) finished(ctx context.Context, cut bool) Finish {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return FinishError
	case e.finish != "":
		return e.finish
	case ctx.Err() != nil:
		return FinishCanceled
	case cut:
		return FinishPages
	}
	return FinishDone
}

// outcome returns the error with which Run returns.
func (e *ending) outcome(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return e.err
	case e.unreachable != nil:
		return e.unreachable
	case e.finish == "":
		return context.Cause(ctx)
	}
	return nil
}
