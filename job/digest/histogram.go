package digest

import (
	"math"
	"math/bits"
)

// Histogram counts positive numbers in logarithmic buckets, eight per doubling: the error of a quantile is at most one sixteenth.
type Histogram struct {
	Count int
	Sum   int64
	Max   int64

	buckets []uint32
}

// Add adds a number. Negative numbers count as 0.
func (h *Histogram) Add(v int64) {
	v = max(0, v)
	h.Count++
	h.Sum += v
	h.Max = max(h.Max, v)
	i := place(v)
	if i >= len(h.buckets) {
		grown := make([]uint32, i+1, i+8)
		copy(grown, h.buckets)
		h.buckets = grown
	}
	h.buckets[i]++
}

// place returns the bucket of a number.
func place(v int64) int {
	if v < 8 {
		return int(v)
	}
	exp := bits.Len64(uint64(v)) - 4 // leaves four significant bits in v >> exp
	return exp*8 + int(v>>exp)
}

// value returns the middle of a bucket.
func value(i int) int64 {
	if i < 16 {
		return int64(i)
	}
	exp := i/8 - 1
	low := int64(i-exp*8) << exp
	return low + (int64(1)<<exp)/2
}

// Quantile returns the value below which the given share of all numbers lies, 0 if there are none.
func (h *Histogram) Quantile(share float64) int64 {
	want, seen := int(math.Ceil(share*float64(h.Count))), 0
	for i, n := range h.buckets {
		if seen += int(n); n > 0 && seen >= want {
			return min(value(i), h.Max)
		}
	}
	return h.Max
}

// Doublings returns the counts by powers of two: the element n counts numbers of n binary digits.
func (h *Histogram) Doublings() (counts []int) {
	for i, n := range h.buckets {
		at := bits.Len64(uint64(value(i)))
		for len(counts) <= at {
			counts = append(counts, 0)
		}
		counts[at] += int(n)
	}
	return counts
}
