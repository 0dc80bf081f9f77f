package plan

import (
	"testing"
	"time"
)

// The outlook is a plan of the remaining pages: the host or address that takes longest determines the time.
func TestLeastTimeLeft(t *testing.T) {
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	soon, later := now.Add(2*time.Second), now.Add(9*time.Second)
	for _, c := range []struct {
		name string
		left []Left
		rate float64
		want time.Duration
	}{
		{"nothing", nil, 0, 0},
		{"one host", []Left{{Addr: "1", URLs: 10, Delay: time.Second, Due: soon}}, 0, 11 * time.Second},
		{"the slowest decides", []Left{{Addr: "1", URLs: 10, Delay: time.Second, Due: later}, {Addr: "2", URLs: 3, Delay: 10 * time.Second, Due: soon}}, 0, 30300 * time.Millisecond},
		{"an address is shared", []Left{{Addr: "1", URLs: 10, Delay: time.Second, Due: soon}, {Addr: "1", URLs: 10, Delay: time.Second, Due: later}}, 0, 22 * time.Second},
		{"a rate in all", []Left{{Addr: "1", URLs: 10, Delay: time.Second, Due: soon}}, 0.5, 20 * time.Second},
	} {
		got, first := minTimeLeft(c.left, 100*time.Millisecond, c.rate)
		if got != c.want || len(c.left) > 0 && !first.Due.Equal(soon) {
			t.Errorf("%s: %v, first %v; want %v, %v", c.name, got, first, c.want, soon)
		}
	}
}
