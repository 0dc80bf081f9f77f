package frontiertest

import (
	"fmt"
	"runtime"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// crashed ends the store as a kill of its process would, and opens it again.
func (k *kit) crashed() {
	k.Helper()
	if k.crash == nil {
		k.Skipf("Options.Crash: the stores are not durable")
	}
	k.f = k.crash(k.f)
}

// crashesDuring crashes the store during a call, later in each round. It reports whether the call succeeded before the crash.
func (k *kit) crashesDuring(round int64, call func() error) (acknowledged bool) {
	k.Helper()
	answer := make(chan error, 1)
	k.calls.Go(func() { answer <- call() })
	for range round * round {
		runtime.Gosched()
	}
	select {
	case err := <-answer:
		acknowledged = err == nil
	default:
	}
	k.crashed()
	return acknowledged
}

func crashKeepsAdded(k *kit) {
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("a/%d", i))
	}
	k.add(40, k.pages(all...)...)
	k.crashed()
	full := k.full("b/1")
	k.add(2, full, k.prioritised("a/first", 1))
	k.crashed()
	k.add(0, k.pages(all...)...)
	k.add(0, full)
	c := k.claim()
	if c.URL == full.URL {
		k.same(c.Request, full)
		k.done(c)
		c = k.claim()
	} else {
		defer func() { k.same(k.claimOf("b/1").Request, full) }()
	}
	if c.URL != k.page("a/first") {
		k.Errorf("claimed %v, want the one of the highest priority", c.URL)
	}
	k.done(c)
	k.onHost("a.test", all...)
}

// onHost checks that these URLs are the next claims of the host, and settles them.
func (k *kit) onHost(hostname string, hostPaths ...string) {
	k.Helper()
	var others []frontier.Claim
	for _, p := range hostPaths {
		c := k.claim()
		if c.URL.Hostname() != hostname {
			others = append(others, c)
			c = k.claim()
		}
		if c.URL != k.page(p) {
			k.Fatalf("claimed %v, want %s", c.URL, p)
		}
		k.done(c)
	}
	for _, c := range others {
		k.settle(c, frontier.Settlement{Again: &frontier.Again{}})
	}
}

func crashKeepsSettled(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "a/3")...)
	k.done(k.claimOf("a/1"))
	k.settle(k.claimOf("a/2"), frontier.Settlement{Links: k.pages("a/4")})
	k.settle(k.claimOf("a/3"), frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.crashed()
	k.add(0, k.pages("a/1", "a/2", "a/3", "a/4")...)
	k.inOrder("a/4")
	if c := k.claimOf("a/3"); c.Attempt != 1 {
		k.Errorf("attempt %d after the crash, want 1", c.Attempt)
	} else {
		k.done(c)
	}
	k.drained()
	k.crashed()
	k.drained()
	k.add(0, k.pages("a/1", "a/2", "a/3", "a/4")...)
}

func crashReturnsClaims(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	a, b := k.claim(), k.claim()
	k.crashed()
	k.lost(a)
	k.lost(b)
	seen := map[string]bool{}
	for range 2 {
		c := k.claim()
		seen[c.URL.String()] = true
		if c.Attempt != 0 {
			k.Errorf("attempt %d, want 0: a lost claim does not count", c.Attempt)
		}
		k.lost(a)
		k.lost(b)
		defer k.done(c)
	}
	if !seen[a.URL.String()] || !seen[b.URL.String()] {
		k.Errorf("claimed %v after the crash, want %v and %v", seen, a.URL, b.URL)
	}
}

func crashKeepsTimes(k *kit) {
	k.add(4, k.pages("a/1", "a/2", "b/1", "c/1")...)
	ready, until := in(6*k.step+k.opts.ReopenDelay), in(9*k.step+k.opts.ReopenDelay)
	settled := map[string]frontier.Settlement{
		"a.test": {ReadyAt: ready},
		"b.test": {Again: &frontier.Again{NotBefore: until, Retry: true}},
		"c.test": {ReadyAt: ready},
	}
	for range 3 {
		c := k.claim()
		k.settle(c, settled[c.URL.Hostname()])
	}
	k.crashed()
	k.add(2, k.pages("c/2", "d/1")...)
	k.done(k.claimOf("d/1"))
	k.none()
	for range 2 { // a and c, due at the same time
		k.done(k.claim())
		k.atLeast(ready)
	}
	if c := k.claimOf("b/1"); c.Attempt != 1 {
		k.Errorf("attempt %d after the crash, want 1", c.Attempt)
	}
	k.atLeast(until)

	k.add(1, k.pages("e/1")...)
	k.claimOf("e/1")
	k.crashed()
	opened := time.Now()
	k.claim() // requests in flight are repeated as late as if they had ended at the crash
	k.atLeast(opened.Add(k.opts.ReopenDelay))
}

func (k *kit) atLeast(t time.Time) {
	k.Helper()
	if early := time.Until(t); early > 0 {
		k.Fatalf("claimed %v too early", early)
	}
}

// reopened closes the store and opens it again.
func (k *kit) reopened() {
	k.Helper()
	if k.reopen == nil {
		k.crashed()
		return
	}
	k.f = k.reopen(k.f)
}

func reopenKeepsAll(k *kit) {
	k.add(5, k.pages("a/1", "a/2", "a/3", "b/1", "c/1")...)
	k.done(k.claimOf("a/1"))
	for range 3 { // one URL of each host; b's URL waits, the others stay claimed
		c := k.claim()
		if c.URL.Hostname() == "b.test" {
			k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(5 * k.step)}})
		}
	}
	before := k.f.Stats()
	k.reopened()
	want := before
	want.Queued, want.Claimed = before.Queued+before.Claimed, 0
	if got := k.f.Stats(); got != want {
		k.Errorf("Stats %+v, want %+v", got, want)
	}
	for range want.Queued + want.Waiting {
		k.done(k.claim())
	}
	k.drained()
}
