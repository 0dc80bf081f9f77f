//go:build race

package crawler

// RaceEnabled says that the tests were built with the race detector.
const RaceEnabled = true
