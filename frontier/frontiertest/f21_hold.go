package frontiertest

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

func (k *kit) hold(c frontier.Claim) {
	k.Helper()
	if err := k.durable().Hold(k.ctx, c); err != nil {
		k.Fatalf("Hold of %v: %v", c.URL, err)
	}
}

// lostHold checks that putting c on hold returns ErrLost.
func (k *kit) lostHold(c frontier.Claim) {
	k.Helper()
	if err := k.durable().Hold(k.ctx, c); !errors.Is(err, frontier.ErrLost) {
		k.Errorf("Hold of a claim that is over, released or on hold: %v, want ErrLost", err)
	}
}

// holdKeepsHost checks that a link with a higher priority is claimed before a URL that was already queued.
func holdKeepsHost(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	a1 := k.claimOf("a/1")
	k.hold(a1)
	k.done(k.claimOf("b/1")) // other hosts do not wait
	k.none()
	k.stats(frontier.Stats{Queued: 1, Claimed: 1, Done: 1, Hosts: 1})
	first := k.pages("a/3")[0]
	first.Priority = 1
	ready := in(2 * k.step)
	k.commit(frontier.End{Claim: a1, Settlement: frontier.Settlement{ReadyAt: ready, Links: []frontier.Request{first}}})
	k.done(k.claimOf("a/3"))
	k.atLeast(ready)
	k.done(k.claimOf("a/2"))
	k.drained()
	k.stats(frontier.Stats{Done: 4})
}

func holdWakes(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	a1 := k.claimOf("a/1")
	out := k.claiming(k.ctx, 1)
	k.hold(a1)
	k.blocked(out)
	now := time.Now()
	k.commit(end(a1))
	k.woken(1, out)
	k.at(now)
}

func heldNeverExpires(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.expiring("a/1")
	k.hold(c)
	k.pause(k.opts.ClaimTimeout + k.step)
	k.none()
	k.stats(frontier.Stats{Queued: 1, Claimed: 1, Hosts: 1})
	k.commit(end(c))
	old := k.expiring("a/2")
	k.pause(time.Until(old.Deadline) + k.step)
	k.lostHold(old)
	k.wrongCommit(frontier.ErrLost, end(old))
	k.done(k.claimOf("a/2"))
	k.drained()
}

// heldOnce checks that a claim on hold can end in only one way.
func heldOnce(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	a1 := k.claimOf("a/1")
	k.hold(a1)
	k.lostHold(a1)
	k.lostRelease(a1)
	k.lost(a1)
	k.lostHold(frontier.Claim{})
	k.commit(end(a1))
	k.lostHold(a1)
	k.wrongCommit(frontier.ErrLost, end(a1))
	a2 := k.released("a/2")
	k.lostHold(a2)
	k.commit(end(a2))
	k.drained()
}

func failedHoldHasNoEffect(k *kit) {
	k.durable()
	k.add(1, k.pages("a/1")...)
	c := k.claimOf("a/1")
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if err := k.durable().Hold(over, c); !errors.Is(err, context.Canceled) {
		k.Errorf("Hold with an ended context: %v", err)
	}
	k.done(c)
	k.drained()
}

func crashReturnsHeld(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.claimOf("a/1")
	k.hold(c)
	k.crashed()
	k.lostHold(c)
	k.wrongCommit(frontier.ErrLost, end(c))
	again := k.claimOf("a/1") // the URL is at its old place
	if again.Attempt != 0 {
		k.Errorf("attempt %d, want 0: a lost claim does not count", again.Attempt)
	}
	k.done(again)
	k.done(k.claimOf("a/2"))
	k.drained()
}
