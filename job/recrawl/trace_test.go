package recrawl_test

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job/recrawl"
)

// readTrace returns the pages of testdata/reference-commits.txt that existed on the day from, and the days after it on which they changed.
func readTrace(t *testing.T, from time.Time, days float64) (paths []string, changes [][]float64) {
	t.Helper()
	b, err := os.ReadFile("testdata/reference-commits.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if line[0] == '#' {
			continue
		}
		var at []float64
		for _, f := range fields[1:] {
			hours, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, hours/24-float64(from.Unix())/86400)
		}
		if at[0] >= 0 {
			continue // the page did not exist yet
		}
		at = slices.DeleteFunc(at, func(d float64) bool { return d < 0 || d >= days })
		paths, changes = append(paths, "/"+fields[0]), append(changes, at)
	}
	return paths, changes
}

// staleness adds up the time, from a given day on, during which copies differed from their pages.
type staleness struct {
	from, sum float64
	next      []int // index of the first change of each page after its last visit
	changes   [][]float64
}

// visit records a visit, and reports whether the page has changed since its previous visit.
func (s *staleness) visit(i int, now float64) (hasChanged bool) {
	all, n := s.changes[i], s.next[i]
	for s.next[i] < len(all) && all[s.next[i]] <= now {
		s.next[i]++
	}
	if s.next[i] > n {
		s.sum += max(0, now-max(all[n], s.from))
	}
	return s.next[i] > n
}

func (s *staleness) freshness(days float64) float64 {
	for i := range s.changes {
		s.visit(i, days)
	}
	return 1 - s.sum/(days-s.from)/float64(len(s.changes))
}

// Commits to documentation come in bursts, not at a constant rate. After twenty visits of each page, the freshness is at least 0.95 of that
// with the optimal frequencies for the overall rates, and not less than that with equally frequent visits.
func TestSimCommitsOfADocumentation(t *testing.T) {
	const days, every, from = 2400.0, 30.0, 600.0
	paths, changes := readTrace(t, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), days)
	if len(paths) < 50 {
		t.Fatalf("only %d pages", len(paths))
	}
	perDay := float64(len(paths)) / every
	run := func(c recrawl.Config) float64 {
		s := &staleness{from: from, next: make([]int, len(paths)), changes: changes}
		c.Budget, c.Solve = perDay/(1-recrawl.DefaultDiscovery), 10*24*time.Hour
		sched := recrawl.New(c)
		for _, p := range paths {
			sched.Add(p, at(0))
		}
		for now := 0.0; now < days; {
			i, wait := sched.Next(at(now))
			if i < 0 {
				now = max(now+1e-6, recrawl.Days(wait.Sub(origin)))
				continue
			}
			sched.Visit(i, at(now), s.visit(i, now), 0)
		}
		return s.freshness(days)
	}
	rates := make([]float64, len(paths))
	for i := range rates {
		rates[i] = float64(len(changes[i])) / days
	}
	frequencies, _ := recrawl.Optimum(rates, perDay, 0, math.Inf(1))
	known := &staleness{from: from, next: make([]int, len(paths)), changes: changes}
	for i, f := range frequencies {
		for now := float64(i%97) / 97 / f; now < days; now += 1 / f {
			known.visit(i, now)
		}
	}
	got, alike, best := run(recrawl.Config{}), run(recrawl.Config{Uniform: true}), known.freshness(days)
	t.Logf("%d pages, a visit in %v days: estimated %.4f, uniform %.4f, with known rates %.4f", len(paths), every, got, alike, best)
	if got < 0.95*best || got < alike {
		t.Errorf("freshness %.4f; all alike %.4f, with known rates %.4f", got, alike, best)
	}
}
