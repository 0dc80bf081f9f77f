package frontiertest

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

func releaseFreesHost(k *kit) {
	k.durable()
	k.add(4, k.pages("a/1", "a/2", "a/3", "b/1")...)
	a1 := k.claimOf("a/1")
	ready := in(4 * k.step)
	k.release(a1, ready)
	k.done(k.claimOf("b/1")) // other hosts do not wait
	k.none()
	a2 := k.claimOf("a/2")
	k.at(ready)
	k.none() // the host is held again
	now := time.Now()
	k.release(a2, time.Time{})
	a3 := k.claimOf("a/3")
	k.at(now)
	k.stats(frontier.Stats{Claimed: 3, Done: 1, Hosts: 1})
	k.commit(end(a1), end(a2))
	k.none() // the claim of a/3 holds the host, whatever happens to the other claims
	k.done(a3)
	k.drained()
	k.stats(frontier.Stats{Done: 4})
}

func releaseWakes(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	a1 := k.claimOf("a/1")
	out := k.claiming(k.ctx, 2)
	k.blocked(out)
	now := time.Now()
	k.release(a1, time.Time{})
	a2 := k.woken(1, out)[0]
	k.at(now)
	k.blocked(out)
	k.done(a2)
	k.blocked(out) // the page of a/1 may still add links
	k.commit(end(a1, k.pages("b/1")...))
	k.woken(1, out)
	k.at(now)
}

// releasedIsClaimed checks that a released URL is not queued, does not count as done and keeps its depth, and that the crawl is not
// over.
func releasedIsClaimed(k *kit) {
	k.durable()
	k.add(1, k.deep("a/1", 3))
	c := k.released("a/1")
	k.stats(frontier.Stats{Claimed: 1, Hosts: 1})
	k.none()
	k.add(0, k.deep("a/1", 1))
	out := k.claiming(k.ctx, 4)
	k.blocked(out)
	k.commit(frontier.End{Claim: c, Settlement: frontier.Settlement{Again: &frontier.Again{}}})
	again := k.woken(1, out)[0]
	if again.Depth != 3 || again.Attempt != 0 {
		k.Errorf("depth %d and attempt %d, want 3 and 0", again.Depth, again.Attempt)
	}
	k.release(again, time.Time{})
	k.blocked(out)
	k.commit(end(again))
	for range 3 {
		if o := k.wait(out); !errors.Is(o.err, frontier.ErrDrained) {
			k.Fatalf("Claim: %v, %v; want ErrDrained", o.c.URL, o.err)
		}
	}
	k.stats(frontier.Stats{Done: 1})
}

func releasedNeverExpires(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.expiring("a/1")
	k.release(c, in(2*k.opts.ClaimTimeout))
	k.pause(k.opts.ClaimTimeout + k.step)
	k.stats(frontier.Stats{Queued: 1, Claimed: 1, Hosts: 1})
	k.commit(end(c))
	k.stats(frontier.Stats{Queued: 1, Done: 1, Hosts: 1})
	old := k.expiring("a/2")
	k.pause(time.Until(old.Deadline) + k.step)
	k.lostRelease(old) // the time given for old does not apply to the host
	k.wrongCommit(frontier.ErrLost, end(old))
	k.done(k.claimOf("a/2"))
	k.atMost(old.Deadline.Add(k.steps(4)))
	k.drained()
}

// atMost checks that the time is not later than t, if times are exact.
func (k *kit) atMost(t time.Time) {
	k.Helper()
	if late := time.Since(t); k.opts.Virtual && late > 0 {
		k.Fatalf("it is %v later than it should be", late)
	}
}

// releasedOnce checks that a claim can end in only one way.
func releasedOnce(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "a/3")...)
	a1 := k.released("a/1")
	k.lostRelease(a1)
	k.lost(a1)
	k.lostRelease(frontier.Claim{})
	a2 := k.claimOf("a/2")
	k.wrongCommit(frontier.ErrLost, end(a2))
	k.wrongCommit(frontier.ErrLost, end(frontier.Claim{}))
	k.done(a2)
	k.lostRelease(a2)
	k.commit(end(a1))
	k.lostRelease(a1)
	k.lost(a1)
	k.wrongCommit(frontier.ErrLost, end(a1))
	k.done(k.claimOf("a/3"))
	k.drained()
}

func failedReleaseHasNoEffect(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.claimOf("a/1")
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if err := k.durable().Release(over, c, time.Time{}); !errors.Is(err, context.Canceled) {
		k.Errorf("Release with an ended context: %v", err)
	}
	k.none()
	k.done(c)
	k.done(k.claimOf("a/2"))
}

func crashReturnsReleased(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	c := k.claimOf("a/1")
	ready := in(6*k.step + k.opts.ReopenDelay)
	k.release(c, ready)
	k.done(k.claimOf("b/1")) // a durable write of another host
	k.crashed()
	k.lostRelease(c)
	k.wrongCommit(frontier.ErrLost, end(c))
	k.add(1, k.pages("d/1")...)
	k.done(k.claimOf("d/1"))
	again := k.claimOf("a/1") // the URL is at its old place
	k.atLeast(ready)
	if again.Attempt != 0 {
		k.Errorf("attempt %d, want 0: a lost claim does not count", again.Attempt)
	}
	k.lostRelease(c)
	k.done(again)
	k.done(k.claimOf("a/2"))
	k.drained()
}

func reopenReturnsReleased(k *kit) {
	k.durable()
	k.add(2, k.pages("a/1", "a/2")...)
	ready := in(6*k.step + k.opts.ReopenDelay)
	k.release(k.claimOf("a/1"), ready)
	k.reopened()
	k.done(k.claimOf("a/1"))
	k.atLeast(ready)
	k.done(k.claimOf("a/2"))
	k.drained()
}
