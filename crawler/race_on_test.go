//go:build race

package crawler_test

const raceEnabled = true
