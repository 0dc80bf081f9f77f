package crawler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
)

// digit scores a URL by the last digit of its path.
func digit(q frontier.Request) float64 { return float64(q.URL.Path()[len(q.URL.Path())-1] - '0') }

// TestRescoreWhileCrawling rescores the queue twice from a Handler during a crawl, and once before the crawl is
// resumed. The servers check that no pause gets shorter (newCrawler).
func TestRescoreWhileCrawling(t *testing.T) {
	for _, store := range []string{"memory", "disk"} {
		t.Run(store, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				var all []string
				for i := 1; i <= 8; i++ {
					all = append(all, fmt.Sprint("/", i))
					s.Page(fmt.Sprint("/", i), "")
				}
				s.Page("/", links(all...))
				var c *crawler.Crawler
				var order []string
				cfg := crawler.Config{
					Score: func(*crawler.Visit, *crawler.Link) float64 { return 0.5 },
					Handler: crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
						order = append(order, v.URL.Path())
						score, want := digit, 7
						switch v.URL.Path() {
						case "/1":
						case "/8": // rescores the other URLs, /2 to /7
							score, want = func(q frontier.Request) float64 { return -q.Score }, 6
						default:
							return nil
						}
						n, err := c.Rescore(ctx, score)
						if n != want {
							t.Errorf("after %s: %d scores have changed, want %d", v.URL.Path(), n, want)
						}
						return err
					}),
				}
				if store == "memory" {
					c = newCrawler(t, w, cfg)
					if _, err := c.Run(t.Context(), s.URL("/")); err != nil {
						t.Fatal(err)
					}
					if want := "/ /1 /8 /2 /3 /4 /5 /6 /7"; strings.Join(order, " ") != want {
						t.Errorf("visited %v, want %s", order, want)
					}
					if n, err := c.Rescore(t.Context(), digit); n != 0 || err != nil {
						t.Errorf("without a Run: %d, %v", n, err)
					}
					return
				}
				dir := t.TempDir()
				for _, cfg.Limits.Pages = range []crawler.Limit{4, 0} {
					q, err := disk.Open(dir, disk.Config{})
					if err != nil {
						t.Fatal(err)
					}
					cfg.Frontier = q
					c = newCrawler(t, w, cfg)
					if slices.Contains(order, "/2") { // the crawl is resumed, with /3 to /7 rescored to -3 to -7
						if n, err := c.Rescore(t.Context(), digit); n != 5 || err != nil {
							t.Errorf("before it is resumed: %d, %v; want 5", n, err)
						}
					}
					if _, err := c.Run(t.Context(), s.URL("/")); err != nil {
						t.Fatal(err)
					}
					if err := q.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if want := "/ /1 /8 /2 /7 /6 /5 /4 /3"; strings.Join(order, " ") != want {
					t.Errorf("visited %v, want %s", order, want)
				}
			})
		})
	}
}

// TestRescoreOfASample: with an order by hash, queued URLs cannot be rescored, because that would spoil the sample.
func TestRescoreOfASample(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		c := newCrawler(t, w, crawler.Config{Order: crawler.OrderHash("1")})
		if _, err := c.Rescore(t.Context(), digit); err == nil || !strings.Contains(err.Error(), "random sample") {
			t.Errorf("%v", err)
		}
	})
}
