package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collections adjusts the garbage percentage at the start and after each collection.
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
// need memory, too. For smaller ones it is 100, Go's default: 50 would save a few MiB and cost a crawl 11 % more CPU time. It is 400 while
// the heap is nearly empty: a command line and an empty job make a few MiB of garbage each.
func percentFor(live uint64) int {
	switch {
	case live > 64<<20:
		return 50
	case live > 4<<20:
		return 100
	default:
		return 400
	}
}
