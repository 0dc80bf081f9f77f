package crawler_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
)

// TestCrowdedAddress crawls many hosts at one address. Requests follow each other without gaps, every host gets its
// turn, and waiting for a turn does not count as a failure.
func TestCrowdedAddress(t *testing.T) {
	const latency = 200 * time.Millisecond
	hosts := 500
	if long.Race {
		hosts = 100
	}
	for _, c := range []struct {
		name    string
		budget  int           // pages per host, 0: all
		failing int           // initial 503 responses for the robots.txt of every third host
		pages   func(int) int // pages of a host, besides the first
		latency func(int) time.Duration
		longest time.Duration // longest time between two requests to one host
	}{
		{name: "even", pages: func(int) int { return 3 }, longest: 11 * time.Minute},
		{name: "one large host", pages: func(i int) int { return 1 + 300/(i+1) }, longest: 11 * time.Minute},
		{name: "robots.txt unavailable", pages: func(int) int { return 3 }, failing: 4, longest: 11 * time.Minute},
		{name: "budget", pages: func(int) int { return 9 }, budget: 3, longest: 11 * time.Minute},
		{name: "slow hosts", pages: func(int) int { return 3 }, latency: func(i int) time.Duration { return time.Duration(i%10) * 300 * time.Millisecond }, longest: 32 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				seeds := make([]string, hosts)
				all := 0
				for i := range hosts {
					s := w.Site(fmt.Sprintf("http://h%d.example", i)).Address("192.0.2.1").Latency(latency)
					if c.latency != nil {
						s.Latency(c.latency(i))
					}
					if i%3 == 0 && c.failing > 0 {
						s.Robots("").Fault(crawltest.Fail(503).First(c.failing))
					}
					refs := make([]string, c.pages(i))
					for n := range refs {
						refs[n] = fmt.Sprintf("/%d", n)
						s.Page(refs[n], "")
					}
					s.Page("/", links(refs...))
					seeds[i] = s.URL("/")
					all += min(1+len(refs), cmp.Or(c.budget, 1000))
				}
				limits := crawler.Limits{Pages: crawler.Unlimited, PagesPerHost: crawler.Limit(c.budget)}
				start := time.Now()
				rep, _ := crawl(t, w, crawler.Config{Limits: limits}, seeds...)
				took := time.Since(start)
				if rep.Pages != all {
					t.Errorf("%d pages of %d: %v %v", rep.Pages, all, rep.Outcomes, rep.Reasons)
				}
				var least, longest time.Duration
				last := map[string]time.Time{}
				for _, r := range w.Requests() {
					answer := r.End.Sub(r.Start)
					least += answer + max(politeness.DefaultDelay, answer) // DefaultDelayFactor is 1
					if at, ok := last[r.Host]; ok {
						longest = max(longest, r.Start.Sub(at))
					}
					last[r.Host] = r.Start
				}
				t.Logf("%v of %v (%.4f), longest wait of a host %v", took, least, float64(took)/float64(least), longest)
				if float64(took) > 1.02*float64(least) {
					t.Errorf("took %v; the requests alone take %v", took, least)
				}
				if longest > c.longest {
					t.Errorf("a host waited %v for its turn", longest)
				}
			})
		})
	}
}
