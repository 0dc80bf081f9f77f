//go:build unix

package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The bookshop can be crawled by another process, and is served until a signal comes.
func TestDemoServes(t *testing.T) {
	p := start(t, "demo", "--serve", "--port", "0")
	first, err := p.stderr.ReadString('\n')
	base, _, ok := strings.Cut(first, " is a bookshop")
	if err != nil || !ok {
		t.Fatalf("%q, %v", first, err)
	}
	out, err := exec.Command("amble", "crawl", "-q", "-w", "0", base).Output()
	if n := strings.Count(string(out), `"outcome":"fetched"`); err != nil || n != 19 {
		t.Errorf("%d pages, %v\n%s", n, err, out)
	}
	p.signal(t, syscall.SIGINT)
	if code, stderr := p.end(t); code != 0 || !strings.Contains(stderr, "amble crawl "+base) {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
