package frontiertest

import "github.com/amble-crawler/amble/frontier"

func statsCount(k *kit) {
	k.stats(frontier.Stats{})
	k.add(4, k.pages("a/1", "a/2", "b/1", "a/1", "b/2")...)
	k.stats(frontier.Stats{Queued: 4, Hosts: 2})
	a, b := k.claim(), k.claim()
	k.stats(frontier.Stats{Queued: 2, Claimed: 2, Hosts: 2})
	k.settle(a, frontier.Settlement{Links: k.pages("c/1", "a/1")})
	k.stats(frontier.Stats{Queued: 3, Claimed: 1, Done: 1, Hosts: 3})
	until := in(3 * k.step)
	k.settle(b, frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	k.stats(frontier.Stats{Queued: 3, Waiting: 1, Done: 1, Hosts: 3})
	for range 3 {
		k.done(k.claim())
	}
	k.stats(frontier.Stats{Waiting: 1, Done: 4, Hosts: 1})
	k.pause(4 * k.step)
	k.stats(frontier.Stats{Queued: 1, Done: 4, Hosts: 1})
	k.done(k.claim())
	k.stats(frontier.Stats{Done: 5})
}

func (k *kit) stats(want frontier.Stats) {
	k.Helper()
	s, ok := k.f.(frontier.Counter)
	if !ok {
		k.Skipf("the store does not count")
	}
	if got := s.Stats(); got != want {
		k.Errorf("Stats %+v, want %+v", got, want)
	}
}
