package recrawl_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job/recrawl"
)

var (
	simPages = flag.Int("sim.pages", 80, "pages of a simulated site")
	simSeeds = flag.Int("sim.seeds", 1, "simulated sites for each law")
)

// laws are probability distributions of the rates, in changes a day, at which pages change.
var laws = map[string]func(r *rand.Rand) float64{
	"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() / 10 },
	"pareto":      func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1/1.2) / 60 },
	"bimodal": func(r *rand.Rand) float64 {
		if r.Float64() < 0.2 {
			return 0.7
		}
		return 0.01
	},
	"lognormal": func(r *rand.Rand) float64 { return math.Exp(2*r.NormFloat64()) / 30 },
}

// site represents a simulated site by the times at which its pages change.
type site struct {
	rates   []float64
	changes [][]float64 // times of each page's changes in days, ascending
	days    float64
}

func poisson(seed uint64, law func(r *rand.Rand) float64, pages int, days float64) *site {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &site{days: days}
	for range pages {
		rate := law(r)
		s.rates = append(s.rates, rate)
		var at []float64
		if rate < 200 {
			for t := r.ExpFloat64() / rate; t < days; t += r.ExpFloat64() / rate {
				at = append(at, t)
			}
		}
		s.changes = append(s.changes, at)
	}
	return s
}

var origin = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func at(days float64) time.Time { return origin.Add(recrawl.Duration(days)) }

// freshness runs a schedule from the first visit of every page to the end of the site. It returns the number of visits, and the expected
// share of the time after "from" during which copies equal their pages. The time from a visit to the next change is exponential and
// independent of the schedule. Instead of the simulated changes, the expectation (1 − e^(−λΔ))/λ is used, where Δ is the time to the next
// visit.
func (s *site) freshness(c recrawl.Config, from float64) (fresh float64, visits int) {
	sched := recrawl.New(c)
	n := len(s.rates)
	seen, next := make([]float64, n), make([]int, n) // time of the last visit of each page; index of the first change after it
	for i := range n {
		sched.Add(fmt.Sprintf("/%d/%d", i%3, i), at(0))
	}
	settle := func(i int, now float64) {
		until := func(t float64) float64 { return -math.Expm1(-s.rates[i]*max(0, t-seen[i])) / s.rates[i] }
		if now > from {
			fresh += until(now) - until(from)
		}
	}
	for now := 0.0; now < s.days; {
		i, wait := sched.Next(at(now))
		if i < 0 {
			now = max(now+1e-6, recrawl.Days(wait.Sub(origin)))
			continue
		}
		settle(i, now)
		before := next[i]
		for next[i] < len(s.changes[i]) && s.changes[i][next[i]] <= now {
			next[i]++
		}
		seen[i] = now
		sched.Visit(i, at(now), next[i] > before, 0)
		visits++
	}
	for i := range n {
		settle(i, s.days)
	}
	return fresh / (s.days - from) / float64(n), visits
}

// spacings returns the tested mean intervals between two visits of a page, in days, that the budget allows.
func spacings() []float64 {
	if *simSeeds > 1 {
		return []float64{5, 15}
	}
	return []float64{10}
}

// After twenty visits of each page, the freshness is at least 0.95 of the optimum for the true rates and as many requests. It is never less
// than with equally frequent visits, with which a schedule begins, and to which it returns if learning does not help.
func TestSimFreshness(t *testing.T) {
	for name, law := range laws {
		for _, every := range spacings() {
			for seed := range uint64(*simSeeds) {
				s := poisson(seed+1, law, *simPages, 40*every)
				budget := float64(*simPages) / every / (1 - recrawl.DefaultDiscovery)
				c := recrawl.Config{Budget: budget, Solve: 48 * time.Hour}
				got, visits := s.freshness(c, 20*every)
				c.Uniform = true
				alike, _ := s.freshness(c, 20*every)
				f, _ := recrawl.Optimum(s.rates, float64(*simPages)/every, 0, 24)
				best := mean(s.rates, f)
				t.Logf("%-12s every %2.0f d, seed %d: optimum %.3f, estimated %.3f (%.3f of it), uniform %.3f (%.3f), %d visits", name, every, seed, best, got, got/best, alike, alike/best, visits)
				if got < 0.95*best {
					t.Errorf("%s, every %v days, seed %d: freshness %.3f is less than 0.95 of %.3f", name, every, seed, got, best)
				}
				if got < alike-0.002 {
					t.Errorf("%s, every %v days, seed %d: freshness %.3f is less than %.3f of visiting all alike", name, every, seed, got, alike)
				}
			}
		}
	}
}
