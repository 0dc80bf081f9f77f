//go:build race

package bench

// raceEnabled reports whether the race detector is on: then counts of allocations mean nothing.
const raceEnabled = true
