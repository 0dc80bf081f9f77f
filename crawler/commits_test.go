package crawler_test

import (
	"context"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
)

// TestCommitsOfTheGate: with Commits.Gate, what a robots.txt requests is in the frontier a commit interval after it was
// fetched, although no visit has ended: another machine may continue at any time.
func TestCommitsOfTheGate(t *testing.T) {
	for _, gate := range []bool{false, true} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			site := w.Site("a.test").CrawlDelay(20 * time.Second)
			site.Robots("User-agent: *\nCrawl-delay: 20\n")
			site.Page("/", "")
			store, err := disk.Open(t.TempDir(), disk.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			c, err := crawler.New(config(w, crawler.Config{
				Frontier: store, Commits: crawler.Commits{Gate: gate, Interval: 250 * time.Millisecond},
			}))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, err := c.Run(ctx, "http://a.test/")
				done <- err
			}()
			time.Sleep(15 * time.Second) // robots.txt is known, the page is not requested yet
			owner := func() *crawler.Crawler {
				t.Helper()
				c, err := crawler.New(config(w, crawler.Config{Frontier: store}))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			if got := owner().Gate().Host("a.test:80").Delay == 20*time.Second; got != gate {
				t.Errorf("Gate %t: the next owner knows the delay: %t", gate, got)
			}
			cancel()
			<-done
			if owner().Gate().Host("a.test:80").Delay != 20*time.Second {
				t.Errorf("Gate %t: the next process does not know the delay", gate)
			}
		})
	}
}
