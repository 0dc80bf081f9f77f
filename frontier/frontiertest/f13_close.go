package frontiertest

import (
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

func closeWakesAll(k *kit) {
	k.occupied()
	k.add(1, k.pages("held/2")...)
	out := k.claiming(k.ctx, 5)
	k.blocked(out)
	now := time.Now()
	if err := k.f.Close(); err != nil {
		k.Errorf("Close: %v", err)
	}
	for range 5 {
		if o := k.wait(out); !errors.Is(o.err, frontier.ErrClosed) {
			k.Fatalf("Claim: %v, %v; want ErrClosed", o.c.URL, o.err)
		}
	}
	k.at(now)
}

func closedIsErrClosed(k *kit) {
	k.add(2, k.pages("a/1", "b/1")...)
	c := k.claim()
	if err := k.f.Close(); err != nil {
		k.Errorf("Close: %v", err)
	}
	_, add := k.f.Add(k.ctx, k.pages("a/2")...)
	k.closed("Add", add)
	k.closed("Claim", k.try(k.limit).err)
	k.closed("Settle", k.f.Settle(k.ctx, c, frontier.Settlement{}))
	k.closed("Close", k.f.Close())
	if d, ok := k.f.(frontier.Durable); ok {
		_, value := d.Value(k.ctx, "", "x")
		k.closed("Value", value)
		k.closed("Values", d.Values(k.ctx, "", "", func(string, []byte) error { return nil }))
		k.closed("Release", d.Release(k.ctx, c, time.Time{}))
		k.closed("Hold", d.Hold(k.ctx, c))
		k.closed("Commit", d.Commit(k.ctx, nil, frontier.Checkpoint{}))
		_, revive := d.Revive(k.ctx, k.pages("a/2")...)
		k.closed("Revive", revive)
	}
}

func (k *kit) closed(what string, err error) {
	k.Helper()
	if !errors.Is(err, frontier.ErrClosed) {
		k.Errorf("%s after Close: %v, want ErrClosed", what, err)
	}
}
