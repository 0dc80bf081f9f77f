package frontiertest

import (
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// expiring returns a claim and its deadline.
func (k *kit) expiring(hostPath string) frontier.Claim {
	k.Helper()
	if k.opts.ClaimTimeout == 0 {
		k.Skipf("Options.ClaimTimeout: the stores' claims last for ever")
	}
	now := time.Now()
	c := k.claimOf(hostPath)
	if c.Deadline.Before(now.Add(k.opts.ClaimTimeout)) {
		k.Fatalf("the deadline is %v away, want %v", c.Deadline.Sub(now), k.opts.ClaimTimeout)
	}
	return c
}

func expiredIsClaimable(k *kit) {
	k.add(1, k.pages("a/1")...)
	k.settle(k.expiring("a/1"), frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.add(2, k.pages("a/2", "a/3")...)
	first := k.expiring("a/1")
	second := k.claimOf("a/1") // blocks until the first claim is lost
	if time.Now().Before(first.Deadline) || k.opts.Virtual && time.Since(first.Deadline) > time.Millisecond {
		k.Errorf("claimed again %v after the deadline", time.Since(first.Deadline))
	}
	if second.Attempt != 1 {
		k.Errorf("attempt %d, want 1: a lost claim does not count", second.Attempt)
	}
	k.none() // the host is held again
	k.done(second)
	k.inOrder("a/2", "a/3")
	k.drained()
}

func expiredSettleIsLost(k *kit) {
	k.add(2, k.pages("a/1", "a/2")...)
	old := k.expiring("a/1")
	k.pause(time.Until(old.Deadline) + k.step)
	k.lost(old)
	c := k.claimOf("a/1")
	k.lost(old)
	k.none() // the host is not free, and b was not added
	k.done(c)
	k.lost(old)
	k.inOrder("a/2")
	k.drained()
}

// lost checks that settling c, with a link, returns ErrLost.
func (k *kit) lost(c frontier.Claim) {
	k.Helper()
	err := k.f.Settle(k.ctx, c, frontier.Settlement{ReadyAt: in(k.limit), Links: k.pages("b/lost")})
	if !errors.Is(err, frontier.ErrLost) {
		k.Errorf("Settle of a claim that is over: %v, want ErrLost", err)
	}
}

func settledOnce(k *kit) {
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.claimOf("a/1")
	k.done(c)
	k.lost(c)
	k.lost(frontier.Claim{})
	d := k.claimOf("a/2")
	k.lost(c)
	k.settle(d, frontier.Settlement{Again: &frontier.Again{}})
	k.lost(d)
	e := k.claimOf("a/2")
	k.lost(d) // d is of the same URL, but another claim
	k.done(e)
	k.drained()
}

func closeWakesAll(k *kit) {
	k.occupied()
	k.add(1, k.pages("held/2")...)
	out := k.claiming(k.ctx, 5)
	k.blocked(out)
	now := time.Now()
	if err := k.f.Close(); err != nil {
		k.Errorf("Close: %v", err)
	}
	for range 5 {
		if o := k.wait(out); !errors.Is(o.err, frontier.ErrClosed) {
			k.Fatalf("Claim: %v, %v; want ErrClosed", o.c.URL, o.err)
		}
	}
	k.at(now)
}

func closedIsErrClosed(k *kit) {
	k.add(2, k.pages("a/1", "b/1")...)
	c := k.claim()
	if err := k.f.Close(); err != nil {
		k.Errorf("Close: %v", err)
	}
	_, add := k.f.Add(k.ctx, k.pages("a/2")...)
	k.closed("Add", add)
	k.closed("Claim", k.try(k.limit).err)
	k.closed("Settle", k.f.Settle(k.ctx, c, frontier.Settlement{}))
	_, rescored := k.f.Rescore(k.ctx, func(frontier.Request) float64 { return 0 })
	k.closed("Rescore", rescored)
	k.closed("Close", k.f.Close())
	if d, ok := k.f.(frontier.Durable); ok {
		_, value := d.Value(k.ctx, "", "x")
		k.closed("Value", value)
		k.closed("Values", d.Values(k.ctx, "", "", func(string, []byte) error { return nil }))
		k.closed("Release", d.Release(k.ctx, c, time.Time{}))
		k.closed("Hold", d.Hold(k.ctx, c))
		k.closed("Commit", d.Commit(k.ctx, nil, frontier.Checkpoint{}))
		_, revive := d.Revive(k.ctx, k.pages("a/2")...)
		k.closed("Revive", revive)
	}
}

func (k *kit) closed(what string, err error) {
	k.Helper()
	if !errors.Is(err, frontier.ErrClosed) {
		k.Errorf("%s after Close: %v, want ErrClosed", what, err)
	}
}
