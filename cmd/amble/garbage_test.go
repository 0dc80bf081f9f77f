package main

import "testing"

// TestPercentFor: garbage is bounded more tightly when there is much of it. TestFloodInMemoryIsTold and others measure what comes of it.
func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 64 << 20: 100, 64<<20 + 1: 50, 1 << 40: 50} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes: %d %%, want %d", live, got, want)
		}
	}
}
