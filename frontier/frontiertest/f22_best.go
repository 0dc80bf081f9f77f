package frontiertest

import (
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

func (k *kit) scored(hostPath string, score float64) frontier.Request {
	return frontier.Request{URL: k.page(hostPath), Score: score}
}

func scoreThenArrival(k *kit) {
	k.add(8, k.scored("a/0-1", 0), k.scored("a/low", -1e9), k.scored("a/0.5", 0.5), k.scored("a/0-2", 0), k.prioritised("a/first", 1),
		k.scored("a/0.75", 0.75), k.scored("a/-0.5", -0.5), k.prioritised("a/last", -1))
	k.inOrder("a/first", "a/0.75")
	k.add(3, k.scored("a/0.5-2", 0.5), k.scored("a/0-3", 0), k.scored("a/high", 1e30))
	c := k.claimOf("a/high")
	if c.Score < 0.9999e30 || c.Score > 1.0001e30 {
		k.Errorf("score %v, want 1e30", c.Score)
	}
	k.settle(c, frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.inOrder("a/high")
	k.settle(k.claimOf("a/0.5"), frontier.Settlement{Again: &frontier.Again{Retry: true}}) // a/0.5 comes after the URL with the same score
	k.inOrder("a/0.5-2", "a/0.5", "a/0-1", "a/0-2", "a/0-3", "a/-0.5", "a/low", "a/last")
	k.drained()

	// So many that a store must write some of them to disk.
	for i := range 300 {
		k.add(1, k.scored(fmt.Sprintf("b/%d", i), float64(i)))
	}
	for i := range 300 {
		k.inOrder(fmt.Sprintf("b/%d", 299-i))
	}
	k.drained()
}

func higherScoreRaises(k *kit) {
	k.add(4, k.scored("a/1", 0.5), k.scored("a/2", 0), k.scored("a/3", -0.5), k.prioritised("a/4", -1))
	k.add(0, k.scored("a/1", 0.25), k.scored("a/2", -3)) // lower scores
	k.add(0, k.scored("a/3", 0.75), k.scored("a/4", 0.625))
	k.inOrder("a/3", "a/4", "a/1", "a/2")
	k.drained()
	k.add(1, k.scored("a/5", -0.5))
	k.add(1, k.scored("a/6", -0.25))
	k.add(0, k.link("a/5", 0, 0))
	k.inOrder("a/5", "a/6")
	k.drained()
}

// bestGoesFirst checks that of the hosts that are due the one with the best URL is served, however long other hosts have waited.
func bestGoesFirst(k *kit) {
	k.add(3, k.scored("a/1", 0.25), k.scored("b/1", 0.5), k.scored("b/2", 0.125))
	k.tick()
	k.add(3, k.scored("c/1", 0.75), k.prioritised("d/1", 1), k.scored("e/1", -0.5))
	k.inOrder("d/1", "c/1", "b/1", "a/1")
	c := k.claimOf("b/2")
	k.add(2, k.scored("b/3", 5), k.scored("f/1", -0.25)) // b is held
	k.settle(c, frontier.Settlement{Links: []frontier.Request{k.scored("e/2", 1)}})
	k.inOrder("b/3", "e/2", "f/1", "e/1")
	k.drained()
}

// bestKeepsTimes checks that scores decide which of the due hosts is served, but never when.
func bestKeepsTimes(k *kit) {
	k.add(3, k.scored("a/1", 9), k.scored("a/2", 9), k.scored("b/1", -9))
	c := k.claimOf("a/1")
	ready := in(k.steps(3) + k.opts.Patience)
	k.settle(c, frontier.Settlement{ReadyAt: ready})
	k.add(1, k.scored("a/3", 99))
	k.inOrder("b/1")
	k.done(k.claimOf("a/3"))
	k.at(ready)
	k.inOrder("a/2")
	k.drained()
}

// raisedCountsOnceAmongHosts checks that the stale entry of a raised URL does not raise the level of its host.
func raisedCountsOnceAmongHosts(k *kit) {
	k.add(4, k.link("a/1", 5, 1), k.link("a/2", 0, 1), k.link("b/1", 4, 1), k.link("b/2", 3, 1))
	k.add(0, k.link("a/1", 9, 1))
	k.inOrder("a/1", "b/1", "b/2", "a/2")
	k.drained()
}

func crashKeepsScores(k *kit) {
	k.durable()
	k.add(5, k.scored("a/1", 0.25), k.scored("a/2", 0.75), k.scored("b/1", 0.5), k.scored("b/2", -1), k.scored("c/1", 0))
	k.add(0, k.scored("b/2", 0.625))
	k.crashed()
	c := k.claimOf("a/2")
	if c.Score != 0.75 {
		k.Errorf("score %v, want 0.75", c.Score)
	}
	k.done(c)
	k.crashed()
	k.inOrder("b/2", "b/1", "a/1", "c/1")
	k.drained()
}

// betterIsWaitedFor checks that Claim waits for a host with a better URL that pauses or is held for no longer than Patience.
func betterIsWaitedFor(k *kit) {
	k.add(4, k.scored("a/1", 3), k.scored("a/2", 2), k.scored("a/3", 0.5), k.scored("b/1", 1))
	held := k.claimOf("a/1")
	waits := k.claiming(k.ctx, 1)
	k.blocked(waits) // b is due, and a has a better URL
	ready := in(k.opts.Patience)
	k.settle(held, frontier.Settlement{ReadyAt: ready})
	o := k.wait(waits)
	if o.err != nil || o.c.URL != k.page("a/2") {
		k.Fatalf("claimed %v, %v, want a/2", o.c.URL, o.err)
	}
	k.at(ready)
	k.settle(o.c, frontier.Settlement{ReadyAt: in(k.opts.Patience)})
	b := k.claimOf("b/1") // better than a/3
	k.settle(b, frontier.Settlement{Links: []frontier.Request{k.scored("b/2", 0.25), k.scored("a/4", 4)}})
	k.settle(k.claimOf("a/4"), frontier.Settlement{ReadyAt: in(k.opts.Patience + k.step)})
	k.done(k.claimOf("b/2")) // host a becomes ready too late to wait for it
	k.inOrder("a/3")

	k.add(3, k.scored("a/5", 2), k.scored("a/6", 2), k.scored("b/3", 1))
	held = k.claimOf("a/5")
	began := in(0)
	k.done(k.claimOf("b/3")) // a is held for too long
	k.at(began.Add(k.opts.Patience))
	k.done(held)
	k.inOrder("a/6")
	k.drained()
}

// claimedIsWaitedFor checks that Claim waits for a host as long as a better URL of it is claimed, even if the host has no other URL: the
// page may have links as good.
func claimedIsWaitedFor(k *kit) {
	k.add(1, k.scored("a/1", 2))
	held := k.claimOf("a/1")
	k.add(2, k.scored("b/1", 1), k.scored("c/1", 2))
	k.inOrder("c/1") // c/1 is as good as a/1
	waits := k.claiming(k.ctx, 1)
	k.blocked(waits)
	k.settle(held, frontier.Settlement{Links: []frontier.Request{k.scored("a/2", 2)}})
	o := k.wait(waits)
	if o.err != nil || o.c.URL != k.page("a/2") {
		k.Fatalf("claimed %v, %v, want a/2", o.c.URL, o.err)
	}
	began := in(0)
	k.done(k.claimOf("b/1")) // a/2 stays claimed for too long to wait for its host
	k.at(began.Add(k.opts.Patience))
	k.done(o.c)
	k.drained()
}
