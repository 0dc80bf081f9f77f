package disk

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func TestKnownIsWhatAddWouldNotChange(t *testing.T) {
	c := testConfig()
	c.MaxPending = 3
	s := openMem(t, c, tuned())
	ctx := context.Background()
	var keys []weburl.Key
	add := func(path string, depth int) {
		t.Helper()
		u := parse(t, "http://a.test"+path)
		keys = append(keys, u.Key())
		if _, err := s.Add(ctx, frontier.Request{URL: u, Depth: depth}); err != nil {
			t.Fatal(err)
		}
	}
	known := func(depth int, want ...bool) {
		t.Helper()
		got := make([]bool, len(keys))
		s.Known(keys, depth, 0, got)
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("at depth %d URL %d is known: %t, want %t", depth, i, got[i], want[i])
			}
		}
	}
	add("/1", 3)
	add("/2", 5)
	add("/3", 0)
	add("/4", 0) // over the quota: rejected, and new the next time
	if n := s.HostPending("a.test:80"); n != 3 {
		t.Errorf("%d URLs of the host pending, want 3", n)
	}
	if n := s.HostPending("b.test:80"); n != 0 {
		t.Errorf("%d URLs of an unknown host pending", n)
	}
	keys = append(keys, parse(t, "http://a.test/5").Key(), weburl.Key{})
	known(9, true, true, true, false, false, false)
	known(3, true, false, true, false, false, false)
	known(2, false, false, true, false, false, false) // URLs queued at a greater depth are not known at this depth (frontier promise F14)
	cl, err := s.Claim(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(ctx, cl, cl.Queued); err != nil {
		t.Fatal(err)
	}
	if n := s.HostPending("a.test:80"); n != 3 {
		t.Errorf("%d URLs of the host pending while one is released, want 3", n)
	}
	if err := s.Commit(ctx, []frontier.End{{Claim: cl}}, frontier.Checkpoint{}); err != nil {
		t.Fatal(err)
	}
	if n := s.HostPending("a.test:80"); n != 2 {
		t.Errorf("%d URLs of the host pending, want 2", n)
	}
	if _, err := s.Add(ctx, frontier.Request{URL: cl.URL, Depth: 1}, frontier.Request{URL: parse(t, "http://a.test/4")}); err != nil {
		t.Fatal(err)
	}
	known(0, true, false, true, true, false, false) // a finished URL is known at any depth
	got := make([]bool, len(keys))
	if n := testing.AllocsPerRun(100, func() { s.Known(keys, 3, 0, got) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestKnownForgetsButNeverInvents uses a table that is much too small. A URL is known only if it was recorded at that
// depth or a smaller one, and the last recorded URL is always known.
func TestKnownForgetsButNeverInvents(t *testing.T) {
	n := newKnown(16)
	key := func(i int) *weburl.Key {
		var k weburl.Key
		binary.BigEndian.PutUint64(k[4:], uint64(i))
		return &k
	}
	hits := 0
	for i := range 1000 {
		n.note(key(i), i, 0)
		if !n.has(key(i), i, 0) || n.has(key(i), i-1, 0) || n.has(key(i+1), 1<<40, 0) {
			t.Fatalf("key %d: not known as recorded, or known without a record", i)
		}
		n.note(key(i), i/2, 0)
		if !n.has(key(i), i/2, 0) {
			t.Fatalf("key %d: not known at its smaller depth", i)
		}
		if i > 4 && n.has(key(i-4), i, 0) {
			hits++
		}
	}
	for rank := int8(-128); rank < 127; rank++ {
		if n.note(key(7), 3, rank); !n.has(key(7), 3, rank) || n.has(key(7), 3, rank+1) {
			t.Fatalf("priority %d: not known, or a higher one is", rank)
		}
	}
	if hits < 300 {
		t.Errorf("%d of the last 995 recorded keys are known: fewer than fit in the table", hits)
	}
	if n.note(key(5000), 1<<32-1, 0); n.has(key(5000), 1<<40, 0) {
		t.Error("a depth that does not fit was recorded")
	}
}

func BenchmarkKnown(b *testing.B) {
	s, err := open(vfs.NewMem(), "/crawl", testConfig(), tuned())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	keys, known := make([]weburl.Key, 60), make([]bool, 60)
	for i := range keys {
		binary.BigEndian.PutUint64(keys[i][:], uint64(i)*0x9e3779b97f4a7c15)
		if i%2 == 0 {
			s.known.note(&keys[i], 3, 0)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Known(keys, 4, 0, known)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/60, "ns/link")
}
