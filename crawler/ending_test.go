package crawler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
)

func TestCancelIsAHardStop(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rep, err := cr.Run(ctx, s.URL("/"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 15*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if rep.Finish != crawler.FinishCanceled || rep.Left != 1 || len(rep.Outcomes) != 0 {
			t.Errorf("the URL in flight stays queued: %+v", rep)
		}
	})
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(25*time.Second, cr.Drain)
		defer stop.Stop()
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDrained || rep.Pages != 1 || rep.Left != 1 {
			t.Errorf("%v %+v", err, rep)
		}
	})
}

// TestForbiddenLastURLsEndTheCrawlAtOnce: if robots.txt disallows the last URLs, the crawl ends without a pause for
// them. Pauses before actual requests are kept.
func TestForbiddenLastURLsEndTheCrawlAtOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		seeds   []string
		links   []string
		elapsed time.Duration
	}{
		{"only seed", []string{"/no/seed"}, nil, 0},
		{"many seeds", []string{"/no/1", "/no/2", "/no/3"}, nil, 0},
		{"links of the last page", []string{"/"}, []string{"/no/1", "/no/2", "/no/3"}, 3 * time.Second},
		{"before and after allowed pages", []string{"/no/seed", "/"}, []string{"/no/1", "/yes", "/no/2", "/yes/2", "/no/3"}, 9 * time.Second},
	} {
		for _, durable := range []bool{false, true} {
			if durable && len(c.seeds) == 2 { // a commit may be under way, which takes one more pause
				continue
			}
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Robots("User-agent: *\nDisallow: /no/\n")
				s.Page("/", links(c.links...))
				s.Page("/yes", "text")
				s.Page("/yes/2", "text")
				cfg := crawler.Config{Politeness: politeness.Config{Delay: 3 * time.Second}}
				if durable {
					store, err := disk.Open(t.TempDir(), disk.Config{ReopenDelay: time.Second, CacheSize: 8 << 20, MemTableSize: 1 << 20})
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = store.Close() }()
					cfg.Frontier = store
				}
				var seeds []string
				for _, path := range c.seeds {
					seeds = append(seeds, s.URL(path))
				}
				rep, v := crawl(t, w, cfg, seeds...)
				if refused := strings.Count(strings.Join(append(c.seeds[:len(c.seeds):len(c.seeds)], c.links...), " "), "/no/"); rep.Outcomes[crawler.Refused] != refused || len(v.all) != len(v.by) {
					t.Errorf("%s: %+v", c.name, rep.Outcomes)
				}
				if rep.Elapsed.Duration != c.elapsed {
					t.Errorf("%s, durable %v: the crawl took %v, want %v", c.name, durable, rep.Elapsed.Duration, c.elapsed)
				}
			})
		}
	}
}
