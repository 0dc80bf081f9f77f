package frontier

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQueueOrder compares a queue with a sorted list: by priority, then by arrival, for URLs that
// come back as for new ones.
func TestQueueOrder(t *testing.T) {
	type waiting struct {
		arrival  uint64
		priority int8
	}
	order := func(a, b waiting) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.arrival, b.arrival))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		var q queue
		var list []waiting
		var out []item
		size := 1 + r.IntN(2*chunkSize)
		for arrival := range uint64(800) {
			switch n := r.IntN(10); {
			case n < 5:
				rec := make([]byte, 8+r.IntN(size))
				binary.LittleEndian.PutUint64(rec, arrival)
				w := waiting{arrival, int8(r.IntN(3))}
				q.push(w.priority, rec)
				list = append(list, w)
			case n < 8 && len(list) > 0:
				slices.SortFunc(list, order)
				it := q.pop()
				if it.rec.hash() != list[0].arrival || it.priority != list[0].priority {
					t.Fatalf("popped %d(%d), want %+v", it.rec.hash(), it.priority, list[0])
				}
				list, out = list[1:], append(out, it)
			case len(out) > 0:
				i := r.IntN(len(out))
				q.back.Push(out[i])
				list = append(list, waiting{out[i].rec.hash(), out[i].priority})
				out = slices.Delete(out, i, i+1)
			}
		}
		slices.SortFunc(list, order)
		for _, w := range list {
			if it := q.pop(); it.rec.hash() != w.arrival {
				t.Fatalf("popped %d, want %d", it.rec.hash(), w.arrival)
			}
		}
		if q.lanes != nil || q.back.Len() != 0 {
			t.Fatal("an emptied queue keeps memory")
		}
	}
}
