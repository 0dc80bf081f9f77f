package estimate

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/internal/long"
)

var webs = flag.Int("estimate.webs", long.Seeds(100, 1000), "simulated webs")

// page is one page of a simulated web.
type page struct {
	bad   float64 // 0 for a good page, 1 for a bad one
	words float64
}

// simulatedSite returns the pages of a site. Sizes, faults and texts of sites vary over an order of magnitude, like those on the web.
func simulatedSite(r *rand.Rand) []page {
	pages := make([]page, 5+int(60*math.Exp(0.8*r.NormFloat64())))
	rate := 0.3 * r.Float64() * r.Float64()
	length := 300 * math.Exp(0.5*r.NormFloat64())
	for i := range pages {
		if r.Float64() < rate {
			pages[i].bad = 1
		}
		pages[i].words = length * math.Exp(0.7*r.NormFloat64())
	}
	return pages
}

// TestIntervalsHoldTheTruth draws pages of simulated sites as a crawl does, and loses a tenth of the responses. It counts how often the
// interval of 95 percent contains the true mean: over the pages of the crawled sites, and over those of all sites.
func TestIntervalsHoldTheTruth(t *testing.T) {
	held := map[string]int{}
	for n := range *webs {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		const all, chosen = 400, 40
		var web [all][]page
		var bad, words, count float64
		for i := range web {
			web[i] = simulatedSite(r)
			for _, p := range web[i] {
				bad, words, count = bad+p.bad, words+p.words, count+1
			}
		}
		var sampleBad, sampleWords []unit
		var hereBad, hereWords, hereCount float64
		for at, i := range r.Perm(all)[:chosen] {
			b := draw.Bottom{N: 30, Seed: fmt.Sprint(n)}
			for j, p := range web[i] {
				b.Add(fmt.Sprint(i, "/", j), fmt.Sprint(j), "")
				hereBad, hereWords, hereCount = hereBad+p.bad, hereWords+p.words, hereCount+1
			}
			var answered []page
			for _, it := range b.Drawn() {
				var j int
				_, _ = fmt.Sscan(it.URL, &j)
				if r.Float64() < 0.9 {
					answered = append(answered, web[i][j])
				}
			}
			weight := float64(len(b.Drawn())) / float64(len(answered)) / b.Probability()
			for _, p := range answered {
				sampleBad = append(sampleBad, unit{at, weight, p.bad})
				sampleWords = append(sampleWords, unit{at, weight, p.words})
			}
		}
		holds := func(what string, in Interval, truth float64) {
			if in.Low <= truth && truth <= in.High {
				held[what]++
			}
		}
		_, share := mean(sampleBad, true)
		_, length := mean(sampleWords, false)
		_, sum := total(sampleWords)
		holds("share of these sites", *share, hereBad/hereCount)
		holds("mean of these sites", *length, hereWords/hereCount)
		holds("total of these sites", sum, hereWords)
		holds("share of the web", *hostInterval(sampleBad, chosen, true, r), bad/count)
		holds("mean of the web", *hostInterval(sampleWords, chosen, false, r), words/count)
	}
	for what, n := range held {
		share := float64(n) / float64(*webs)
		t.Logf("%s: %.1f %%", what, 100*share)
		slack := 0.02 * math.Sqrt(1000/float64(*webs)) // three standard errors of the share of intervals that contain the mean
		if math.Abs(share-0.95) > slack {
			t.Errorf("%s: the interval holds the truth in %.1f %% of webs, want 95 ± %.1f", what, 100*share, 100*slack)
		}
	}
}
