//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/politeness/machine"
)

// Another process can crawl the bookshop of the demo, which is served until a signal arrives.
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
	if out, err := exec.Command("amble", "text", base+"catalogue.pdf").Output(); err != nil || !strings.Contains(string(out), "Germinal, Émile Zola: 11.30") {
		t.Errorf("the catalogue: %v\n%s", err, out)
	}
	p.signal(t, syscall.SIGINT)
	if code, stderr := p.end(t); code != 0 || !strings.Contains(stderr, "amble crawl "+base) {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// TestDemoDoesNotUseStateDirectory checks that the demo does not use the state directory: its hosts are private, and its job is removed
// soon after the demo.
func TestDemoDoesNotUseStateDirectory(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv(machine.StateVariable, state)
	a, out, errs := testApp(nil)
	if code := a.run([]string{"demo", "-q", "-w", "1ms"}); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(state); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state directory is there: %v", err)
	}
}
