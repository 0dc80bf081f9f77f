//go:build linux

package main

import (
	"fmt"
	"testing"
	"time"
)

// seenAt returns requests that a server saw at these times, in milliseconds after a start.
func seenAt(at ...any) (seen []request) {
	for i := 0; i < len(at); i += 3 {
		t := time.UnixMilli(1_000_000 + int64(at[i].(int)))
		seen = append(seen, request{t, at[i+1].(string), at[i+1].(string), at[i+2].(string), 1})
	}
	return seen
}

func TestPausesAreThoseOfOneAddress(t *testing.T) {
	seen := seenAt(0, "a", "/", 50, "b", "/", 200, "a", "/1", 260, "b", "/1", 500, "a", "/2")
	seen[4].flight = 2
	if p, want := pausesAt(seen, func(string) bool { return true }), (pauses{200 * time.Millisecond, 200 * time.Millisecond, 210 * time.Millisecond, 2}); p != want {
		t.Errorf("%v, want %v", p, want)
	}
	if p, want := pausesAt(seen, func(a string) bool { return a == "b" }), (pauses{210 * time.Millisecond, 210 * time.Millisecond, 210 * time.Millisecond, 1}); p != want {
		t.Errorf("%v, want %v", p, want)
	}
}

func TestManners(t *testing.T) {
	for want, seen := range map[string][]request{
		"{0 0 0 false}": seenAt(0, private, "/", 1, silent, "/robots.txt", 2, busy, "/", 3002, busy, "/", 3010, busy, "/next"),
		"{1 1 1 true}":  seenAt(0, private, "/private/a", 1, private, "/private/b", 2, silent, "/", 3, busy, "/", 2990, busy, "/"),
	} {
		if m := mannersOf(seen); fmt.Sprint(m) != want {
			t.Errorf("%v, want %s", m, want)
		}
	}
}
