package main

import "testing"

// TestPercentFor checks that the more memory is in use, the less garbage is allowed in relation to it. Other tests, such as
// TestFloodInMemoryIsReported, measure the effect.
func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 4 << 20: 400, 4<<20 + 1: 100, 64 << 20: 100, 64<<20 + 1: 50, 1 << 40: 50} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes: %d %%, want %d", live, got, want)
		}
	}
}
