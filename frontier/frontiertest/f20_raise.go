package frontiertest

import (
	"fmt"
	"math"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// link returns a Request that has only the information of a link.
func (k *kit) link(hostPath string, priority int8, depth int) frontier.Request {
	return frontier.Request{
		URL: k.page(hostPath), Priority: priority, Depth: depth, Kind: frontier.KindAnchor,
		Via: k.page(fmt.Sprintf("via/%d", priority)), Queued: time.Unix(int64(1000+int(priority)), 0),
	}
}

// raise adds q, whose URL is queued at a lower priority.
func (k *kit) raise(q frontier.Request) {
	k.Helper()
	told := []bool{true}
	if k.f.Known([]weburl.Key{q.URL.Key()}, q.Depth, q.Priority, told); told[0] {
		k.Errorf("%s is said to be known, and it raises its URL", name(q))
	}
	k.add(0, q)
}

func higherPriorityRaises(k *kit) {
	k.add(5, k.link("a/1", 0, 1), k.link("a/2", 0, 1), k.link("a/3", 5, 1), k.link("a/4", 7, 1), k.link("a/low", -3, 1))
	k.raise(k.link("a/2", 5, 9))    // a/2 comes after a/3, which arrived before
	k.add(0, k.link("a/3", 4, 0))   // a lower priority: only the depth counts
	k.raise(k.link("a/low", -1, 1)) // a/low still comes after URLs without priority
	k.raise(k.link("a/low", 0, 1))  // now a/low is in order of arrival with URLs without priority
	k.add(0, k.link("a/4", math.MinInt8, 1))
	k.stats(frontier.Stats{Queued: 5, Hosts: 1}) // a raised URL is not another URL
	for _, want := range []frontier.Request{
		k.link("a/4", 7, 1), k.link("a/3", 5, 0), k.link("a/2", 5, 1), k.link("a/1", 0, 1), k.link("a/low", 0, 1),
	} {
		c := k.claim()
		k.same(c.Request, want)
		k.done(c)
	}
	k.drained()
}

// raisedIsClaimedOnce checks that the earlier entry of a raised URL is never claimed, even if the store keeps it.
func raisedIsClaimedOnce(k *kit) {
	k.add(3, k.link("a/1", 0, 1), k.link("a/2", 0, 1), k.link("a/3", 0, 1))
	k.raise(k.link("a/2", 3, 1))
	k.raise(k.link("a/2", 9, 1))
	c := k.claimOf("a/2")
	k.add(0, k.link("a/2", 100, 1)) // a/2 is claimed: the holder keeps the depth that it got
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(k.step)}, Links: []frontier.Request{k.link("a/3", 8, 1)}})
	k.inOrder("a/3", "a/1") // a/2 waits
	k.pause(2 * k.step)
	c = k.claimOf("a/2")
	if c.Priority != 9 {
		k.Errorf("priority %d, want 9", c.Priority)
	}
	k.settle(c, frontier.Settlement{Again: &frontier.Again{Retry: true}})
	c = k.claimOf("a/2")
	if c.Priority != 9 || c.Attempt != 1 {
		k.Errorf("priority %d and attempt %d, want 9 and 1", c.Priority, c.Attempt)
	}
	k.done(c)
	k.add(0, k.link("a/2", 120, 0)) // done
	k.drained()
	k.add(1, k.link("a/4", 0, 1)) // the host is used again
	k.inOrder("a/4")
	k.drained()
}

// moreThanALinkStays checks that a later Request does not remove information that only the earlier one has.
func moreThanALinkStays(k *kit) {
	full, seed, sitemap := k.full("a/full"), k.link("a/seed", 1, 1), k.link("a/map", 1, 1)
	full.Priority, seed.Kind, sitemap.Kind = 1, frontier.KindSeed, frontier.KindSitemap
	k.add(4, full, seed, sitemap, k.link("a/plain", 0, 1))
	more := k.full("a/plain")
	more.Priority, more.Depth = 50, 1
	k.add(0, k.link("a/full", 100, full.Depth), k.link("a/seed", 100, 1), k.link("a/map", 100, 1), more)
	for _, want := range []frontier.Request{full, seed, sitemap, k.link("a/plain", 0, 1)} {
		c := k.claim()
		k.same(c.Request, want)
		k.done(c)
	}
	k.drained()
}

// manyAreRaised raises more URLs than a store keeps in memory, each several times, beginning with the last one of the queue.
func manyAreRaised(k *kit) {
	const urls = 200
	for i := range urls {
		k.add(1, k.link(fmt.Sprintf("a/%d", i), 0, 1))
	}
	k.inOrder("a/0", "a/1")
	for _, p := range []int8{1, 5, 9} {
		for i := urls - 1; i >= 2; i-- {
			k.add(0, k.link(fmt.Sprintf("a/%d", i), p-int8(i%2), 1)) // the priority of odd numbers is lower by one
		}
	}
	for i := urls - 2; i >= 2; i -= 2 {
		k.inOrder(fmt.Sprintf("a/%d", i))
	}
	k.add(1, k.link("a/new", 0, 1))
	for i := urls - 1; i >= 3; i -= 2 {
		k.inOrder(fmt.Sprintf("a/%d", i))
	}
	k.inOrder("a/new")
	k.drained()
	k.stats(frontier.Stats{Done: urls + 1})
}

func crashKeepsRaised(k *kit) {
	k.durable()
	k.add(4, k.link("a/1", 0, 1), k.link("a/2", 0, 1), k.link("a/3", 0, 1), k.link("a/4", 2, 1))
	k.raise(k.link("a/3", 4, 1))
	k.raise(k.link("a/2", 6, 1))
	k.raise(k.link("a/2", 8, 1))
	k.crashed()
	out := k.claimOf("a/2")
	k.same(out.Request, k.link("a/2", 8, 1))
	k.crashed() // a/2 is claimed at the crash
	k.done(k.claimOf("a/2"))
	k.settle(k.claimOf("a/3"), frontier.Settlement{Again: &frontier.Again{Retry: true, NotBefore: in(k.step)}})
	k.crashed()
	k.pause(2 * k.step)
	k.inOrder("a/3", "a/4", "a/1")
	k.drained()
	k.stats(frontier.Stats{Done: 4})
	k.revive(1, k.link("a/2", 0, 3))
	k.raise(k.link("a/2", 1, 3))
	k.crashed()
	c := k.claimOf("a/2")
	k.same(c.Request, k.link("a/2", 1, 3))
	k.done(c)
	k.drained()
}
