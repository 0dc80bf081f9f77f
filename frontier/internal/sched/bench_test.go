package sched

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// BenchmarkTake picks the next host and puts it back with a ready time between those of the other hosts.
func BenchmarkTake(b *testing.B) {
	for _, hosts := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			s := New[string, [7]int]()
			for i := range hosts {
				s.Offer(s.Open(strconv.Itoa(i), 1), 1, int64(i))
			}
			r := rand.New(rand.NewPCG(1, 1))
			now := int64(hosts)
			for b.Loop() {
				h := s.Take(now)
				s.Release(h, Back, now-r.Int64N(int64(hosts)), 0)
				now++
			}
		})
	}
}
