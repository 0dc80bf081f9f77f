package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
)

// Links that do not fit in the queue are recorded with their page and counted in the report, and the crawl still ends.
func TestLinksWithoutRoomAreCounted(t *testing.T) {
	for name, c := range map[string]frontier.MemoryConfig{
		"bytes": {MaxBytes: 20_000}, "of the host": {MaxPendingPerHost: 30}, "in all": {MaxPending: 30},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				const pages, links = 5, 100
				flood(w.Site("a.example"), pages, links)
				queue := frontier.NewMemory(c)
				defer func() { _ = queue.Close() }()
				var out bytes.Buffer
				x := newCrawler(t, w, crawler.Config{Frontier: queue, Sinks: []sink.Sink{sink.NewJSONL(&out)}, Limits: crawler.Limits{Depth: 2}})
				rep, err := x.Run(t.Context(), "http://a.example/")
				if err != nil || rep.Finish != crawler.FinishDone {
					t.Fatal(rep, err)
				}
				full, queued := rep.Rejected, rep.Pages-1
				if full == 0 || queued < 20 || full+queued != pages+pages*links {
					t.Errorf("%d without room (%d of them links), %d queued; want %d in all", full, rep.Links[crawler.FateFull], queued, pages+pages*links)
				}
				if !strings.Contains(out.String(), `"queue_full":`) {
					t.Errorf("no visit names them:\n%s", out.String())
				}
			})
		})
	}
}

// flood creates a site of several pages, each with its own set of links.
func flood(s *crawltest.Site, pages, links int) {
	var first strings.Builder
	for p := range pages {
		fmt.Fprintf(&first, "<a href='/p%d'>on</a>", p)
		var b strings.Builder
		for i := range links {
			path := fmt.Sprintf("/d%d/%d/%s", p, i, strings.Repeat(fmt.Sprintf("%x", 1<<i%40+p*7919), 40))
			fmt.Fprintf(&b, "<a href='%s'>x</a>", path)
			s.Page(path, "")
		}
		s.Page(fmt.Sprintf("/p%d", p), b.String())
	}
	s.Page("/", first.String())
}

// A handler that adds a URL to a full queue gets an error.
func TestEnqueueWithoutRoom(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example")
		s.Page("/", "")
		s.Page("/1", "")
		queue := frontier.NewMemory(frontier.MemoryConfig{MaxPendingPerHost: 1})
		defer func() { _ = queue.Close() }()
		var got *crawler.EnqueueError
		x := newCrawler(t, w, crawler.Config{Frontier: queue, Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			if err := v.Enqueue(crawler.Request{URL: "/1"}); !errors.As(err, &got) {
				t.Error(err)
			}
			return nil
		})})
		if _, err := x.Run(t.Context(), "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		if got == nil || got.Fate != crawler.FateFull || got.Rule == "" {
			t.Errorf("%+v", got)
		}
	})
}
