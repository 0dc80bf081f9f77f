package crawler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
)

// topical creates a site on which the given share of the pages is relevant. Links to relevant pages contain "solar" four
// times out of five, links to others one time in fifty, so an order by words is good, but not perfect. topical returns the
// number of relevant pages.
func topical(s *crawltest.Site, pages int, share float64) (relevant int) {
	r := rand.New(rand.NewPCG(7, uint64(pages)))
	about := make([]bool, pages)
	for i := range about {
		about[i] = r.Float64() < share
		if about[i] {
			relevant++
		}
	}
	body := func() string {
		var b strings.Builder
		for range 8 {
			to, word := r.IntN(pages), "other"
			if about[to] && r.IntN(5) > 0 || !about[to] && r.IntN(50) == 0 {
				word = "solar"
			}
			fmt.Fprintf(&b, `<a href="/%d">%s</a> `, to, word)
		}
		return b.String()
	}
	for i := range about {
		title := "Other"
		if about[i] {
			title = "Solar"
		}
		s.Page(fmt.Sprint("/", i), "<title>"+title+"</title>"+body())
	}
	s.Page("/", "<title>Home</title>"+body()+body())
	return relevant
}

// score is a Config.Score: 1 for a link with the text "solar", plus half of the score of the page that has the link.
func score(v *crawler.Visit, l *crawler.Link) float64 {
	s := v.Score / 2
	if l.Text == "solar" {
		s++
	}
	return s
}

// TestBestFirstIsRelevant fetches 25 pages in order of relevance. With one host, at least 20 must be relevant: a
// published best-first crawler needed 25 requests for 20 relevant pages. With a second host that has no relevant page, the
// number must be at least 0.9 of the best possible one, which requests only the home page of that host. The servers check
// that no pause gets shorter (see config).
func TestBestFirstIsRelevant(t *testing.T) {
	for _, store := range []string{"memory", "disk"} {
		for _, neighbour := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, neighbour %t", store, neighbour), func(t *testing.T) {
				crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
					const pages = 26
					s := w.Site("http://solar.example")
					topical(s, 150, 0.4)
					seeds := []string{s.URL("/")}
					best := pages - 1 // the home page is not relevant
					if neighbour {
						n := w.Site("http://other.example")
						topical(n, 150, 0)
						seeds = append(seeds, n.URL("/"))
						best--
					}
					var mu sync.Mutex
					relevant := 0
					cfg := crawler.Config{
						Limits: crawler.Limits{Pages: pages, Depth: 20}, Score: score, BestFirst: true,
						Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
							mu.Lock()
							defer mu.Unlock()
							if v.Doc != nil && v.Doc.Title == "Solar" {
								relevant++
							}
							return nil
						}),
					}
					if store == "disk" {
						q, err := disk.Open(t.TempDir(), disk.Config{BestFirst: true, Patience: cfg.Patience()})
						if err != nil {
							t.Fatal(err)
						}
						defer q.Close()
						cfg.Frontier = q
					}
					rep, err := newCrawler(t, w, cfg).Run(t.Context(), seeds...)
					if err != nil || rep.Pages != pages {
						t.Fatalf("%d pages, %v", rep.Pages, err)
					}
					t.Logf("%d of %d pages are relevant, %d at best", relevant, pages, best)
					if !neighbour && relevant*25 < 20*(pages-1) {
						t.Errorf("%d of %d pages are relevant", relevant, pages)
					}
					if neighbour && relevant*10 < 9*best {
						t.Errorf("%d of %d pages are relevant, want 0.9 of %d", relevant, pages, best)
					}
				})
			})
		}
	}
}

// TestHostBudgetIsAFunction checks that Limits.PagesOfHost limits a host, that an entry of Hosts has precedence, and that
// 0 means the general limit.
func TestHostBudgetIsAFunction(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for _, host := range []string{"a", "b", "c"} {
			s := w.Site("http://" + host + ".example")
			topical(s, 20, 0)
			seeds = append(seeds, s.URL("/"))
		}
		got := map[string]int{}
		var mu sync.Mutex
		cfg := crawler.Config{
			Limits: crawler.Limits{PagesPerHost: 4, PagesOfHost: func(host string) crawler.Limit {
				return map[string]crawler.Limit{"a.example:80": 2, "c.example:80": 9}[host]
			}},
			Hosts: []crawler.HostSettings{{Match: "c.example", Pages: 3}},
			Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
				mu.Lock()
				defer mu.Unlock()
				if v.Outcome == crawler.Fetched {
					got[v.URL.Host()]++
				}
				return nil
			}),
		}
		if _, err := newCrawler(t, w, cfg).Run(t.Context(), seeds...); err != nil {
			t.Fatal(err)
		}
		if got["a.example:80"] != 2 || got["b.example:80"] != 4 || got["c.example:80"] != 3 {
			t.Errorf("pages of hosts: %v", got)
		}
	})
}

// TestScoresAreRefusedBesidePriorities: links have either priorities or scores.
func TestScoresAreRefusedBesidePriorities(t *testing.T) {
	_, err := crawler.New(crawler.Config{
		Contact: contact, Score: score, Priority: func(*crawler.Visit, *crawler.Link) int8 { return 1 },
	})
	if err == nil || !strings.Contains(err.Error(), "Score") {
		t.Errorf("%v", err)
	}
}
