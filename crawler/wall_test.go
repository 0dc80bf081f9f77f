package crawler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// wall turns a response into a Cloudflare challenge, by its header field.
func wall(p *crawltest.Page) { p.Header("Cf-Mitigated", "challenge") }

// TestWallOnRobotsPermitsNothing: if a bot wall answers robots.txt, by status 202 or a challenge, no page of the site
// is requested.
func TestWallOnRobotsPermitsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		robots func(s *crawltest.Site)
		says   string
		wall   string
	}{
		"202":            {func(s *crawltest.Site) { s.Robots("<!doctype html><p>one moment").Type("text/html").Status(202) }, "status 202", ""},
		"200, challenge": {func(s *crawltest.Site) { wall(s.Robots("User-agent: *\nAllow: /\n")) }, "a challenge of Cloudflare", "Cloudflare"},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				c.robots(s)
				s.Page("/", links("/b"))
				rep, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{RobotsGiveUp: time.Minute}}, s.URL("/"))
				seed := v.by[s.URL("/")]
				if rep.Pages != 0 || seed.Outcome != crawler.Deferred || seed.Reason != politeness.ReasonRobotsUnreachable || !strings.Contains(fmt.Sprint(seed.Err), c.says) {
					t.Errorf("%d pages, seed %s %s: %v", rep.Pages, seed.Outcome, seed.Reason, seed.Err)
				}
				for _, r := range w.Requests() {
					if !strings.HasSuffix(r.URL, "/robots.txt") {
						t.Errorf("%s was requested", r.URL)
					}
				}
				if c.wall == "" && len(rep.WalledSeeds) > 0 || c.wall != "" && (len(rep.WalledSeeds) != 1 || rep.WalledSeeds[0] != crawler.WalledSeed{URL: s.URL("/"), Wall: c.wall} || rep.Walls[c.wall] < 2) {
					t.Errorf("walls %v, seeds %v", rep.Walls, rep.WalledSeeds)
				}
			})
		})
	}
}

// TestWallAsPageIsRefused: a challenge is not a page, whatever its status. It is not stored, followed or requested
// again, and its host is given up after five of them.
func TestWallAsPageIsRefused(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3", "/4", "/5", "/6", "/7"))
		for i, status := range []int{200, 202, 403, 503, 429, 200, 200} {
			p := s.Page(fmt.Sprintf("/%d", i+1), links("/beyond")).Status(status)
			wall(p)
		}
		s.Page("/beyond", "")
		var pages int
		kept := &keeping{}
		rep, v := crawl(t, w, crawler.Config{
			Fetch: fetcher.Config{Record: true}, Sinks: []sink.Sink{kept},
		}, s.URL("/"))
		for _, x := range v.by {
			if x.Reason == politeness.ReasonChallenge && x.Outcome == crawler.Refused {
				pages++
			}
		}
		if pages != 5 || rep.Reasons[politeness.ReasonChallenge] != 7 || rep.Outcomes[crawler.Deferred] != 2 || rep.Pages != 1 || rep.Walls["Cloudflare"] != 5 || rep.Retries != 0 {
			t.Errorf("%d walls refused; report %+v", pages, rep)
		}
		if !slices.Equal(kept.urls, []string{s.URL("/")}) {
			t.Errorf("archived: %v", kept.urls)
		}
		for _, r := range w.Requests() {
			if strings.HasSuffix(r.URL, "/beyond") {
				t.Errorf("%s was requested", r.URL)
			}
		}
	})
}

// TestHTMLRobotsIsNamed: a robots.txt that is an HTML page, but not a challenge, contains no rules, and the report names
// its origin.
func TestHTMLRobotsIsNamed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, plain := w.Site("http://a.example"), w.Site("http://b.example")
		s.Robots("<!doctype html><title>Home</title><p>hello").Type("text/html")
		plain.Robots("User-agent: *\nDisallow:\n")
		s.Page("/", "")
		plain.Page("/", "")
		rep, _ := crawl(t, w, crawler.Config{}, s.URL("/"), plain.URL("/"))
		if rep.Pages != 2 || len(rep.HTMLRobots) != 1 || rep.HTMLRobots[0] != "http://a.example" {
			t.Errorf("%d pages, %v", rep.Pages, rep.HTMLRobots)
		}
	})
}
