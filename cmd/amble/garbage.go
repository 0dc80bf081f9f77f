package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collectLess bounds garbage, and returns a function to be called when the command line is read. Reading it makes a few MiB of
// garbage at a time when next to nothing is in use: it would be collected seven times.
func collectLess() (begins func()) {
	debug.SetGCPercent(400)
	return func() { (&collections{}).follow() }
}

// collections sets how much garbage there may be, after each collection.
type collections struct{ percent int }

// cycle is garbage as soon as it is made, so that each collection finds one.
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

// percentFor returns how much garbage there may be beside so many bytes in use, in percent of them. The machine is shared, so with
// much in use it is half. With less it is as much again, which is Go's own measure: half would save a few MiB, and costs a
// crawl 11 % more CPU time.
func percentFor(live uint64) int {
	if live > 64<<20 {
		return 50
	}
	return 100
}
