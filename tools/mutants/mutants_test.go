package mutants

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	every   = flag.Bool("mutants.all", false, "run every mutant, not just a few")
	asks    = flag.Bool("mutants.sims", false, "run both simulations on every mutant, and log which find it, with which seed")
	noUnits = flag.Bool("mutants.nounits", false, "run only the simulation of politeness' tests")
	longest = flag.Duration("mutants.timeout", 3*time.Minute, "how long one run of a simulation may take")
)

// Limits for the number of seeds that a simulation tries for a mutant if the seed in the table no longer works. They are seven times the
// average for the rarest mutant (one crawl in 214, one caller of a Gate in 10,000), so that one search in a thousand fails by chance.
const (
	crawlSeeds = 1500
	gateSeeds  = 70_000
	pageSeeds  = 300
)

// sims represents a set of simulations.
type sims uint8

const (
	crawl sims = 1 << iota // random crawls of random webs: TestSim of crawler
	gate                   // random callers of the Gate: TestGateSim of politeness
	page                   // random pages built by scripts, with kills: TestRenderSim of crawler
	lots                   // sitemaps from which samples are drawn, with kills: the tests of samples of crawler
	both  = crawl | gate
)

// TestMutants expects that for each mutant, tests of politeness fail, or those of crawler if the mutant is in crawler or fetcher. If the
// mutant removes a protection, the simulations that the table names must fail, too. Mutants of rendering and of samples are tried only with
// their simulation.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs tests of other packages")
	}
	ms := all()
	b := build(t, ms)
	t.Run("all", func(t *testing.T) { // ends after all mutants and before the binaries are removed
		for i, m := range ms {
			if !m.tried() {
				continue
			}
			t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				b.run(t, i+1, m)
			})
		}
	})
}

// tried reports whether the flags ask for a mutant.
func (m mutant) tried() bool { return m.quick || *every || *asks }

// run tries one mutant.
func (b binaries) run(t *testing.T, n int, m mutant) {
	t.Helper()
	if m.sees == page { // the mutant does not concern politeness
		if seed, ok := b.simulate(t, n, page, m.seed[page]); !ok {
			t.Errorf("the %v simulation does not notice: %s", page, m.name)
		} else if *asks {
			t.Logf("%s: seed %d of the %v simulation", m.name, seed, page)
		}
		return
	}
	if m.sees == lots {
		if failed, _ := execute(t, n, b.crawler, "crawler", "-test.run=^TestSample", "-sample.every=1", "-sample.webs=60"); !failed {
			t.Errorf("no test of samples notices: %s", m.name)
		}
		return
	}
	if !*noUnits {
		failed, _ := execute(t, n, b.politeness, "politeness", "-test.skip=^TestGateSim$")
		if !failed && path.Dir(m.file) == "politeness/ledger" {
			failed, _ = execute(t, n, b.ledger, "politeness/ledger")
		}
		if dir := path.Dir(m.file); !failed && (dir == "crawler" || dir == "fetcher") {
			failed, _ = execute(t, n, b.crawler, "crawler", "-test.short", "-test.skip=^Test(Sim|RenderSim|Sample)")
		}
		if !failed {
			t.Errorf("no test of politeness notices: %s", m.name)
		}
	}
	for _, s := range []sims{gate, crawl} {
		if m.sees&s == 0 && !*asks {
			continue
		}
		switch seed, ok := b.simulate(t, n, s, m.seed[s]); {
		case *asks && ok:
			t.Logf("%s: seed %d of the %v simulation", m.name, seed, s)
		case m.sees&s != 0 && !ok:
			t.Errorf("the %v simulation does not notice: %s", s, m.name)
		}
	}
}

func (s sims) String() string {
	switch s {
	case crawl:
		return "crawl"
	case page:
		return "page"
	}
	return "gate"
}

// simulate reports whether a simulation fails for a mutant, and for which seed. It tries the known seed first. If this seed no longer finds
// the mutant, it tries others.
func (b binaries) simulate(t *testing.T, n int, s sims, known uint64) (seed uint64, failed bool) {
	t.Helper()
	bin, dir, run, one, seeds := b.politeness, "politeness", "-test.run=^TestGateSim$", "-sim.seed", gateSeeds
	count := "-sim.n"
	switch s {
	case crawl:
		bin, dir, run, one, seeds = b.crawler, "crawler", "-test.run=^TestSim$", "-seed", crawlSeeds
	case page:
		bin, dir, run, one, seeds, count = b.crawler, "crawler", "-test.run=^TestRenderSim$", "-rendersim.seed", pageSeeds, "-rendersim.n"
	}
	if known != 0 {
		if failed, _ := execute(t, n, bin, dir, run, fmt.Sprintf("%s=%d", one, known)); failed {
			return known, true
		}
	}
	failed, said := execute(t, n, bin, dir, run, fmt.Sprintf("%s=%d", count, seeds))
	if m := found.FindStringSubmatch(said); failed && m != nil {
		_, _ = fmt.Sscan(m[1], &seed)
		t.Logf("seed %d of the %v simulation finds it; the table has %d", seed, s, known)
	}
	return seed, failed
}

var found = regexp.MustCompile(`FAIL: Test(?:Gate|Render)?Sim/seed=(\d+)`)

// execute runs a test binary with a mutant, and reports whether its tests fail. A run that takes too long counts as a run that passes.
func execute(t *testing.T, n int, bin, dir string, args ...string) (failed bool, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append(args, "-test.failfast")...)
	cmd.Dir = filepath.Join(root, dir)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, n), "TEST_FULL=1") // some failures are rare
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%s %v: %v, %v", dir, args, err, time.Since(begin).Round(10*time.Millisecond))
	return err != nil && ctx.Err() == nil, string(out)
}
