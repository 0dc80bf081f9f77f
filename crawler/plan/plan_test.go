package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
)

func TestBoundAndSimulation(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name        string
		hosts       []Host
		rate        float64
		concurrency int
		bound, took time.Duration
		by          string
	}{
		{"one host", []Host{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 9}}, 0, 64, 10 * s, 10 * s, "host a"},
		{"the slowest decides", []Host{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 9}, {Host: "b", Addr: "127.0.0.2", Delay: 5 * s, Pages: 3}}, 0, 64, 15400 * time.Millisecond, 15400 * time.Millisecond, "host b"},
		{"an address is shared", []Host{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 4}, {Host: "b", Addr: "127.0.0.1", Delay: s, Pages: 4}}, 0, 64, 10 * s, 10 * s, "address 127.0.0.1"},
		{"a rate in all", []Host{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 4}, {Host: "b", Addr: "127.0.0.2", Delay: s, Pages: 4}}, 0.5, 64, 20 * s, 18100 * time.Millisecond, "rate 0.5"},
		{"too few workers", []Host{{Host: "a", Addr: "127.0.0.1", Pages: 9}, {Host: "b", Addr: "127.0.0.2", Pages: 9}}, 0, 1, s, 2 * s, "host a"},
		{"no address known", []Host{{Host: "a", Delay: s, Pages: 4}, {Host: "b", Delay: s, Pages: 4}}, 0, 64, 4500 * time.Millisecond, 4500 * time.Millisecond, "host a"},
	} {
		p := &Plan{Hosts: c.hosts, Rate: c.rate}
		p.SetBound(100 * time.Millisecond)
		if p.Bound.Round(100*time.Millisecond) != c.bound.Round(100*time.Millisecond) || p.DecidedBy != c.by {
			t.Errorf("%s: bound %v by %s, want %v by %s", c.name, p.Bound, p.DecidedBy, c.bound, c.by)
		}
		if took, _ := newSimulation(p, c.concurrency).run(); took.Round(100*time.Millisecond) != c.took.Round(100*time.Millisecond) {
			t.Errorf("%s: played through in %v, want %v", c.name, took, c.took)
		}
		if rep := crawled(t, p, 100*time.Millisecond, c.concurrency); rep.Elapsed.Round(100*time.Millisecond) != c.took.Round(100*time.Millisecond) {
			t.Errorf("%s: crawled in %v, want %v", c.name, rep.Elapsed, c.took)
		}
	}
}

// TestAssumedAnswers checks that a plan states which response times it assumes, so that it can be compared with a
// crawl.
func TestAssumedAnswers(t *testing.T) {
	p := &Plan{Hosts: []Host{{Host: "a", Delay: time.Second, Pages: 9}}}
	p.SetBound(150 * time.Millisecond)
	if want := "Each answer is assumed to take 150ms.\n"; !strings.HasSuffix(p.Text(), want) {
		t.Errorf("%s\nwant at its end: %s", p.Text(), want)
	}
}

// The simulation agrees with the crawler. On synthetic webs with random hosts, addresses and delays, both make the same
// number of requests and take the same time, except for the order of hosts that are ready at the same time.
func TestSimulationAgreesWithTheCrawler(t *testing.T) {
	const service = 200 * time.Millisecond
	for seed := range uint64(long.Seeds(60, 60)) {
		r := rand.New(rand.NewPCG(seed, 22))
		p := &Plan{Service: service}
		for i := range 1 + r.IntN(6) {
			p.Hosts = append(p.Hosts, Host{
				Host: fmt.Sprint("host", i), Addr: fmt.Sprint("192.88.99.", 1+r.IntN(3)), Pages: 1 + r.IntN(120),
				Delay: time.Duration(1+r.IntN(20)) * 100 * time.Millisecond,
			})
		}
		concurrency := []int{1, 2, 3, 64}[r.IntN(4)]
		took, requests := newSimulation(p, concurrency).run()
		rep := crawled(t, p, service, concurrency)
		if requests != rep.Requests || took < rep.Elapsed.Duration*3/4 || took > rep.Elapsed.Duration*5/4 {
			t.Errorf("seed %d: simulated %v for %d requests, the crawl took %v for %d: %+v, %d workers", seed, took, requests, rep.Elapsed, rep.Requests, p, concurrency)
		}
	}
}

// crawled runs the crawler in virtual time on a synthetic web of the plan's hosts.
func crawled(t *testing.T, p *Plan, service time.Duration, concurrency int) (rep *crawler.Report) {
	t.Helper()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.ExpectViolations() // the plan's delays are not those that the auditor expects
		var seeds []string
		for i := range p.Hosts {
			seeds = append(seeds, synthetic(w, &p.Hosts[i], i, service))
		}
		cfg := crawler.Config{
			Contact: "https://lab.university.edu/crawl", Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited}, Concurrency: concurrency,
			Politeness: politeness.Config{Delay: crawler.NoDelay, DelayFactor: crawler.NoFactor, Rate: p.Rate, MaxCrawlDelay: politeness.Forever},
		}
		w.Apply(&cfg)
		c, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if rep, err = c.Run(t.Context(), seeds...); err != nil {
			t.Fatal(err)
		}
	})
	return rep
}

// synthetic creates one host of a plan, with the same number of pages, address and delay.
func synthetic(w *crawltest.Web, h *Host, i int, service time.Duration) (seed string) {
	site := w.Site(fmt.Sprintf("host%d.sim.test", i)).Latency(service)
	if h.Addr != "" {
		site.Address(h.Addr)
	}
	site.Robots(fmt.Sprintf("User-agent: *\nDisallow:\nCrawl-delay: %g\n", h.Delay.Seconds()))
	const fan = 50 // pages that each page is the first to link to
	for n := range max(1, h.Pages) {
		var body []byte
		for q := n*fan + 1; q <= (n+1)*fan && q < h.Pages; q++ {
			body = fmt.Appendf(body, "<a href=%s>%d</a>\n", syntheticPath(q), q)
		}
		site.Page(syntheticPath(n), string(body))
	}
	return site.URL(syntheticPath(0))
}

func syntheticPath(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/%d", n)
}
