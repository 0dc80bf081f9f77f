//go:build race

package long

// Race reports whether the race detector is on: it multiplies memory, allocations and the time that processes take to start.
const Race = true
