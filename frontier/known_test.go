package frontier

import (
	"context"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

func TestKnownIsWhatAddWouldNotChange(t *testing.T) {
	m := NewMemory(MemoryConfig{})
	defer m.Close()
	var keys []weburl.Key
	for _, s := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"} {
		u, err := weburl.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, u.Key())
		if s != "http://a.test/3" {
			if _, err := m.Add(context.Background(), Request{URL: u, Depth: 3}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := m.Claim(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Settle(context.Background(), c, Settlement{}); err != nil {
		t.Fatal(err)
	}
	if n := m.HostPending("a.test:80"); n != 1 {
		t.Errorf("%d URLs of the host pending, want 1", n)
	}
	if n := m.HostPending("b.test:80"); n != 0 {
		t.Errorf("%d URLs of an unknown host pending", n)
	}
	known := make([]bool, 3)
	for _, c := range []struct {
		depth int
		want  [3]bool
	}{{3, [3]bool{true, true, false}}, {9, [3]bool{true, true, false}}} {
		if m.Known(keys, c.depth, 0, known); [3]bool(known) != c.want {
			t.Errorf("at depth %d: %v, want %v", c.depth, known, c.want)
		}
	}
	if m.Known(keys, 2, 0, known); known[1] {
		t.Error("a queued URL at a smaller depth is news (F14)")
	}
	if n := testing.AllocsPerRun(100, func() { m.Known(keys, 3, 0, known) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
