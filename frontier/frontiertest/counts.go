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
	s, ok := k.f.(frontier.Statter)
	if !ok {
		k.Skipf("the store does not count")
	}
	if got := s.Stats(); got != want {
		k.Errorf("Stats %+v, want %+v", got, want)
	}
}

func lookupTells(k *kit) {
	k.state("a/1", frontier.Unknown)
	k.add(2, k.pages("a/1", "a/2")...)
	k.state("a/1", frontier.Queued)
	k.state("a/2", frontier.Queued)
	c := k.claimOf("a/1")
	k.state("a/1", frontier.Claimed)
	k.state("a/2", frontier.Queued)
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(3 * k.step)}, Links: k.pages("b/1")})
	k.state("a/1", frontier.Waiting)
	k.state("b/1", frontier.Queued)
	k.pause(4 * k.step)
	k.state("a/1", frontier.Queued)
	k.done(k.claimOf("a/1"))
	k.state("a/1", frontier.Done)
	k.state("a/3", frontier.Unknown)
}

func (k *kit) state(hostPath string, want frontier.State) {
	k.Helper()
	l, ok := k.f.(frontier.Lookuper)
	if !ok {
		k.Skipf("the store does not look up")
	}
	if got, err := l.Lookup(k.ctx, k.page(hostPath)); got != want || err != nil {
		k.Errorf("Lookup of %s: %d, %v; want %d", hostPath, got, err, want)
	}
}
