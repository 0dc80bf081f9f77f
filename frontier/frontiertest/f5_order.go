package frontiertest

import (
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

// inOrder checks that these URLs are claimed next, in this order, and settles them.
func (k *kit) inOrder(hostPaths ...string) {
	k.Helper()
	for _, p := range hostPaths {
		k.done(k.claimOf(p))
	}
}

func (k *kit) prioritised(hostPath string, priority int8) frontier.Request {
	return frontier.Request{URL: k.page(hostPath), Priority: priority}
}

func priorityThenArrival(k *kit) {
	k.add(6,
		k.prioritised("a/0-1", 0), k.prioritised("a/low", -128), k.prioritised("a/0-2", 0),
		k.prioritised("a/high", 127), k.prioritised("a/-1", -1), k.prioritised("a/1", 1))
	k.add(1, k.prioritised("a/0-3", 0))
	k.inOrder("a/high", "a/1")
	k.add(2, k.prioritised("a/0-4", 0), k.prioritised("a/2", 2))
	k.inOrder("a/2", "a/0-1", "a/0-2", "a/0-3", "a/0-4", "a/-1", "a/low")
	k.drained()

	// There are so many that a store must write some of them to disk.
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("b/%d", i))
	}
	k.add(300, k.pages(many...)...)
	k.inOrder(many[:100]...)
	k.add(1, k.prioritised("b/first", 1))
	k.inOrder("b/first")
	k.inOrder(many[100:]...)
	k.drained()
}

func againKeepsArrival(k *kit) {
	k.add(4, k.pages("a/1", "a/2", "a/3", "a/4")...)
	again := frontier.Settlement{Again: &frontier.Again{}}
	k.settle(k.claimOf("a/1"), again)
	k.add(1, k.pages("a/5")...)
	k.settle(k.claimOf("a/1"), again)
	k.inOrder("a/1", "a/2")
	k.settle(k.claimOf("a/3"), again)
	k.add(1, k.prioritised("a/urgent", 1))
	k.inOrder("a/urgent", "a/3", "a/4", "a/5")
	k.drained()
}

// retryArrivesAnew checks that URLs that fail do not delay URLs that have not been tried.
func retryArrivesAnew(k *kit) {
	retry := frontier.Settlement{Again: &frontier.Again{Retry: true}}
	k.add(4, k.pages("a/1", "a/2", "a/3", "a/4")...)
	k.add(1, k.prioritised("a/low", -1))
	k.settle(k.claimOf("a/1"), frontier.Settlement{Again: retry.Again, Links: k.pages("a/5")}) // a/1 is queued before its links
	k.settle(k.claimOf("a/2"), retry)
	k.settle(k.claimOf("a/3"), frontier.Settlement{Again: &frontier.Again{}}) // a postponed URL keeps its place
	k.inOrder("a/3", "a/4")
	k.settle(k.claimOf("a/1"), retry)
	k.add(1, k.pages("a/6")...)
	k.add(1, k.prioritised("a/high", 1))
	k.settle(k.claimOf("a/high"), retry) // after other URLs with the same priority
	k.inOrder("a/high", "a/5", "a/2", "a/1", "a/6", "a/low")
	k.drained()

	// b/1 is the only URL of its priority; more of them arrive later.
	k.add(1, k.pages("b/1")...)
	k.settle(k.claimOf("b/1"), retry)
	k.add(2, k.pages("b/2", "b/3")...)
	k.settle(k.claimOf("b/1"), frontier.Settlement{Again: &frontier.Again{}})
	k.inOrder("b/1", "b/2", "b/3")
	k.drained()

	// There are so many that a store must write some of them to disk.
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("c/%d", i))
	}
	k.add(200, k.pages(many...)...)
	for i, p := range many[:100] {
		s := retry
		if i%2 == 0 {
			s.Again = &frontier.Again{Retry: true, NotBefore: in(k.step)}
		}
		k.settle(k.claimOf(p), s)
	}
	k.pause(2 * k.step)
	k.add(1, k.pages("c/new")...)
	k.inOrder(many[100:]...)
	k.inOrder(many[:100]...)
	k.inOrder("c/new")
	k.drained()
}

