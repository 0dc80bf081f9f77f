package mutants

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	all  = flag.Bool("mutants.all", false, "run every mutant, not just a few")
	unit = flag.Bool("mutants.unit", false, "leave the simulation out")
	sims = flag.Bool("mutants.sim", false, "run the simulation on every mutant and log which it does not see")
)

// simulation is how many seeds the simulation goes through to find a mutant.
const simulation = "40"

// TestMutants applies each mutant by an overlay, so that the working tree stays as it is, and expects
// politeness' own tests to fail; and, of mutants that a server could notice, the simulated crawls too.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs tests of other packages")
	}
	for _, m := range table {
		if !m.quick && !*all {
			continue
		}
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			overlay := m.overlay(t)
			if m.unit != "" && passes(t, overlay, m.unit) {
				t.Errorf("no test of %s notices: %s", m.unit, m.name)
			}
			switch {
			case *unit:
			case m.seen && passes(t, overlay, "./crawler", "-run=^TestSim$", "-sim.n="+simulation):
				t.Errorf("no simulated crawl notices: %s", m.name)
			case !m.seen && *sims && passes(t, overlay, "./crawler", "-run=^TestSim$", "-sim.n="+simulation):
				t.Logf("the simulation does not see: %s", m.name)
			}
		})
	}
}

// overlay writes the mutated file and the JSON that go's -overlay flag takes, and returns the
// latter's name.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		t.Fatalf("%s has %d places for the mutant: %q", m.file, n, m.old)
	}
	dir := t.TempDir()
	mutated, list := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	spec, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{mutated: strings.Replace(string(src), m.old, m.new, 1), list: string(spec)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// passes runs the tests of a package with an overlay and reports whether they pass. A mutant that does
// not build proves nothing and ends the test.
func passes(t *testing.T, overlay, pkg string, args ...string) bool {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-overlay=" + overlay, "-vet=off", "-count=1", "-timeout=30s", "-failfast", pkg}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if text := string(out); strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") {
		t.Fatalf("the mutant does not build:\n%s", text)
	}
	t.Logf("%s: %v, %v", pkg, err, time.Since(begin).Round(100*time.Millisecond))
	return err == nil
}
