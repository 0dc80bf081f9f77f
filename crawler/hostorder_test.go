package crawler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// TestPagesAreFetchedWhileHostsAreBegun: as soon as pages are ready, one page is requested for each robots.txt of a new
// host, also in a resumed crawl.
func TestPagesAreFetchedWhileHostsAreBegun(t *testing.T) {
	const hosts, pages, workers = 300, 4, 8
	build := func(w *crawltest.Web) (seeds []string) {
		for i := range hosts {
			s := w.Site(fmt.Sprintf("http://h%03d.example", i)).Latency(200 * time.Millisecond)
			s.Robots("")
			refs := make([]string, pages-1)
			for n := range refs {
				refs[n] = fmt.Sprintf("/%d", n)
				s.Page(refs[n], "")
			}
			s.Page("/", links(refs...)).Type("text/html")
			seeds = append(seeds, s.URL("/"))
		}
		return seeds
	}
	judge := func(t *testing.T, w *crawltest.Web) {
		t.Helper()
		robots, fetched, ahead := 0, 0, 0
		for _, r := range w.Requests() {
			if strings.HasSuffix(r.URL, "/robots.txt") {
				robots++
			} else {
				fetched++
			}
			ahead = max(ahead, robots-fetched)
		}
		if robots < hosts || fetched < hosts*pages {
			t.Errorf("%d robots.txt and %d pages requested, want all %d and %d", robots, fetched, hosts, hosts*pages)
		}
		if most := hosts / 3; ahead > most { // in a second without a ready page, 40 are requested; a resumed crawl has two of these
			t.Errorf("%d more robots.txt than pages were requested at one time, want %d at most", ahead, most)
		}
	}
	t.Run("memory", func(t *testing.T) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			crawl(t, w, crawler.Config{Concurrency: workers, Limits: crawler.Limits{Pages: crawler.Unlimited}}, build(w)...)
			judge(t, w)
		})
	})
	t.Run("disk", func(t *testing.T) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			seeds, j := build(w), job{t, t.TempDir()}
			c := config(w, crawler.Config{Concurrency: workers, Limits: crawler.Limits{Pages: crawler.Unlimited}})
			ctx, cancel := context.WithTimeout(t.Context(), 3100*time.Millisecond)
			_, _ = j.run(ctx, c, seeds...)
			cancel()
			if _, err := j.run(t.Context(), c, seeds...); err != nil {
				t.Fatal(err)
			}
			judge(t, w)
		})
	})
}
