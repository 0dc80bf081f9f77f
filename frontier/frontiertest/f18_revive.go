package frontiertest

import (
	"context"
	"errors"

	"github.com/amble-crawler/amble/frontier"
)

func (k *kit) revive(want int, rs ...frontier.Request) {
	k.Helper()
	n, err := k.durable().Revive(k.ctx, rs...)
	if err != nil || n != want {
		k.Fatalf("Revive of %d: %d revived, %v; want %d", len(rs), n, err, want)
	}
}

// retried settles a URL as done after a second attempt.
func (k *kit) retried(hostPath string) {
	k.Helper()
	k.settle(k.claimOf(hostPath), frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.done(k.claimOf(hostPath))
}

func reviveQueuesDone(k *kit) {
	k.durable()
	k.add(1, k.deep("a/1", 2))
	k.retried("a/1")
	k.add(1, k.pages("a/2")...)
	out := k.claim()
	k.revive(1, k.deep("a/1", 5), k.pages("a/3")[0], k.deep("a/1", 4)) // a/3 is new, and added
	k.stats(frontier.Stats{Queued: 2, Claimed: 1, Hosts: 1})
	k.add(0, k.deep("a/1", 3))
	k.done(out)
	c := k.claimOf("a/1")
	if c.Depth != 3 || c.Attempt != 0 {
		k.Errorf("depth %d and attempt %d, want 3 and 0", c.Depth, c.Attempt)
	}
	k.done(c)
	k.inOrder("a/3")
	k.drained()
	k.stats(frontier.Stats{Done: 3})
	k.add(0, k.pages("a/1")...)
	k.revive(1, k.deep("a/1", 7))
	if c := k.claimOf("a/1"); c.Depth != 7 {
		k.Errorf("depth %d, want 7", c.Depth)
	} else {
		k.done(c)
	}
	k.drained()
}

// reviveLeavesPending checks URLs that are not done: one waits, one is released, one is held and one is queued.
func reviveLeavesPending(k *kit) {
	k.durable()
	all := k.pages("a/1", "a/2", "b/1", "c/1")
	k.add(4, all...)
	k.settle(k.claimOf("a/1"), frontier.Settlement{Again: &frontier.Again{NotBefore: in(3 * k.step)}})
	released := k.claim()
	k.release(released, in(0))
	held := k.claim()
	before := k.f.Stats()
	k.revive(0, all...)
	if got := k.f.Stats(); got != before {
		k.Errorf("Stats %+v, want %+v", got, before)
	}
	k.commit(end(released))
	k.done(held)
	k.done(k.claim())
	k.done(k.claimOf("a/1"))
	k.drained()
	k.stats(frontier.Stats{Done: 4})
}

func failedReviveHasNoEffect(k *kit) {
	k.durable()
	k.add(1, k.pages("a/1")...)
	k.done(k.claim())
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := k.durable().Revive(over, k.pages("a/1")...); !errors.Is(err, context.Canceled) {
		k.Errorf("Revive with an ended context: %v", err)
	}
	if _, err := k.durable().Revive(k.ctx, append(k.pages("a/1"), frontier.Request{})...); !errors.Is(err, frontier.ErrRequest) {
		k.Errorf("Revive of a Request without URL: %v, want ErrRequest", err)
	}
	k.drained()
}

func crashKeepsRevived(k *kit) {
	k.durable()
	k.add(1, k.pages("a/1")...)
	k.retried("a/1")
	k.add(1, k.pages("a/2")...)
	k.revive(1, k.deep("a/1", 6))
	k.crashed()
	k.add(0, k.pages("a/2")...)
	k.stats(frontier.Stats{Queued: 2, Hosts: 1})
	k.inOrder("a/2")
	c := k.claimOf("a/1")
	if c.Depth != 6 || c.Attempt != 0 {
		k.Errorf("depth %d and attempt %d, want 6 and 0", c.Depth, c.Attempt)
	}
	k.done(c)
	k.crashed()
	k.drained()
	k.stats(frontier.Stats{Done: 2})
}
