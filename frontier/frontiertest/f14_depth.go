package frontiertest

import "github.com/amble-crawler/amble/frontier"

func (k *kit) deep(hostPath string, depth int) frontier.Request {
	return frontier.Request{URL: k.page(hostPath), Depth: depth}
}

func smallerDepthWins(k *kit) {
	k.add(1, k.deep("a/1", 9))
	k.add(0, k.deep("a/1", 5))
	k.add(0, k.deep("a/1", 7))
	k.add(1, k.deep("a/2", 4))
	k.add(1, k.deep("b/1", 100_000), k.deep("b/1", 20_000), k.deep("b/1", 30_000))
	c := k.depthOf("a/1", 5)
	k.depthOf("b/1", 20_000)
	k.add(0, k.deep("a/1", 1)) // claimed: the holder decides by the depth it was told
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(k.step)}, Links: []frontier.Request{k.deep("a/2", 3)}})
	k.done(k.depthOf("a/2", 3))
	k.add(0, k.deep("a/1", 4), k.deep("a/1", 6)) // waiting
	c = k.depthOf("a/1", 4)
	k.settle(c, frontier.Settlement{Again: &frontier.Again{}})
	k.add(0, k.deep("a/1", 0))
	k.done(k.depthOf("a/1", 0))
}

func (k *kit) depthOf(hostPath string, want int) frontier.Claim {
	k.Helper()
	c := k.claimOf(hostPath)
	if c.Depth != want {
		k.Errorf("%v has depth %d, want %d", c.URL, c.Depth, want)
	}
	return c
}
