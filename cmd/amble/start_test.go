package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
)

// TestStartCollectsNoGarbage checks that a process that only reads its command line collects garbage at most twice: each collection would
// delay the first request of a crawl by two milliseconds.
func TestStartCollectsNoGarbage(t *testing.T) {
	t.Parallel()
	if long.Race {
		t.Skip("the race detector makes garbage of its own")
	}
	cmd := exec.CommandContext(t.Context(), "amble", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	if n := strings.Count("\n"+string(out), "\ngc "); n > 2 {
		t.Errorf("%d collections, want at most 2:\n%s", n, out)
	}
}
