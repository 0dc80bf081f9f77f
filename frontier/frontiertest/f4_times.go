package frontiertest

import "github.com/amble-crawler/amble/frontier"

func notBeforeReadyAt(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	a := k.claimOf("a/1")
	ready := in(4 * k.step)
	k.settle(a, frontier.Settlement{ReadyAt: ready})
	k.done(k.claimOf("b/1")) // others do not wait with it
	k.none()
	k.add(1, k.pages("a/3")...) // more of the same does not make it ready
	k.none()
	a = k.claimOf("a/2")
	k.at(ready)
	k.done(a)
	k.done(k.claimOf("a/3")) // ready at once
	k.at(ready)
}

func readyAtOutlivesEmptyQueue(k *kit) {
	k.add(1, k.pages("a/1")...)
	ready := in(4 * k.step)
	k.settle(k.claim(), frontier.Settlement{ReadyAt: ready})
	k.drained()
	k.add(1, k.pages("a/2")...)
	k.none()
	k.add(1, k.pages("b/1")...)
	k.done(k.claimOf("b/1"))
	k.done(k.claimOf("a/2"))
	k.at(ready)
}

func notBeforeNotBefore(k *kit) {
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	until := in(5 * k.step)
	k.settle(k.claimOf("a/1"), frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	// Both hosts are due; which is first is F6's.
	for range 2 {
		k.done(k.claim()) // a/2 does not wait with a/1
	}
	k.none()
	k.done(k.claimOf("a/1"))
	k.at(until)

	k.add(1, k.pages("a/4")...)
	until, ready := in(2*k.step), in(4*k.step)
	k.settle(k.claim(), frontier.Settlement{ReadyAt: ready, Again: &frontier.Again{NotBefore: until}})
	k.done(k.claimOf("a/4"))
	k.at(ready) // both must have come
	k.drained()
}