func notBeforeKeepsArrival(k *kit) {
	k.add(5, k.pages("a/1", "a/2", "a/3", "a/4", "a/5")...)
	until := in(3 * k.step)
	for _, p := range []string{"a/1", "a/2", "a/3"} { // the URL that arrived last becomes claimable first
		until = until.Add(-k.step / 2)
		k.settle(k.claimOf(p), frontier.Settlement{Again: &frontier.Again{NotBefore: until, Retry: p == "a/2"}}) // a/2 arrives anew
	}
	a := k.claimOf("a/4")
	k.pause(3 * k.step)
	k.add(1, k.pages("a/6")...)
	k.done(a)
	k.inOrder("a/1", "a/3", "a/5", "a/2", "a/6")

	k.add(2, k.pages("b/1", "b/2")...)
	soon, later := in(k.step), in(2*k.step)
	k.settle(k.claimOf("b/1"), frontier.Settlement{Again: &frontier.Again{NotBefore: soon}})
	k.settle(k.claimOf("b/2"), frontier.Settlement{Again: &frontier.Again{NotBefore: later}})
	k.settle(k.claimOf("b/1"), frontier.Settlement{Again: &frontier.Again{NotBefore: later}}) // the last to be back
	k.pause(3 * k.step)
	k.inOrder("b/1", "b/2")
	k.drained()
}

func (k *kit) deep(hostPath string, depth int) frontier.Request {
	return frontier.Request{URL: k.page(hostPath), Depth: depth}
}

func smallerDepthWins(k *kit) {
	k.add(1, k.deep("a/1", 9))
	k.add(0, k.deep("a/1", 5))
	k.add(0, k.deep("a/1", 7))
	k.add(1, k.deep("a/2", 4))
	k.add(1, k.deep("b/1", 100_000), k.deep("b/1", 20_000), k.deep("b/1", 30_000))
	c := k.depthOf("a/1", 5)
	k.depthOf("b/1", 20_000)
	k.add(0, k.deep("a/1", 1)) // a/1 is claimed: the holder uses the depth that it got
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(k.step)}, Links: []frontier.Request{k.deep("a/2", 3)}})
	k.done(k.depthOf("a/2", 3))
	k.add(0, k.deep("a/1", 4), k.deep("a/1", 6)) // waiting
	c = k.depthOf("a/1", 4)
	k.settle(c, frontier.Settlement{Again: &frontier.Again{}})
	k.add(0, k.deep("a/1", 0))
	k.done(k.depthOf("a/1", 0))
}

func (k *kit) depthOf(hostPath string, want int) frontier.Claim {
	k.Helper()
	c := k.claimOf(hostPath)
	if c.Depth != want {
		k.Errorf("%v has depth %d, want %d", c.URL, c.Depth, want)
	}
	return c
}

func notBeforeReadyAt(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	a := k.claimOf("a/1")
	ready := in(4 * k.step)
	k.settle(a, frontier.Settlement{ReadyAt: ready})
	k.done(k.claimOf("b/1")) // other hosts do not wait
	k.none()
	k.add(1, k.pages("a/3")...) // another URL of the host does not make it ready
	k.none()
	a = k.claimOf("a/2")
	k.at(ready)
	k.done(a)
	k.done(k.claimOf("a/3")) // ready at once
	k.at(ready)
}

func readyAtOutlivesEmptyQueue(k *kit) {
	k.add(1, k.pages("a/1")...)
	ready := in(4 * k.step)
	k.settle(k.claim(), frontier.Settlement{ReadyAt: ready})
	k.drained()
	k.add(1, k.pages("a/2")...)
	k.none()
	k.add(1, k.pages("b/1")...)
	k.done(k.claimOf("b/1"))
	k.done(k.claimOf("a/2"))
	k.at(ready)
}

func notBeforeNotBefore(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	until := in(5 * k.step)
	k.settle(k.claimOf("a/1"), frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	// Both hosts are due; their order is not tested here, but for F6.
	for range 2 {
		k.done(k.claim()) // a/2 does not wait with a/1
	}
	k.none()
	k.done(k.claimOf("a/1"))
	k.at(until)

	k.add(1, k.pages("a/4")...)
	until, ready := in(2*k.step), in(4*k.step)
	k.settle(k.claim(), frontier.Settlement{ReadyAt: ready, Again: &frontier.Again{NotBefore: until}})
	k.done(k.claimOf("a/4"))
	k.at(ready) // both ReadyAt and NotBefore must have come
	k.drained()
}
