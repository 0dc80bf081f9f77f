package frontiertest

import (
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

func urlHasOneHolder(k *kit) {
	const n = 20
	for i := range n {
		k.add(1, k.pages(fmt.Sprintf("h%d/1", i))...)
	}
	out := k.claiming(k.ctx, n+5)
	holder := map[string]frontier.Claim{}
	ids := map[uint64]bool{}
	for range n {
		o := k.wait(out)
		if o.err != nil {
			k.Fatalf("Claim: %v", o.err)
		}
		if _, twice := holder[o.c.URL.String()]; twice {
			k.Fatalf("%v has two holders", o.c.URL)
		}
		if ids[o.c.ID] {
			k.Fatalf("two claims have ID %d", o.c.ID)
		}
		holder[o.c.URL.String()], ids[o.c.ID] = o.c, true
	}
	k.blocked(out)
	for _, c := range holder {
		k.done(c)
	}
}

func hostHasOneHolder(k *kit) {
	k.add(4, k.pages("a/1", "a/2", "b/1", "a/3")...)
	a, b := k.claimOf("a/1"), k.claimOf("b/1")
	k.none()
	k.add(1, k.pages("a/4")...)
	k.none()
	k.done(b)
	k.none()
	for _, next := range []string{"a/2", "a/3", "a/4"} {
		k.done(a)
		a = k.claimOf(next)
		k.none()
	}
	k.done(a)
	k.drained()
}

func hostHasConfiguredHolders(k *kit) {
	n := k.opts.Slots
	if n < 2 {
		k.Skipf("Options.Slots: the stores allow one holder a host")
	}
	held := map[uint64]frontier.Claim{}
	for i := range n + 2 {
		k.add(1, k.pages(fmt.Sprintf("wide/%d", i))...)
	}
	for i := range n {
		c := k.claimOf(fmt.Sprintf("wide/%d", i))
		held[c.ID] = c
	}
	if len(held) != n {
		k.Fatalf("%d claim IDs for %d claims", len(held), n)
	}
	k.none()
	for id := range held {
		k.done(held[id])
		break
	}
	last := k.claimOf(fmt.Sprintf("wide/%d", n))
	k.none()
	later := in(3 * k.step)
	k.settle(last, frontier.Settlement{ReadyAt: later})
	for id := range held { // what the others say does not shorten that wait
		_ = k.f.Settle(k.ctx, held[id], frontier.Settlement{})
	}
	k.claimOf(fmt.Sprintf("wide/%d", n+1))
	k.at(later)
}
