package frontiertest

import (
	"fmt"
	"slices"

	"github.com/amble-crawler/amble/frontier"
)

func earliestDueFirst(k *kit) {
	k.add(6, k.pages("a/1", "a/2", "b/1", "b/2", "c/1", "c/2")...)
	steps := map[string]int{"a.test:80": 3, "b.test:80": 1, "c.test:80": 2}
	for range 3 {
		c := k.claim()
		k.settle(c, frontier.Settlement{ReadyAt: in(k.steps(2 * steps[c.URL.Host()]))})
	}
	k.pause(8 * k.step)
	k.inOrder("b/2", "c/2", "a/2")
	k.drained()
}

func maxQueuedFirst(k *kit) {
	k.add(6, k.pages("a/1", "b/1", "b/2", "b/3", "c/1", "c/2")...)
	b := k.claimOf("b/1")
	c := k.claimOf("c/1")
	a := k.claimOf("a/1")
	ready := in(2 * k.step)
	for _, claim := range []frontier.Claim{a, b, c} {
		k.settle(claim, frontier.Settlement{ReadyAt: ready})
	}
	k.add(1, k.pages("a/2")...)
	k.add(3, k.pages("c/3", "c/4", "c/5")...) // now c has four URLs, b two, a one
	k.pause(3 * k.step)
	k.claimOf("c/2")
	k.claimOf("b/2")
	k.claimOf("a/2")
}

// noHostStarves checks that each host is served, although new hosts keep coming and one host is always ready and has endless URLs.
func noHostStarves(k *kit) {
	k.add(3, k.pages("busy/0", "busy/1", "busy/2")...)
	k.tick()
	k.add(1, k.pages("small/1")...)
	k.tick()
	var order []string
	for i := range 6 {
		c := k.claim()
		order = append(order, c.URL.Hostname())
		k.tick()
		k.settle(c, frontier.Settlement{Links: k.pages(fmt.Sprintf("busy/more%d", i), fmt.Sprintf("new%d/1", i))})
		k.tick()
	}
	busy := 0
	for _, h := range order {
		if h == "busy.test" {
			busy++
		}
	}
	if busy < 2 || !slices.Contains(order[:3], "small.test") {
		k.Errorf("served in this order: %v; want the busy host more than once, the small one among the first three", order)
	}
}

// newHostsTakeTurns checks that new hosts begin while others have pages ready, one new host after each page.
func newHostsTakeTurns(k *kit) {
	k.add(3, k.pages("old0/1", "old0/2", "old0/3")...)
	k.tick()
	k.add(3, k.pages("old1/1", "old1/2", "old1/3")...)
	begin := func(path string) {
		c := k.claimOf(path)
		k.settle(c, frontier.Settlement{ReadyAt: in(k.step)})
	}
	begin("old0/1")
	k.tick()
	begin("old1/1")
	for i := range 20 {
		k.add(1, k.pages(fmt.Sprintf("new%02d/1", i))...)
		k.tick() // so that each new host is due before the old hosts
	}
	k.pause(2 * k.step)
	k.inOrder("old0/2", "new00/1")
	k.tick()
	k.inOrder("old1/2", "new01/1", "old0/3", "new02/1", "old1/3")
	for i := 3; i < 20; i++ {
		k.inOrder(fmt.Sprintf("new%02d/1", i))
	}
	k.drained()
}

// newAgainWhenIdle checks that a host that had no pending URLs until its ReadyAt is treated like a host never seen.
func newAgainWhenIdle(k *kit) {
	k.add(2, k.pages("idle/1", "old/1")...)
	for range 2 {
		k.settle(k.claim(), frontier.Settlement{ReadyAt: in(k.step)})
	}
	k.add(1, k.pages("old/2")...)
	k.pause(2 * k.step)
	k.add(1, k.pages("idle/2")...)
	k.tick()
	k.add(3, k.pages("new/1", "old/3", "old/4")...)
	k.inOrder("old/2", "idle/2", "old/3", "new/1", "old/4")
	k.drained()
}

// tick lets a little time pass.
func (k *kit) tick() { k.pause(k.step / 50) }
