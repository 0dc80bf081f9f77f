package crawler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		depth crawler.Limit
		pages int
	}{{crawler.SeedsOnly, 1}, {1, 2}, {3, 4}, {0, 6}, {crawler.Unlimited, 9}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			for i := range 9 {
				s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
			}
			s.Page("/9", "end").Status(404)
			rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: c.depth}}, s.URL("/0"))
			if c.depth == crawler.Unlimited {
				c.pages = 10
			}
			if rep.Pages != c.pages {
				t.Errorf("depth %d: %d pages, want %d", c.depth, rep.Pages, c.pages)
			}
		})
	}
}

func TestMaxPagesIsExact(t *testing.T) {
	for _, n := range []int{1, 7, 50, 199} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var seeds []string
			for h := range 20 {
				s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(time.Duration(h) * 30 * time.Millisecond)
				var all []string
				for i := range 10 {
					all = append(all, fmt.Sprintf("/%d", i))
					s.Page(all[i], links("/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"))
				}
				seeds = append(seeds, s.URL("/0"))
			}
			rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Pages: crawler.Limit(n)}, Concurrency: 50}, seeds...)
			pages := 0
			for _, r := range w.Requests() {
				if !strings.HasSuffix(r.URL, "/robots.txt") {
					pages++
				}
			}
			if rep.Pages != n || pages != n || len(v.all) != n || rep.Finish != crawler.FinishPages {
				t.Errorf("want %d pages: report %d, requests %d, visits %d, finish %s", n, rep.Pages, pages, len(v.all), rep.Finish)
			}
		})
	}
}

func TestMaxPerHost(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3", "/4"))
		for i := range 4 {
			s.Page(fmt.Sprintf("/%d", i+1), "")
		}
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{PagesPerHost: 3}}, s.URL("/"))
		if rep.Pages != 3 || rep.Reasons[crawler.ReasonHostBudget] != 2 || len(v.all) != 5 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestMaxTimeAndBytes(t *testing.T) {
	for _, c := range []struct {
		config crawler.Config
		finish crawler.Finish
	}{{crawler.Config{Limits: crawler.Limits{Time: 5 * time.Second}}, crawler.FinishTime}, {crawler.Config{Limits: crawler.Limits{Bytes: 5000}}, crawler.FinishBytes}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			for i := range 30 {
				s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1))+strings.Repeat("x", 1000))
			}
			c.config.Limits.Depth = crawler.Unlimited
			rep, _ := crawl(t, w, c.config, s.URL("/0"))
			if rep.Finish != c.finish || rep.Left != 1 || rep.Pages > 6 {
				t.Errorf("report %+v", rep)
			}
		})
	}
}

func TestErrorBudget(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 20 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "").Fault(crawltest.Reset())
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Errors: 3}, Retries: crawler.Retries{Max: crawler.Zero}}, s.URL("/"))
		if rep.Finish != crawler.FinishErrors || rep.Outcomes[crawler.Failed] != 3 {
			t.Errorf("report %+v", rep)
		}
	})
}
