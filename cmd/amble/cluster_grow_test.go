//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterGrows doubles the shards of a job that was drained halfway. The command refuses to double them while nodes may work. Other
// nodes crawl the rest. Each page is requested once and is once in the collected job, and verify finds no violation.
func TestClusterGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	skipUnderRace(t)
	t.Parallel()
	web, dir := newClusterWeb(t, 6, 8), t.TempDir()
	at := []string{"--cluster", serveEngine(t, filepath.Join(dir, "engine")), "--job", "test"}
	do := func(command string, args ...string) *proc {
		return launch(t, append(append([]string{"cluster"}, append(strings.Fields(command), args...)...), at...)...)
	}
	do("create", "--shards", "2", "--replicas", "1", "--lease", "6s", "--delay", "100ms", "--depth", "1000", "--scope", "any", "--max-pages", "1000", web.bases[0]+"/0").ends(0)
	a := do("work", "--name", "a", "-o", filepath.Join(dir, "a"))
	until(t, "some pages", func() bool { return web.count() > 15 })
	x := do("job grow", "4")
	if x.ends(2); !strings.Contains(x.says.String(), "amble cluster job drain") {
		t.Errorf("while a node works: %s", x.says)
	}
	do("job drain").ends(0)
	a.ends(0)
	for args, says := range map[string]string{"job grow 5": "can be doubled", "job grow many": "the new number of shards", "job grow": "takes 1 argument"} {
		x := do(args)
		if x.ends(2); !strings.Contains(x.says.String(), says) {
			t.Errorf("%s: %s", args, x.says)
		}
	}
	for range 2 {
		x := do("job grow", "4")
		if x.ends(0); !strings.Contains(x.says.String(), "job test has 4 shards") {
			t.Errorf("grow: %s", x.says)
		}
	}
	half := web.count()
	do("job resume").ends(0)
	b, c := do("work", "--name", "b", "-o", filepath.Join(dir, "b")), do("work", "--name", "c", "-o", filepath.Join(dir, "c"))
	b.ends(0)
	c.ends(0)
	if all := web.count(); all <= half+6 {
		t.Errorf("%d requests before the doubling, %d in all", half, all)
	}
	out := filepath.Join(dir, "out")
	do("collect", "-o", out, filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")).ends(0)
	launch(t, "verify", out).ends(0)
	web.check(t)
	checkCollected(t, web, out, 0)
	if n := web.count(); n > len(web.pages)+3*len(web.bases) {
		t.Errorf("%d requests of %d pages and %d robots.txt files", n, len(web.pages), len(web.bases))
	}
}
