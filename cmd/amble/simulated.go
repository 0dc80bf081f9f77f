package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// simulateCmd is "amble simulate", which plan starts: it reads a simulation and writes what came of it.
type simulateCmd struct{}

// Run executes the command. It does not return: package testing ends the process.
func (simulateCmd) Run(a *app) error {
	var s simulation
	if err := json.NewDecoder(a.in).Decode(&s); err != nil {
		return usage("simulate is for plan --simulate alone: %w", err)
	}
	play := func(t *testing.T) {
		res, err := s.play(t)
		if err == nil {
			err = printJSON(a.out, res)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "simulation", F: play}}, nil, nil)
	return nil
}

// play crawls the synthetic web in virtual time.
func (s *simulation) play(t *testing.T) (res simulated, err error) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.ExpectViolations() // a plan is no test: nothing is printed but the result
		var rep *crawler.Report
		c, seeds, failed := s.crawler(w)
		if err = failed; err == nil {
			rep, err = c.Run(t.Context(), seeds...)
		}
		if err == nil {
			res = simulated{rep.Ended.Sub(rep.Started), rep.Pages, rep.Requests}
		}
	})
	return res, err
}

// crawler makes the web and a crawler for it.
func (s *simulation) crawler(w *crawltest.Web) (*crawler.Crawler, []string, error) {
	var seeds []string
	for i := range s.Hosts {
		seeds = append(seeds, s.site(w, i))
	}
	cfg := crawler.Config{
		Contact: "https://lab.university.edu/crawl", MaxDepth: crawler.None, MaxPages: crawler.None, Concurrency: s.Concurrency,
		Politeness: politeness.Config{
			Delay: s.Delay, DelayFactor: s.DelayFactor, MaxDelay: s.MaxDelay, Rate: s.Rate, MaxCrawlDelay: politeness.None,
		},
	}
	cfg.Fetch.DialContext, cfg.Fetch.Resolver, cfg.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	c, err := crawler.New(cfg)
	return c, seeds, err
}

// site makes one host of the plan: as many pages, the same address, the same delay.
func (s *simulation) site(w *crawltest.Web, i int) (seed string) {
	h := &s.Hosts[i]
	site := w.Site(fmt.Sprintf("host%d.sim.test", i)).Latency(s.Service)
	if h.Addr != "" {
		site.Address(h.Addr)
	}
	rules := "User-agent: *\nDisallow:\n"
	if h.Delay > max(0, s.Delay) {
		rules += fmt.Sprintf("Crawl-delay: %g\n", h.Delay.Round(time.Millisecond).Seconds())
	}
	site.Robots(rules)
	for p := range max(1, h.Pages) {
		site.Page(simPath(p), simLinks(p, h.Pages))
	}
	return site.URL(simPath(0))
}

func simPath(p int) string {
	if p == 0 {
		return "/"
	}
	return fmt.Sprintf("/%d", p)
}

// simFan is how many pages each page of the synthetic web is the first to link to.
const simFan = 50

func simLinks(p, pages int) string {
	var body []byte
	for q := p*simFan + 1; q <= (p+1)*simFan && q < pages; q++ {
		body = fmt.Appendf(body, "<a href=%s>%d</a>\n", simPath(q), q)
	}
	return string(body)
}
