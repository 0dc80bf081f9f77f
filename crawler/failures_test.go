package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

type extractorFunc func(p *fetcher.Page) (*extract.Document, error)

func (f extractorFunc) Extract(p *fetcher.Page) (*extract.Document, error) { return f(p) }

// TestPartsThatFail: an error or panic of a caller's component fails the visit and names the component.
func TestPartsThatFail(t *testing.T) {
	cause := errors.New("cause")
	extractor := func(f extractorFunc) crawler.Config { return crawler.Config{Extractor: f} }
	handler := func(f crawler.HandlerFunc) crawler.Config { return crawler.Config{Handler: f} }
	for name, c := range map[string]struct {
		config crawler.Config
		reason string
		part   string
	}{
		"extractor fails":  {extractor(func(*fetcher.Page) (*extract.Document, error) { return nil, cause }), "extractor_error", ""},
		"extractor panics": {extractor(func(*fetcher.Page) (*extract.Document, error) { panic(cause) }), "panic", "Config.Extractor"},
		"handler panics":   {handler(func(context.Context, *crawler.Visit) error { panic(cause) }), "panic", "Config.Handler"},
		"priority panics":  {crawler.Config{Priority: func(*crawler.Visit, *crawler.Link) int8 { panic(cause) }}, "panic", "Config.Priority"},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/a"))
				for v, err := range newCrawler(t, w, c.config).Pages(t.Context(), s.URL("/")) {
					if err != nil {
						t.Fatal(err)
					}
					var p *crawler.PanicError
					if v.Outcome != crawler.Failed || v.Reason != c.reason || !errors.Is(v.Err, cause) || errors.As(v.Err, &p) != (c.part != "") {
						t.Errorf("%s %s %v", v.Outcome, v.Reason, v.Err)
					}
					if p != nil && (p.Part != c.part || !strings.Contains(p.Error(), c.part+" panicked: cause") || !strings.Contains(string(p.Stack), "failures_test")) {
						t.Errorf("part %q: %v", p.Part, p)
					}
				}
			})
		})
	}
}

func TestPanicWithStopIsAFailure(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		_, got := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { panic(crawler.Stop) })}, s.URL("/"))
		same(t, got, "/ failed panic")
	})
}

// brokenFetcher returns custom errors, some of them temporary.
type brokenFetcher struct{ resolve, fetch error }

func (brokenFetcher) CloseIdle(string) {}

func (f brokenFetcher) Resolve(context.Context, weburl.URL) (netip.Addr, error) {
	return netip.MustParseAddr("127.0.0.1"), f.resolve
}

func (f brokenFetcher) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() == politeness.Robots {
		grant, err := p.Redeem()
		if err == nil {
			err = grant.Begin()
		}
		return &fetcher.Page{URL: p.URL(), Permit: p, Status: 404}, err
	}
	return nil, f.fetch
}

// TestForeignErrorsHaveAReason tests promise C5 of crawler.Fetcher with an error that is not a *fetcher.Error.
func TestForeignErrorsHaveAReason(t *testing.T) {
	for _, f := range []brokenFetcher{{fetch: errors.New("no")}, {resolve: errors.New("no")}} {
		c, err := crawler.New(crawler.Config{Fetcher: f})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for v, err := range c.Pages(t.Context(), "http://127.0.0.1/") {
			if n++; err != nil || fmt.Sprint(v.Outcome, " ", v.Reason, " ", v.Err) != "failed fetcher_error no" {
				t.Errorf("%s %s %v, %v", v.Outcome, v.Reason, v.Err, err)
			}
		}
		if n != 1 {
			t.Errorf("%d visits", n)
		}
	}
}

// A request that a Fetcher aborts locally counts neither as a host failure nor as a request in the report, whatever its
// error is.
func TestForeignErrorsOfOurSideAreNoFailures(t *testing.T) {
	for _, tc := range []struct {
		err      error
		failures int
		requests int // includes the request for robots.txt
	}{
		{fmt.Errorf("mine: %w", context.Canceled), 0, 1},
		{fmt.Errorf("mine: %w", politeness.ErrExpired), 0, 1},
		{errors.New("mine"), 1, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := crawler.New(crawler.Config{
				Fetcher: brokenFetcher{fetch: tc.err}, Politeness: politeness.Config{Shared: politeness.NewHosts(politeness.HostsLimits{})},
			})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := c.Run(t.Context(), "http://127.0.0.1/")
			if err != nil {
				t.Fatal(err)
			}
			if h := c.Gate().Host("127.0.0.1:80"); h.Failures != tc.failures || (h.Backoff > 0) != (tc.failures > 0) || rep.Requests != tc.requests {
				t.Errorf("%v: %d failures, back-off %v, %d requests", tc.err, h.Failures, h.Backoff, rep.Requests)
			}
		})
	}
}
