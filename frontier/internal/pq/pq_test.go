package pq

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type num int

func (n num) Before(o num) bool { return n < o }

func TestPopsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h Heap[num]
		var want []num
		for range r.IntN(60) {
			n := num(r.IntN(40))
			h.Push(n)
			want = append(want, n)
			if r.IntN(3) == 0 {
				slices.Sort(want)
				if got := h.Pop(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			}
		}
		slices.Sort(want)
		for _, w := range want {
			if top := h.Top(); top != w || h.Pop() != w {
				t.Fatalf("top %d, want %d", top, w)
			}
		}
		if h.Len() != 0 || h.all != nil {
			t.Fatal("an emptied heap keeps its memory")
		}
	}
}
