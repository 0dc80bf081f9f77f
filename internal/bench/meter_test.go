package bench

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// cost is what something took, of this process.
type cost struct {
	pages   int
	elapsed time.Duration
	cpu     time.Duration
	allocs  uint64
	octets  uint64
}

// measure runs f, which goes through that many pages, and adds what it took to c. It begins with a
// collected heap, so that what was before is not paid for here.
func (c *cost) measure(tb testing.TB, pages int, f func()) {
	tb.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from, start := cpu(tb), time.Now()
	f()
	c.elapsed += time.Since(start)
	c.cpu += cpu(tb) - from
	runtime.ReadMemStats(&after)
	c.pages += pages
	c.allocs += after.Mallocs - before.Mallocs
	c.octets += after.TotalAlloc - before.TotalAlloc
}

// cpuMS is milliseconds of CPU time per page.
func (c *cost) cpuMS() float64 { return c.cpu.Seconds() * 1000 / float64(c.pages) }

// rate is pages per second.
func (c *cost) rate() float64 { return float64(c.pages) / c.elapsed.Seconds() }

// heapPeak is an output that looks, now and then when something is written to it, how large the heap
// is. It is not safe for concurrent use.
type heapPeak struct {
	writes int
	most   uint64
	sample []metrics.Sample
}

func newHeapPeak() *heapPeak {
	return &heapPeak{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// Write looks every 32nd time.
func (h *heapPeak) Write(b []byte) (int, error) {
	if h.writes++; h.writes%32 == 0 {
		metrics.Read(h.sample)
		h.most = max(h.most, h.sample[0].Value.Uint64())
	}
	return len(b), nil
}
