package frontiertest

import (
	"time"

	"github.com/amble-crawler/amble/frontier"
)

func againIsNotNew(k *kit) {
	rs := k.pages("a/1", "a/2")
	rs[0].Depth = 3
	k.add(2, rs...)
	k.settle(k.claimOf("a/1"), frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.add(0, rs...)
	k.settle(k.claimOf("a/2"), frontier.Settlement{Again: &frontier.Again{Retry: true}})
	c := k.claimOf("a/1")
	if c.Depth != 3 {
		k.Errorf("depth %d after Again, want 3", c.Depth)
	}
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: in(2 * k.step)}, Links: rs})
	k.done(k.claimOf("a/2"))
	k.done(k.claimOf("a/1"))
	k.add(0, rs...)
	k.drained()
}

func retryCounts(k *kit) {
	k.add(1, k.pages("a/1")...)
	attempt := 0
	for i := range 12 {
		again := &frontier.Again{Retry: i%3 != 0}
		if i%4 == 1 {
			again.NotBefore = in(k.step / 10)
		}
		c := k.claim()
		if c.Attempt != attempt {
			k.Fatalf("attempt %d after %d retries", c.Attempt, attempt)
		}
		k.settle(c, frontier.Settlement{Again: again})
		if again.Retry {
			attempt++
		}
	}
	k.done(k.claim())
	k.drained()
}

// full returns a Request with something in every field.
func (k *kit) full(hostPath string) frontier.Request {
	return frontier.Request{
		URL:      k.page(hostPath),
		Depth:    70_000,
		Priority: -7,
		Via:      k.page("via/?q=%20x"),
		Hops:     []string{"http://one.test/", "", "https://two.test/ü"},
		Kind:     frontier.KindSitemap,
		Queued:   time.Unix(1_700_000_000, 123_456_789),
		Meta:     []byte("\x00meta\xff"),
	}
}

func againKeepsRequest(k *kit) {
	want := k.full("a/1")
	k.add(1, want)
	for i := range 4 {
		c := k.claim()
		k.same(c.Request, want)
		again := &frontier.Again{Retry: i%2 == 0}
		if i == 2 {
			again.NotBefore = in(k.step)
		}
		k.settle(c, frontier.Settlement{Again: again})
	}
	k.same(k.claim().Request, want)
}
