package main

import "testing"

// TestPercentFor checks that the share of garbage is limited more tightly when much memory is in use. TestFloodInMemoryIsReported and
// others measure the effect.
func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 64 << 20: 100, 64<<20 + 1: 50, 1 << 40: 50} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes: %d %%, want %d", live, got, want)
		}
	}
}
