package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/frontier"
)

func settleIsWhole(k *kit) {
	k.add(1, k.pages("a/1")...)
	ready := in(3 * k.step)
	k.settle(k.claim(), frontier.Settlement{ReadyAt: ready, Links: k.pages("a/2", "b/1", "a/1", "a/2")})
	k.done(k.claimOf("b/1"))
	k.none()
	k.done(k.claimOf("a/2"))
	k.at(ready)
	k.add(0, k.pages("a/1", "a/2", "b/1")...)
	k.drained()
}

func failedSettleHasNoEffect(k *kit) {
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.claimOf("a/1")
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if err := k.f.Settle(over, c, frontier.Settlement{Links: k.pages("b/1")}); !errors.Is(err, context.Canceled) {
		k.Errorf("Settle with an ended context: %v", err)
	}
	bad := frontier.Settlement{Links: append(k.pages("b/2"), frontier.Request{})}
	if err := k.f.Settle(k.ctx, c, bad); !errors.Is(err, frontier.ErrRequest) {
		k.Errorf("Settle with a link that is none: %v, want ErrRequest", err)
	}
	k.none() // a is held, b is empty
	k.add(2, k.pages("b/1", "b/2")...)
	k.done(c)
	for range 3 {
		k.done(k.claim())
	}
	k.drained()
}

// settleIsNotSeenHalfDone follows a chain of pages, each of which links to the next. Blocked Claims would return ErrDrained if a page
// were done before its link is queued.
func settleIsNotSeenHalfDone(k *kit) {
	k.add(1, k.pages("h0/start")...)
	const pages = 100
	ctx, cancel := context.WithTimeout(k.ctx, k.limit)
	defer cancel()
	var followed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				c, err := k.f.Claim(ctx)
				if err != nil {
					if n := followed.Load(); !errors.Is(err, frontier.ErrDrained) || n <= pages {
						k.Errorf("Claim after %d of %d pages: %v", n, pages, err)
					}
					return
				}
				var s frontier.Settlement
				if i := followed.Add(1); i <= pages {
					s.Links = k.pages(fmt.Sprintf("h%d/%d", i%3, i))
				}
				if err := k.f.Settle(ctx, c, s); err != nil {
					k.Errorf("Settle: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
