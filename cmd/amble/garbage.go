package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collectLess tunes garbage collection, and returns a function to call once the command line is parsed. Parsing makes a few MiB of garbage
// while the heap is nearly empty, which would cause seven collections.
func collectLess() (begins func()) {
	debug.SetGCPercent(400)
	return func() { (&collections{}).follow() }
}

// collections adjusts the garbage percentage after each collection.
type collections struct{ percent int }

// cycle is unreachable as soon as it is allocated, so that each collection runs its finalizer.
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

// percentFor returns the garbage percentage for a number of live bytes. Since the machine is shared, it is 50 for large heaps. For small
// ones it is 100, Go's default: 50 would save a few MiB and cost a crawl 11 % more CPU time.
func percentFor(live uint64) int {
	if live > 64<<20 {
		return 50
	}
	return 100
}
