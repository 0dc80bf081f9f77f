package bench

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// cost holds the resources of this process that an operation used.
type cost struct {
	pages   int
	elapsed time.Duration
	cpu     time.Duration
	allocs  uint64
	bytes   uint64
}

// measure adds to c the cost of f, which fetches the given number of pages. It first collects garbage, so that the garbage of earlier work
// is not counted.
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
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

// cpuMS returns the milliseconds of CPU time per page.
func (c *cost) cpuMS() float64 { return c.cpu.Seconds() * 1000 / float64(c.pages) }

// rate returns the number of pages per second.
func (c *cost) rate() float64 { return float64(c.pages) / c.elapsed.Seconds() }

// heapPeak is a writer that measures the size of the heap at some writes. It is not safe for concurrent use.
type heapPeak struct {
	writes int
	most   uint64
	sample []metrics.Sample
}

func newHeapPeak() *heapPeak {
	return &heapPeak{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// Write measures the heap at every 32nd call.
func (h *heapPeak) Write(b []byte) (int, error) {
	if h.writes++; h.writes%32 == 0 {
		metrics.Read(h.sample)
		h.most = max(h.most, h.sample[0].Value.Uint64())
	}
	return len(b), nil
}
