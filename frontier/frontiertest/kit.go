package frontiertest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// tb is the part of testing.TB that the checks use, so that the suite's own tests can observe failing checks.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// kit is a store under test, with functions that check it.
type kit struct {
	tb
	opts          Options
	f             frontier.Frontier
	crash, reopen func(frontier.Frontier) frontier.Frontier

	ctx    context.Context // canceled by close
	cancel context.CancelFunc
	calls  sync.WaitGroup
	step   time.Duration // long enough to distinguish times
	limit  time.Duration // more than enough time for everything that must happen
}

func newKit(t tb, opts Options, f frontier.Frontier) *kit {
	ctx, cancel := context.WithCancel(context.Background())
	k := &kit{tb: t, opts: opts, f: f, ctx: ctx, cancel: cancel, step: time.Second / 2, limit: time.Minute}
	if opts.Virtual {
		k.step, k.limit = time.Second, 24*time.Hour
	}
	return k
}

// close ends the store and waits for all calls on it.
func (k *kit) close() {
	k.cancel()
	if err := k.f.Close(); err != nil && !errors.Is(err, frontier.ErrClosed) {
		k.Errorf("Close: %v", err)
	}
	k.calls.Wait()
}

// page returns the URL of a host and path: "a/1" stands for http://a.test/1.
func (k *kit) page(hostPath string) weburl.URL {
	for i, c := range hostPath {
		if c == '/' {
			hostPath = hostPath[:i] + ".test" + hostPath[i:]
			break
		}
	}
	u, err := weburl.Parse("http://" + hostPath)
	if err != nil {
		k.Fatalf("parse %q: %v", hostPath, err)
	}
	return u
}

// pages returns Requests that have only these URLs.
func (k *kit) pages(hostPaths ...string) []frontier.Request {
	rs := make([]frontier.Request, len(hostPaths))
	for i, p := range hostPaths {
		rs[i].URL = k.page(p)
	}
	return rs
}

// add adds rs and checks the returned number.
func (k *kit) add(want int, rs ...frontier.Request) {
	k.Helper()
	n, err := k.f.Add(k.ctx, rs...)
	if err != nil || n != want {
		k.Fatalf("Add of %d: %d added, %v; want %d", len(rs), n, err, want)
	}
}

// claim waits for the next claim and returns it.
func (k *kit) claim() frontier.Claim {
	k.Helper()
	o := k.try(k.limit)
	if o.err != nil {
		k.Fatalf("Claim: %v", o.err)
	}
	return o.c
}

// claimOf waits for the next claim, which must be of this URL, and returns it.
func (k *kit) claimOf(hostPath string) frontier.Claim {
	k.Helper()
	c := k.claim()
	if want := k.page(hostPath); c.URL != want {
		k.Fatalf("claimed %v, want %v", c.URL, want)
	}
	return c
}

// none checks that nothing can be claimed for a while, although the store is not drained.
func (k *kit) none() {
	k.Helper()
	o := k.try(k.step)
	if !errors.Is(o.err, context.DeadlineExceeded) {
		k.Fatalf("Claim: %v, %v; want none before its context ends", o.c.URL, o.err)
	}
}

// claimAfter checks that nothing can be claimed until a time, although the store is not drained, and returns the next claim. On a slow
// machine the time may have passed before the first check.
func (k *kit) claimAfter(until time.Time) frontier.Claim {
	k.Helper()
	o := k.try(k.step)
	if o.err == nil && !time.Now().Before(until) {
		return o.c
	}
	if !errors.Is(o.err, context.DeadlineExceeded) {
		k.Fatalf("Claim: %v, %v; want none before its context ends", o.c.URL, o.err)
	}
	return k.claim()
}

// drained checks that Claim returns ErrDrained.
func (k *kit) drained() {
	k.Helper()
	if o := k.try(k.limit); !errors.Is(o.err, frontier.ErrDrained) {
		k.Fatalf("Claim: %v, %v; want ErrDrained", o.c.URL, o.err)
	}
}

func (k *kit) settle(c frontier.Claim, s frontier.Settlement) {
	k.Helper()
	if err := k.f.Settle(k.ctx, c, s); err != nil {
		k.Fatalf("Settle of %v: %v", c.URL, err)
	}
}

// done settles a claim for good. Its host is ready at once.
func (k *kit) done(c frontier.Claim) {
	k.Helper()
	k.settle(c, frontier.Settlement{})
}

// finishAll settles all URLs and returns their number.
func (k *kit) finishAll() (n int) {
	k.Helper()
	for {
		o := k.try(k.limit)
		if errors.Is(o.err, frontier.ErrDrained) {
			return n
		}
		if o.err != nil {
			k.Fatalf("Claim: %v", o.err)
		}
		n++
		k.done(o.c)
	}
}

// outcome holds the results of a Claim.
type outcome struct {
	c   frontier.Claim
	err error
}

func (k *kit) try(limit time.Duration) outcome {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.ctx, limit)
	defer cancel()
	return k.wait(k.claiming(ctx, 1))
}

