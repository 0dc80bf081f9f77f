package recrawl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job/recrawl"
)

const day = 24 * time.Hour

// The estimated rate is the one at which the posterior density of the rate's logarithm is highest. The test finds this maximum by computing
// the density at every rate of a fine grid.
func TestRateIsTheMaximumOfThePosterior(t *testing.T) {
	prior := recrawl.Gamma{Shape: 0.7, Days: 3}
	gaps := []struct {
		days    float64
		changed bool
		age     float64
	}{{1, true, 0}, {2, false, 0}, {0.5, false, 0}, {9, true, 0}, {4, true, 1.5}, {3, false, 0}}
	var h recrawl.History
	for _, g := range gaps {
		h.Add(recrawl.Duration(g.days), g.changed, recrawl.Duration(g.age))
	}
	best, most := 0.0, math.Inf(-1)
	for rate := 0.001; rate < 10; rate *= 1.0005 {
		p := prior.Shape*math.Log(rate) - prior.Days*rate
		for _, g := range gaps {
			switch {
			case g.age > 0:
				p += math.Log(rate) - rate*g.age
			case g.changed:
				p += math.Log(1 - math.Exp(-rate*g.days))
			default:
				p -= rate * g.days
			}
		}
		if p > most {
			best, most = rate, p
		}
	}
	if got := h.Rate(prior); math.Abs(got-best) > 0.001*best {
		t.Errorf("rate %v, want %v", got, best)
	}
}

// A visit that finds a change may stand for several changes. An estimate that counts each as one is too low for pages that change often.
func TestRateOfACensoredPage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []float64{0.05, 0.5, 2} {
		var sum, counted float64
		for range 200 {
			var h recrawl.History
			for range 40 {
				gap := 0.5 + r.Float64()
				h.Add(recrawl.Duration(gap), r.Float64() < 1-math.Exp(-rate*gap), 0)
			}
			sum += h.Rate(recrawl.Gamma{Shape: 0.1, Days: 0.1 / rate})
			counted += float64(h.Changes()) / 40
		}
		if got := sum / 200; math.Abs(got-rate) > 0.1*rate {
			t.Errorf("rate %v is estimated as %v (%v by counting)", rate, got, counted/200)
		}
	}
}

func TestHistoryForgetsTheOldest(t *testing.T) {
	var h recrawl.History
	for range 1000 {
		h.Add(day, true, 0)
		h.Add(day, false, 0)
	}
	if n := h.Changes(); n > 40 {
		t.Errorf("%d changes are kept", n)
	}
	for range 60 { // first the page changed every other day, and now once in two months
		h.Add(30*day, true, 3*day)
		h.Add(30*day, false, 0)
	}
	if got := h.Rate(recrawl.Unknown()); got > 1.0/10 {
		t.Errorf("rate %v: the past is not forgotten", got)
	}
	h = recrawl.History{}
	for range 1000 {
		h.Add(day, false, 0)
	}
	if got := h.Rate(recrawl.Unknown()); got > 0.001 {
		t.Errorf("a page that has not changed for 1,000 days: rate %v", got)
	}
	h = recrawl.History{}
	h.Add(0, true, 0)
	h.Add(-day, true, 0)
	if !h.Empty() {
		t.Error("a gap that is not positive was counted")
	}
}

// If the pages of a folder change once a week on average, the estimate for a page that was visited only once is about that rate.
func TestLearnFromSiblings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var pasts []*recrawl.History
	var all float64
	for range 200 {
		rate := (r.ExpFloat64() + r.ExpFloat64()) / 2 / 7 // Gamma(2, 14)
		all += rate / 200
		h := new(recrawl.History)
		for range 15 {
			gap := 1 + 6*r.Float64()
			h.Add(recrawl.Duration(gap), r.Float64() < 1-math.Exp(-rate*gap), 0)
		}
		pasts = append(pasts, h)
	}
	g := recrawl.Learn(pasts, recrawl.Unknown())
	if math.Abs(g.Mean()-all) > 0.1*all || g.Shape < 1.3 || g.Shape > 3 {
		t.Errorf("learnt %+v with the mean %v; want the shape 2 and the mean %v", g, g.Mean(), all)
	}
}

// Two folders of a host are learned separately: a new page in the fast folder is visited more often than a new page in the slow one.
func TestScheduleLearnsByFolder(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 60})
	for i := range 80 {
		s.Add(fmt.Sprintf("/%s/%d", []string{"news", "manual"}[i%2], i), at(0))
	}
	now := at(0)
	for range 400 {
		i, wait := s.Next(now)
		if i < 0 {
			now = wait
			continue
		}
		s.Visit(i, now, i%2 == 0, 0)
	}
	quick, slow := s.Add("/news/new", now), s.Add("/manual/new", now)
	if q, m := s.Page(quick).Rate, s.Page(slow).Rate; q < 5*m {
		t.Errorf("new pages: %v changes a day in the quick folder, %v in the slow one", q, m)
	}
}
