package frontiertest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// durable returns the store as a frontier.Durable, or nil if it is not one.
func (k *kit) durable() frontier.Durable {
	k.Helper()
	d, ok := k.f.(frontier.Durable)
	if !ok {
		k.Skipf("the store is not Durable")
	}
	return d
}

func (k *kit) release(c frontier.Claim, readyAt time.Time) {
	k.Helper()
	if err := k.durable().Release(k.ctx, c, readyAt); err != nil {
		k.Fatalf("Release of %v: %v", c.URL, err)
	}
}

// released releases the next claim, which must be of this URL, and returns it.
func (k *kit) released(hostPath string) frontier.Claim {
	k.Helper()
	c := k.claimOf(hostPath)
	k.release(c, time.Time{})
	return c
}

// releasedAll releases the next claims, which must be of these URLs, and returns them in the given order. The order in which the hosts
// are served is not checked.
func (k *kit) releasedAll(hostPaths ...string) []frontier.Claim {
	k.Helper()
	all := make([]frontier.Claim, len(hostPaths))
	for range hostPaths {
		c := k.claim()
		i := slices.IndexFunc(hostPaths, func(p string) bool { return k.page(p) == c.URL })
		if i < 0 {
			k.Fatalf("claimed %v, want one of %v", c.URL, hostPaths)
		}
		k.release(c, time.Time{})
		all[i] = c
	}
	return all
}

func (k *kit) commit(ends ...frontier.End) {
	k.Helper()
	k.commitWith(ends, nil, nil)
}

func (k *kit) commitWith(ends []frontier.End, offsets map[string]int64, values map[string][]byte) {
	k.Helper()
	if err := k.durable().Commit(k.ctx, ends, frontier.Checkpoint{Offsets: offsets, Values: values}); err != nil {
		k.Fatalf("Commit of %d ends: %v", len(ends), err)
	}
}

func end(c frontier.Claim, links ...frontier.Request) frontier.End {
	return frontier.End{Claim: c, Settlement: frontier.Settlement{Links: links}}
}

// wrongCommit checks that a Commit fails with an error, and that its offset and its value are not stored.
func (k *kit) wrongCommit(want error, ends ...frontier.End) {
	k.Helper()
	err := k.durable().Commit(k.ctx, ends, frontier.Checkpoint{Offsets: map[string]int64{"wrong": 1}, Values: map[string][]byte{"wrong": {1}}})
	if !errors.Is(err, want) {
		k.Errorf("Commit: %v, want %v", err, want)
	}
	if at := k.durable().Offsets("")["wrong"]; at != 0 || k.value("wrong") != nil {
		k.Errorf("a Commit that failed stored offset %d and value %q", at, k.value("wrong"))
	}
}

// lostRelease checks that releasing c returns ErrLost.
func (k *kit) lostRelease(c frontier.Claim) {
	k.Helper()
	if err := k.durable().Release(k.ctx, c, in(k.limit)); !errors.Is(err, frontier.ErrLost) {
		k.Errorf("Release of a claim that is over or released: %v, want ErrLost", err)
	}
}

func (k *kit) value(name string) []byte { k.Helper(); return k.valueOf("", name) }

func (k *kit) valueOf(owner, name string) []byte {
	k.Helper()
	v, err := k.durable().Value(k.ctx, owner, name)
	if err != nil {
		k.Fatalf("Value: %v", err)
	}
	return v
}

// stored checks all offsets and all values of the owner "".
func (k *kit) stored(offsets map[string]int64, values map[string][]byte) {
	k.Helper()
	k.storedOf("", offsets, values)
}

func (k *kit) storedOf(owner string, offsets map[string]int64, values map[string][]byte) {
	k.Helper()
	if got := k.durable().Offsets(owner); !maps.Equal(got, offsets) {
		k.Errorf("offsets of %q: %v, want %v", owner, got, offsets)
	}
	got := map[string][]byte{}
	last := ""
	err := k.durable().Values(k.ctx, owner, "", func(name string, value []byte) error {
		if len(got) > 0 && name <= last {
			k.Errorf("Values calls with %q after %q", name, last)
		}
		last, got[name] = name, bytes.Clone(value)
		return nil
	})
	if err != nil || !maps.EqualFunc(got, values, bytes.Equal) {
		k.Errorf("values of %q: %v, %v; want %v", owner, brief(got), err, brief(values))
	}
	for name, want := range values {
		if v := k.valueOf(owner, name); v == nil || !bytes.Equal(v, want) {
			k.Errorf("Value of %q is other than Values says", name)
		}
	}
}

// brief shortens values for a message.
func brief(values map[string][]byte) map[string]string {
	all := map[string]string{}
	for name, v := range values {
		all[name] = strings.ToValidUTF8(string(v[:min(len(v), 20)]), "?")
	}
	return all
}
