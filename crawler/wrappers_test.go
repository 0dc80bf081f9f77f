package crawler_test

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Wrappers that replace nothing: they embed the interface, as users do.
type (
	wrappedSink     struct{ sink.Sink }
	wrappedFrontier struct{ frontier.Frontier }
)

// countingFetcher counts the requests that go through it.
type countingFetcher struct {
	crawler.Fetcher
	requests *atomic.Int64
}

func (f countingFetcher) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	f.requests.Add(1)
	return f.Fetcher.Fetch(ctx, p)
}

// onePast knows every URL with one validator.
type onePast struct{}

func (onePast) Past(weburl.URL) (crawler.Past, bool) {
	return crawler.Past{Validators: fetcher.Validators{ETag: `"1"`}}, true
}

func (onePast) All() iter.Seq2[weburl.URL, int] { return nil }

// What a wrapped sink needs is still collected, and it has the same name.
func TestWrappedSinksLoseNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1"))
		s.Page("/1", "")
		var out bytes.Buffer
		archive := &keeping{}
		crawl(t, w, crawler.Config{Sinks: []sink.Sink{wrappedSink{sink.NewLinks(&out)}, wrappedSink{archive}}}, s.URL("/"))
		if !strings.Contains(out.String(), `"/1"`) && !strings.Contains(out.String(), s.URL("/1")) {
			t.Errorf("the sink of links has %q", out.String())
		}
		if len(archive.urls) != 2 {
			t.Errorf("the archive has the exchanges of %q, want two", archive.urls)
		}
		if name := (wrappedSink{sink.NewLinks(&out)}).Name(); name != sink.NewLinks(&out).Name() {
			t.Errorf("the wrapped sink is named %q", name)
		}
	})
}

// A wrapped frontier still says for which links there is no room, and how many URLs are left.
func TestWrappedFrontierLosesNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3", "/4"))
		for _, path := range []string{"/1", "/2", "/3", "/4"} {
			s.Page(path, "")
		}
		store := frontier.NewMemory(frontier.MemoryConfig{MaxPending: 3})
		rep, _ := crawl(t, w, crawler.Config{Frontier: wrappedFrontier{store}, Limits: crawler.Limits{Pages: 1}}, s.URL("/"))
		if rep.Links[crawler.FateFull] == 0 || rep.Left == 0 {
			t.Errorf("%d links without room, %d URLs left", rep.Links[crawler.FateFull], rep.Left)
		}
	})
}

// AroundFetch sees every request, and what Config.Fetch says still holds: here a header, and that requests are conditional.
func TestAroundFetchKeepsTheConfig(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var conditional, marked atomic.Int64
		s := w.Site("http://a.example")
		s.Handle("/", http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"1"` {
				conditional.Add(1)
				a.WriteHeader(http.StatusNotModified)
			}
			if r.Header.Get("X-Study") == "7" {
				marked.Add(1)
			}
		}))
		var requests atomic.Int64
		rep, _ := crawl(t, w, crawler.Config{
			Fetch: fetcher.Config{Header: http.Header{"X-Study": {"7"}}},
			Since: onePast{},
			AroundFetch: func(f crawler.Fetcher) crawler.Fetcher {
				return countingFetcher{f, &requests}
			},
		}, s.URL("/"))
		if requests.Load() != 2 || marked.Load() != 1 || conditional.Load() != 1 || rep.Outcomes[crawler.NotModified] != 1 {
			t.Errorf("%d requests of robots.txt and the page, %d with the header, %d conditional; outcomes %v",
				requests.Load(), marked.Load(), conditional.Load(), rep.Outcomes)
		}
	})
}