// claiming starts n concurrent calls of Claim and returns their outcomes.
func (k *kit) claiming(ctx context.Context, n int) <-chan outcome {
	out := make(chan outcome, n)
	for range n {
		k.calls.Go(func() {
			c, err := k.f.Claim(ctx)
			out <- outcome{c, err}
		})
	}
	return out
}

// wait returns the next outcome; a Claim that does not return fails the test instead of hanging it.
func (k *kit) wait(out <-chan outcome) outcome {
	k.Helper()
	t := time.NewTimer(2 * k.limit)
	defer t.Stop()
	select {
	case o := <-out:
		return o
	case <-t.C:
		k.Fatalf("Claim did not return")
		return outcome{}
	}
}

// blocked checks that no Claim returns within the time that one would need.
func (k *kit) blocked(out <-chan outcome) {
	k.Helper()
	if k.opts.Virtual {
		synctest.Wait()
	} else {
		k.pause(k.step)
	}
	select {
	case o := <-out:
		k.Fatalf("Claim: %v, %v; want it blocked", o.c.URL, o.err)
	default:
	}
}

// pause lets time pass.
func (k *kit) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

func (k *kit) steps(n int) time.Duration { return time.Duration(n) * k.step }

// at checks that the time is want, or later if times are not exact.
func (k *kit) at(want time.Time) {
	k.Helper()
	late := time.Since(want)
	if late < 0 || k.opts.Virtual && late > 0 {
		k.Fatalf("it is %v after the time it should be", late)
	}
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func statsCount(k *kit) {
	k.stats(frontier.Stats{})
	k.add(4, k.pages("a/1", "a/2", "b/1", "a/1", "b/2")...)
	k.stats(frontier.Stats{Queued: 4, Hosts: 2})
	a, b := k.claim(), k.claim()
	k.stats(frontier.Stats{Queued: 2, Claimed: 2, Hosts: 2})
	k.settle(a, frontier.Settlement{Links: k.pages("c/1", "a/1")})
	k.stats(frontier.Stats{Queued: 3, Claimed: 1, Done: 1, Hosts: 3})
	until := in(3 * k.step)
	k.settle(b, frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	k.stats(frontier.Stats{Queued: 3, Waiting: 1, Done: 1, Hosts: 3})
	for range 3 {
		k.done(k.claim())
	}
	k.stats(frontier.Stats{Waiting: 1, Done: 4, Hosts: 1})
	k.pause(4 * k.step)
	k.stats(frontier.Stats{Queued: 1, Done: 4, Hosts: 1})
	k.done(k.claim())
	k.stats(frontier.Stats{Done: 5})
}

func (k *kit) stats(want frontier.Stats) {
	k.Helper()
	if got := k.f.Stats(); got != want {
		k.Errorf("Stats %+v, want %+v", got, want)
	}
}

// compareKnown checks the results of Known and HostPending for Requests that are about to be added. A store may forget URLs, but
// every URL that it reports must be known.
func (r *run) compareKnown(rs []frontier.Request) {
	for _, q := range rs {
		e := r.m.urls[q.URL.Key()]
		known := []bool{true}
		r.f.Known([]weburl.Key{q.URL.Key()}, q.Depth, q.Priority, known)
		if known[0] && q.Score == 0 && r.m.changes(e, q) { // Known ignores scores
			r.fail("%s is said to be known, and adding it would change something", name(q))
		}
		want := 0
		if h := r.m.hosts[q.URL.Host()]; h != nil {
			want = len(h.entries) - h.count(stateDone)
		}
		if got := r.f.HostPending(q.URL.Host()); got != want {
			r.fail("%d URLs of %s are said to be pending, want %d", got, q.URL.Host(), want)
		}
	}
}

// changes reports whether adding q, a Request for e's URL, would change anything.
func (m *model) changes(e *entry, q frontier.Request) bool {
	return e == nil || (e.state == stateQueued || e.state == stateWaiting) && q.Depth < e.req.Depth || m.raises(e, q)
}

func knownIsKnown(k *kit) {
	k.add(2, k.deep("a/1", 3), k.deep("a/2", 3))
	keys := []weburl.Key{k.page("a/1").Key(), k.page("a/2").Key(), k.page("a/3").Key(), {}}
	check := func(depth int, may ...bool) {
		k.Helper()
		known := []bool{true, true, true, true}
		k.f.Known(keys, depth, 0, known)
		for i := range known {
			if known[i] && !may[i] {
				k.Errorf("URL %d at depth %d is said to be known", i, depth)
			}
		}
	}
	check(3, true, true, false, false)
	check(2, false, false, false, false)
	k.done(k.claimOf("a/1"))
	check(2, true, false, false, false)
	check(9, true, true, false, false)
	if got := [2]int{k.f.HostPending("a.test:80"), k.f.HostPending("b.test:80")}; got != [2]int{1, 0} {
		k.Errorf("pending of two hosts: %d, want [1 0]", got)
	}
}
