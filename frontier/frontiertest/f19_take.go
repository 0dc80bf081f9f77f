package frontiertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

func (k *kit) take(want int, c frontier.Checkpoint, rs ...frontier.Request) {
	k.Helper()
	n, err := k.durable().Take(k.ctx, rs, c)
	if err != nil || n != want {
		k.Fatalf("Take of %d: %d added, %v; want %d", len(rs), n, err, want)
	}
}

// read returns the checkpoint of a reader that has read n requests.
func read(n int64) frontier.Checkpoint {
	return frontier.Checkpoint{Offsets: map[string]int64{"read": n}, Values: map[string][]byte{"last": {byte(n)}}}
}

func takeAddsAndStores(k *kit) {
	k.durable()
	k.add(1, k.deep("a/1", 3))
	c := read(1)
	k.take(2, c, k.deep("a/1", 2), k.deep("b/1", 4), k.deep("c/1", 4), k.deep("c/1", 4))
	k.stored(c.Offsets, c.Values)
	k.take(0, read(2))
	k.take(0, frontier.Checkpoint{Owner: "other", Offsets: map[string]int64{"read": 9}}, k.pages("c/1")...)
	c = read(2)
	k.stored(c.Offsets, c.Values)
	k.storedOf("other", map[string]int64{"read": 9}, nil)
	k.stats(frontier.Stats{Queued: 3, Hosts: 3})
	for range 3 {
		c := k.claim()
		if want := map[string]int{"a.test:80": 2, "b.test:80": 4, "c.test:80": 0}[c.URL.Host()]; c.Depth != want {
			k.Errorf("%v has depth %d, want %d", c.URL, c.Depth, want)
		}
		k.done(c)
	}
	k.take(0, read(3), k.pages("a/1")...) // URLs that are done stay done
	k.drained()
}

func takeWakes(k *kit) {
	d := k.durable()
	k.add(1, k.pages("a/1")...)
	held := k.claim()
	out := k.claiming(k.ctx, 1)
	k.blocked(out)
	if n, err := d.Take(k.ctx, k.pages("b/1"), frontier.Checkpoint{}); n != 1 || err != nil {
		k.Fatalf("Take: %d, %v; want 1", n, err)
	}
	if o := k.wait(out); o.err != nil || o.c.URL != k.page("b/1") {
		k.Fatalf("Claim: %v, %v; want b/1", o.c.URL, o.err)
	}
	k.done(held)
}

func failedTakeHasNoEffect(k *kit) {
	d := k.durable()
	k.take(0, read(1))
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := d.Take(over, k.pages("a/1"), read(2)); !errors.Is(err, context.Canceled) {
		k.Errorf("Take with an ended context: %v", err)
	}
	if _, err := d.Take(k.ctx, append(k.pages("a/1"), frontier.Request{}), read(3)); !errors.Is(err, frontier.ErrRequest) {
		k.Errorf("Take of a Request without URL: %v, want ErrRequest", err)
	}
	k.drained()
	c := read(1)
	k.stored(c.Offsets, c.Values)
}

func crashKeepsTaken(k *kit) {
	k.durable()
	c := read(1)
	k.take(2, c, k.pages("a/1", "a/2")...)
	k.crashed()
	k.stored(c.Offsets, c.Values)
	k.inOrder("a/1", "a/2")
	k.drained()
}

// crashDuringTake checks that the requests are stored if and only if the checkpoint is.
func crashDuringTake(k *kit) {
	k.durable()
	if k.crash == nil {
		k.Skipf("Options.Crash: the stores are not durable")
	}
	for round := range int64(20) {
		round++
		rs := k.pages(fmt.Sprintf("a%d/1", round), fmt.Sprintf("b%d/1", round), fmt.Sprintf("c%d/1", round))
		d := k.durable()
		acknowledged := k.crashesDuring(round, func() error {
			_, err := d.Take(k.ctx, rs, read(round))
			return err
		})
		happened := k.durable().Offsets("")["read"] == round
		if acknowledged && !happened {
			k.Fatalf("round %d: a Take that was acknowledged is lost", round)
		}
		want := 0
		if happened {
			want = len(rs)
		}
		if got := k.finishAll(); got != want {
			k.Errorf("round %d: %d requests are queued, want %d", round, got, want)
		}
	}
}
