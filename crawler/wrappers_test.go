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
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Wrappers that change nothing. They embed the interface, as users do.
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

// onePast is a history that has one validator for every URL.
type onePast struct{}

func (onePast) Past(weburl.URL) (crawler.Past, bool) {
	return crawler.Past{Validators: fetcher.Validators{ETag: `"1"`}}, true
}

func (onePast) All() iter.Seq2[weburl.URL, int] { return nil }

// A wrapped sink keeps its name, and the crawl still collects what the sink needs.
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

// A wrapped frontier still reports links that do not fit, and the number of remaining URLs.
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

// AroundFetch sees every request, and Config.Fetch still applies: here a header field, and conditional requests.
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

// tagged adds a link to those found by the crawl's own Extractor.
type tagged struct {
	crawler.Extractor
	ref string
}

func (x tagged) Extract(p *fetcher.Page) (*extract.Document, error) {
	doc, err := x.Extractor.Extract(p)
	if doc != nil {
		doc.Links = append(doc.Links, extract.Link{Ref: x.ref, Kind: extract.Anchor})
	}
	return doc, err
}

// AroundExtract sees every page, and Extract, Follow and Limits still apply. Bodies of unsupported types are received,
// too, even without a Handler or an archive.
func TestAroundExtractKeepsTheConfig(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<p data-to="/data"><a href="/list">l</a>`)
		for _, path := range []string{"/data", "/added", "/one", "/two"} {
			s.Page(path, "")
		}
		s.Handle("/list", http.HandlerFunc(func(a http.ResponseWriter, _ *http.Request) {
			a.Header().Set("Content-Type", "application/x-list")
			_, _ = a.Write([]byte(strings.Repeat(" ", 1<<17) + "/one /two /three /four")) // longer than the part that is read
		}))
		list := crawler.ExtractType("application/x-list", func(p *fetcher.Page) (*extract.Document, error) {
			doc := &extract.Document{}
			for ref := range strings.FieldsSeq(string(p.Body)) {
				doc.Links = append(doc.Links, extract.Link{Ref: ref, Kind: extract.Entry})
			}
			return doc, nil
		})
		made := 0
		rep, err := newCrawler(t, w, crawler.Config{
			Extract: extract.Options{DataAttrs: []string{"data-to"}},
			Limits:  crawler.Limits{LinksPerPage: 3, Depth: 2},
			AroundExtract: func(x crawler.Extractor) crawler.Extractor {
				made++
				return list(tagged{x, "/added"})
			},
		}).Run(t.Context(), s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		w.MustOrder(s.URL("/data"), s.URL("/list"), s.URL("/added"), s.URL("/one"), s.URL("/two"))
		w.MustNotRequest(s.URL("/four"))
		if made != 1 || rep.Links[crawler.FateLimit] != 1 {
			t.Errorf("made %d times; %d links above the limit", made, rep.Links[crawler.FateLimit])
		}
	})
}

// A wrapper that reads a page twice, or reads a copy of it, gets two complete documents.
func TestAroundExtractMayReadTwice(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2"))
		s.Page("/1", "")
		s.Page("/2", "")
		rep, _ := crawl(t, w, crawler.Config{AroundExtract: func(x crawler.Extractor) crawler.Extractor {
			return extractorFunc(func(p *fetcher.Page) (*extract.Document, error) {
				first, err := x.Extract(p)
				for _, p := range []*fetcher.Page{p, p.Clone()} {
					if again, _ := x.Extract(p); again != nil && len(again.Links) > 0 {
						again.Links[0].Ref = "/nowhere"
					}
				}
				return first, err
			})
		}}, s.URL("/"))
		w.MustNotRequest(s.URL("/nowhere"))
		if rep.Pages != 3 {
			t.Errorf("%d pages, want 3", rep.Pages)
		}
	})
}
