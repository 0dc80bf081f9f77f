//go:build race

package bench

// raceEnabled says that counts of allocations mean nothing.
const raceEnabled = true
