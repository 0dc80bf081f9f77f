package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

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
	for id := range held { // the ReadyAt of the other claims does not shorten the wait
		_ = k.f.Settle(k.ctx, held[id], frontier.Settlement{})
	}
	k.claimOf(fmt.Sprintf("wide/%d", n+1))
	k.at(later)
}

func addCountsOnce(k *kit) {
	k.add(1, k.pages("a/1")...)
	k.add(0, k.pages("a/1")...)
	k.add(2, k.pages("a/2", "a/1", "b/1", "a/2", "b/1")...)
	c := k.claim()
	k.add(0, k.pages("a/1", "a/2", "b/1")...) // one of these URLs is claimed
	k.settle(c, frontier.Settlement{Links: k.pages("a/1", "a/2", "b/1")})
	for range 2 {
		k.done(k.claim())
	}
	k.add(0, k.pages("a/1", "a/2", "b/1")...)
	k.drained()
}

func concurrentAddsCountOnce(k *kit) {
	all := k.pages("a/1", "a/2", "a/3", "b/1", "b/2", "c/1")
	var added atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range all {
				n, err := k.f.Add(k.ctx, all[(i+j)%len(all)], all[(i*j)%len(all)])
				if err != nil {
					k.Errorf("Add: %v", err)
				}
				added.Add(int64(n))
			}
		})
	}
	wg.Wait()
	if n := added.Load(); n != int64(len(all)) {
		k.Errorf("%d counted as added, want %d", n, len(all))
	}
	for range all {
		k.done(k.claim())
	}
	k.drained()
}

func addIsAllOrNothing(k *kit) {
	bad := k.pages("a/1", "a/2", "b/1")
	bad[1].Depth = -1
	k.addFails(k.ctx, frontier.ErrRequest, bad...)
	k.addFails(k.ctx, frontier.ErrRequest, append(k.pages("a/1"), frontier.Request{})...)
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	k.addFails(over, context.Canceled, k.pages("a/1")...)
	k.drained()
}

func (k *kit) addFails(ctx context.Context, want error, rs ...frontier.Request) {
	k.Helper()
	if n, err := k.f.Add(ctx, rs...); n != 0 || !errors.Is(err, want) {
		k.Errorf("Add: %d, %v; want none and %v", n, err, want)
	}
}
