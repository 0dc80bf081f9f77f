package crawler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// TestTraceAnswers: every request that the servers saw is passed to Answered, for robots.txt and pages, however it
// ended. The visits of all commits together are those of the crawl.
func TestTraceAnswers(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow:\n").Fault(crawltest.Fail(503).First(1))
		s.Page("/", links("/b", "/c"))
		s.Page("/b", "").Fault(crawltest.Reset().First(1))
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		var got, want []string
		visits, linked, sizes := 0, 0, int64(0)
		c := newCrawler(t, w, crawler.Config{Frontier: store, Concurrency: 1, Trace: &crawler.Trace{
			Answered: func(u weburl.URL, a *fetcher.Answer) {
				status, failed := 0, ""
				if a.Page != nil {
					status = a.Page.Status
				}
				if reason := fetcher.ReasonOf(a.Err); reason != "" {
					failed = " failed"
				}
				got = append(got, fmt.Sprintf("%s for %s: %s %d%s", a.Permit.URL().Path(), u.Path(), a.Permit.Purpose(), status, failed))
			},
			Committed: func(c crawler.Commit) {
				visits, linked, sizes = visits+c.Visits, linked+c.Links, sizes+c.Bytes
				if c.Took < 0 || c.Took > time.Minute || c.Err != nil {
					t.Errorf("%+v", c)
				}
			},
		}})
		if rep, err := c.Run(t.Context(), s.URL("/")); err != nil || rep.Requests != len(got) {
			t.Fatalf("%v %+v", err, rep)
		}
		want = []string{
			"/robots.txt for /: robots 503", "/robots.txt for /: robots 200", "/ for /: page 200", "/b for /b: page 0 failed",
			"/c for /c: page 404", "/b for /b: page 200",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant\n%q", got, want)
		}
		if visits != 3 || linked != 2 || sizes == 0 {
			t.Errorf("%d visits, %d links, %d bytes were committed", visits, linked, sizes)
		}
	})
}
