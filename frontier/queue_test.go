package frontier

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
)

// TestQueueOrder compares a queue with a sorted list, by priority and then arrival. It covers new URLs, and URLs put
// back in their old place or at the end.
func TestQueueOrder(t *testing.T) {
	type waiting struct {
		name, arrival uint64
		priority      int8
	}
	order := func(a, b waiting) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.arrival, b.arrival))
	}
	r := rand.New(rand.NewPCG(5, 6))
	var d deltas
	for range long.Seeds(60, 60) {
		var q queue
		records := map[uint64]record{}
		var list []waiting // sorted
		wait := func(w waiting) {
			at, _ := slices.BinarySearchFunc(list, w, order)
			list = slices.Insert(list, at, w)
		}
		var out []item
		arrivals := map[uint64]uint64{}   // last arrival, by name
		mem, taken := 0, map[uint64]int{} // the queue's own count of its bytes; items taken out, by name
		size := 1 + r.IntN(2*chunkSize)
		for arrival := range uint64(800) {
			switch n := r.IntN(10); {
			case n < 5:
				rec := make([]byte, 8+r.IntN(size))
				binary.LittleEndian.PutUint64(rec, arrival)
				var bits uint64
				for i := 8; i < len(rec); i++ { // similar to other records in places
					if i%32 == 8 {
						bits = r.Uint64()
					}
					rec[i] = byte(i/16*int(bits&1) + int(bits>>1&1))
					bits >>= 2
				}
				records[arrival] = rec
				w := waiting{arrival, arrival, int8(r.IntN(3))}
				arrivals[arrival] = arrival
				q.push(w.priority, rec, &d, &mem)
				wait(w)
			case n < 8 && len(list) > 0:
				it := q.pop(&mem)
				if nameOf(it) != list[0].name || it.priority != list[0].priority || !bytes.Equal(it.rec, records[nameOf(it)]) {
					t.Fatalf("popped %d(%d), want %+v with all its bytes", nameOf(it), it.priority, list[0])
				}
				list, out = list[1:], append(out, it)
				taken[nameOf(it)] = it.size()
			case len(out) > 0:
				i := r.IntN(len(out))
				name := nameOf(out[i])
				if r.IntN(2) == 0 {
					q.arrive(&out[i])
					arrivals[name] = arrival
				}
				q.back.Push(out[i])
				wait(waiting{name, arrivals[name], out[i].priority})
				out = slices.Delete(out, i, i+1)
			}
			if want := memoryOf(&q, taken); mem != want {
				t.Fatalf("the queue reports %d bytes, but takes %d", mem, want)
			}
		}
		for _, w := range list {
			it := q.pop(&mem)
			taken[nameOf(it)] = it.size()
			if nameOf(it) != w.name || !bytes.Equal(it.rec, records[w.name]) {
				t.Fatalf("popped %d, want %d with all its bytes", nameOf(it), w.name)
			}
		}
		if want := memoryOf(&q, taken); mem != want {
			t.Errorf("the empty queue reports %d bytes, but takes %d", mem, want)
		}
		if q.lanes != nil || q.back.Len() != 0 {
			t.Fatal("an emptied queue keeps memory")
		}
	}
}

// memoryOf returns the bytes in the chunks of q, and in the items that were taken out.
func memoryOf(q *queue, taken map[uint64]int) (n int) {
	for _, l := range q.lanes {
		n += int(l.own)
		for _, b := range l.rest {
			n += cap(b)
		}
	}
	for _, size := range taken {
		n += size
	}
	return n
}

func nameOf(it item) uint64 { return binary.LittleEndian.Uint64(it.rec) }
