package frontiertest

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// woken checks that n of the blocked Claims return a claim each.
func (k *kit) woken(n int, out <-chan outcome) []frontier.Claim {
	k.Helper()
	var cs []frontier.Claim
	for range n {
		o := k.wait(out)
		if o.err != nil {
			k.Fatalf("Claim: %v", o.err)
		}
		cs = append(cs, o.c)
	}
	return cs
}

// occupied makes the store neither drained nor claimable: its only URL is held.
func (k *kit) occupied() frontier.Claim {
	k.add(1, k.pages("held/1")...)
	return k.claim()
}

func wakesOnAdd(k *kit) {
	k.occupied()
	out := k.claiming(k.ctx, 4)
	k.blocked(out)
	now := time.Now()
	k.add(2, k.pages("a/1", "a/2")...)
	k.woken(1, out)
	k.blocked(out) // host a has a holder
	k.add(3, k.pages("b/1", "c/1", "d/1")...)
	k.woken(3, out)
	k.at(now)
}

func wakesOnSettle(k *kit) {
	c := k.occupied()
	out := k.claiming(k.ctx, 4)
	k.blocked(out)
	now := time.Now()
	k.settle(c, frontier.Settlement{Links: k.pages("held/2", "b/1")})
	for _, c := range k.woken(2, out) {
		k.settle(c, frontier.Settlement{Again: &frontier.Again{}})
	}
	again := k.woken(2, out)
	k.at(now)
	out = k.claiming(k.ctx, 2)
	k.blocked(out)
	later := frontier.Settlement{ReadyAt: in(9 * k.step), Links: k.pages("c/1")}
	k.settle(again[0], later) // now only the link can be claimed
	k.woken(1, out)
	k.at(now)
}

func wakesOnTime(k *kit) {
	k.occupied()
	k.add(4, k.pages("a/1", "a/2", "b/1", "c/1")...)
	late, soon, sooner := in(6*k.step), in(4*k.step), in(2*k.step)
	k.settle(k.claimOf("a/1"), frontier.Settlement{ReadyAt: late})
	out := k.claiming(k.ctx, 4)
	for _, c := range k.woken(2, out) { // hosts b and c; the two other Claims now wait for host a
		s := frontier.Settlement{Again: &frontier.Again{NotBefore: soon}}
		if c.URL.Hostname() == "c.test" {
			s = frontier.Settlement{ReadyAt: sooner, Again: &frontier.Again{}}
		}
		k.settle(c, s)
	}
	k.blocked(out)
	k.woken(1, out)
	k.at(sooner)
	k.woken(1, out)
	k.at(soon)
	k.woken(1, k.claiming(k.ctx, 1))
	k.at(late)
}

func wakesOnContext(k *kit) {
	k.occupied()
	k.add(1, k.pages("a/1")...)
	ready := in(4 * k.step)
	k.settle(k.claimOf("a/1"), frontier.Settlement{ReadyAt: ready, Links: k.pages("a/2")})
	ctx, cancel := context.WithCancel(k.ctx)
	ended := k.claiming(ctx, 3)
	k.blocked(ended)
	others := k.claiming(k.ctx, 2)
	k.blocked(others)
	now := time.Now()
	cancel()
	for range 3 {
		if o := k.wait(ended); !errors.Is(o.err, context.Canceled) {
			k.Fatalf("Claim with an ended context: %v, %v", o.c.URL, o.err)
		}
	}
	k.at(now)
	k.woken(1, others) // one Claim still waits for the timer
	k.at(ready)
	k.blocked(others)
	k.add(1, k.pages("b/1")...)
	if o := k.wait(k.claiming(ctx, 1)); !errors.Is(o.err, context.Canceled) {
		k.Errorf("Claim with an ended context: %v, %v", o.c.URL, o.err)
	}
}

func emptyIsDrained(k *kit) {
	k.drained()
	k.add(0)
	k.drained()
	k.add(1, k.pages("a/1")...)
	k.done(k.claim())
	k.drained()
	k.add(1, k.pages("a/2")...)
	k.done(k.claim())
	k.drained()
}

func notDrainedWhilePending(k *kit) {
	k.add(2, k.pages("a/1", "a/2")...)
	c := k.claim()
	k.none() // claimed and queued
	until := in(3 * k.step)
	k.settle(c, frontier.Settlement{ReadyAt: until})
	c = k.claimAfter(until) // queued
	k.none()                // claimed
	until = in(3 * k.step)
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	k.done(k.claimAfter(until)) // waiting
	k.drained()
}

func drainedWakesAll(k *kit) {
	k.add(1, k.pages("a/1")...)
	c := k.claim()
	out := k.claiming(k.ctx, 8)
	k.blocked(out)
	now := time.Now()
	k.done(c)
	for range 8 {
		if o := k.wait(out); !errors.Is(o.err, frontier.ErrDrained) {
			k.Fatalf("Claim: %v, %v; want ErrDrained", o.c.URL, o.err)
		}
	}
	k.at(now)
}
