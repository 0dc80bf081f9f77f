package sched

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHeapOrder compares the heap with a list under random pushes, changes and removals.
func TestHeapOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	some := func(host uint32) entry { return entry{r.Int64N(30), r.Int32N(5), host} }
	for range 100 {
		at := make([]int32, 300)
		h := newHeap(&at)
		var in []entry
		for host := range uint32(300) {
			switch n := r.IntN(10); {
			case n < 5 || len(in) == 0:
				in = append(in, some(host))
				h.push(in[len(in)-1])
			case n < 8:
				i := r.IntN(len(in))
				in[i] = some(in[i].host)
				h.fix(in[i])
			default:
				i := r.IntN(len(in))
				h.remove(in[i].host)
				in = slices.Delete(in, i, i+1)
			}
			check(t, &h, in)
		}
		for len(in) > 0 {
			top := h.entries[root].host
			h.remove(top)
			in = slices.DeleteFunc(in, func(e entry) bool { return e.host == top })
			check(t, &h, in)
		}
	}
}

func check(t *testing.T, h *heap, in []entry) {
	t.Helper()
	if len(h.entries)-root != len(in) || h.empty() != (len(in) == 0) {
		t.Fatalf("%d in the heap, want %d", len(h.entries)-root, len(in))
	}
	if len(in) == 0 {
		if h.next() != Never {
			t.Fatal("an empty heap has a next")
		}
		return
	}
	first := slices.MinFunc(in, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(b.queued, a.queued))
	})
	if e := h.entries[root]; e.due != first.due || e.queued != first.queued || h.next() != first.due {
		t.Fatalf("first is %+v, want %+v", e, first)
	}
	for _, e := range in {
		if got := h.entries[(*h.at)[e.host]]; got != e {
			t.Fatalf("host %d is at %+v, want %+v", e.host, got, e)
		}
	}
}
