package frontiertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/frontier"
)

func addCountsOnce(k *kit) {
	k.add(1, k.pages("a/1")...)
	k.add(0, k.pages("a/1")...)
	k.add(2, k.pages("a/2", "a/1", "b/1", "a/2", "b/1")...)
	c := k.claim()
	k.add(0, k.pages("a/1", "a/2", "b/1")...) // one of them is claimed
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
