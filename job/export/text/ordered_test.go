package text

import (
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// numbers yields n numbers, and then err if it is not nil.
func numbers(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

func TestWorkersShareWorkAndKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most, ahead atomic.Int64
		began := time.Now()
		var got, want []int
		for b, err := range inOrder(3, numbers(60, nil), func(a int) (int, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			ahead.Add(1)
			time.Sleep(time.Duration(1+a%3) * time.Second) // later numbers may be ready first
			busy.Add(-1)
			return a * a, nil
		}) {
			if err != nil {
				t.Fatal(err)
			}
			got, want = append(got, b), append(want, len(want)*len(want))
			if n := int(ahead.Load()) - len(got); n > 12+3+1 {
				t.Fatalf("%d results wait", n)
			}
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); most.Load() != 3 || took > 50*time.Second || !slices.Equal(got, want) {
			t.Errorf("%d at a time took %s: %v", most.Load(), took, got)
		}
	})
}

func TestWorkersEndWithAnErrorAndWithTheReader(t *testing.T) {
	bad := errors.New("bad")
	same := func(a int) (int, error) { return a, nil }
	for name, c := range map[string]struct {
		in   iter.Seq2[int, error]
		work func(int) (int, error)
		stop int // number of results after which the consumer stops
		want error
	}{
		"input":  {numbers(5, bad), same, 100, bad},
		"work":   {numbers(100, nil), func(a int) (int, error) { return a, map[bool]error{true: bad}[a == 5] }, 100, bad},
		"reader": {numbers(100, nil), same, 5, nil},
	} {
		synctest.Test(t, func(t *testing.T) { // the bubble fails if a goroutine remains
			n := 0
			var last error
			for b, err := range inOrder(2, c.in, c.work) {
				if last = err; err == nil && b != n {
					t.Errorf("%s: %d, want %d", name, b, n)
				}
				if err == nil {
					n++
				}
				if n == c.stop {
					break
				}
			}
			if n != 5 || !errors.Is(last, c.want) {
				t.Errorf("%s: %d results, %v", name, n, last)
			}
		})
	}
}
