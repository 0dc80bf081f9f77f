package frontiertest

import (
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

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
	k.settle(c, frontier.Settlement{ReadyAt: in(3 * k.step)})
	k.none() // queued
	c = k.claim()
	k.none() // claimed
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(3 * k.step)}})
	k.none() // waiting
	k.done(k.claim())
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
