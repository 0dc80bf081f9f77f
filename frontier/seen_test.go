package frontier

import (
	"math/rand/v2"
	"testing"
)

// TestSeenAgainstMap compares the seen set with a plain map, including depths too large for an entry's mark.
func TestSeenAgainstMap(t *testing.T) {
	type entry struct {
		state state
		depth int
	}
	var s seen
	want := map[uint64]entry{}
	r := rand.New(rand.NewPCG(3, 4))
	var hashes []uint64
	depth := func() int {
		if r.IntN(10) == 0 {
			return maxDepth - 2 + r.IntN(5)
		}
		return r.IntN(100)
	}
	for range 60_000 {
		if len(hashes) == 0 || r.IntN(2) == 0 {
			h := r.Uint64()
			if r.IntN(4) == 0 {
				h &= 0xff<<56 | 0xfff // forces collisions
			}
			if h == 0 || s.find(h) != nil {
				continue
			}
			e := entry{state(1 + r.IntN(5)), depth()}
			s.add(h, e.state, e.depth)
			want[h] = e
			hashes = append(hashes, h)
			continue
		}
		h := hashes[r.IntN(len(hashes))]
		e := want[h]
		m := s.find(h)
		if m == nil || m.state() != e.state || s.depth(h, m) != e.depth {
			t.Fatalf("%x: %v, want %+v", h, m, e)
		}
		e.state, e.depth = state(1+r.IntN(5)), depth()
		m.setState(e.state)
		s.setDepth(h, m, e.depth)
		want[h] = e
	}
	used := 0
	for _, sh := range s.shards {
		used += sh.used
		if sh.used*20 > len(sh.hashes)*17 {
			t.Errorf("a shard of %d holds %d", len(sh.hashes), sh.used)
		}
	}
	deep := 0
	for h, e := range want {
		m := s.find(h)
		if m == nil || m.state() != e.state || s.depth(h, m) != e.depth {
			t.Fatalf("%x: %v, want %+v", h, m, e)
		}
		if e.depth >= maxDepth {
			deep++
		}
	}
	if used != len(want) || deep != len(s.deep) {
		t.Errorf("%d used of %d, %d deep of %d", used, len(want), len(s.deep), deep)
	}
}
