package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collectLess makes garbage collection rarer until the returned function is called, after the command line is parsed: parsing makes a few
// MiB of garbage while the heap is nearly empty, which would cause seven collections.
func collectLess() (begins func()) {
	debug.SetGCPercent(400)
	return func() { (&collections{}).follow() }
}

// collections adjusts the garbage percentage after each collection.
type collections struct{ percent int }

// cycle is garbage as soon as it is allocated, so each collection runs its finalizer.
type cycle struct{ _ *byte }

func (c *collections) follow() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if p := percentFor(live[0].Value.Uint64()); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	runtime.SetFinalizer(&cycle{}, func(*cycle) { c.follow() })
}

// percentFor returns the garbage percentage (GOGC) for a heap of that many live bytes. It is 50 for large heaps, because other programs
// need memory, too. For small ones it is 100, Go's default: 50 would save a few MiB and cost a crawl 11 % more CPU time.
func percentFor(live uint64) int {
	if live > 64<<20 {
		return 50
	}
	return 100
}
