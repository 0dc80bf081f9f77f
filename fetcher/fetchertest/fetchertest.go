// Package fetchertest is the conformance suite of crawler.Fetcher, for replacements that make requests: tests for the numbered clauses of
// the contract, on a simulated web and in virtual time, with permits of a real gate. The test of a fetcher consists of a function that
// makes fetchers and a call of Run.
package fetchertest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Fetcher has the methods of crawler.Fetcher.
type Fetcher interface {
	Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
	Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error)
	CloseIdle(host string)
}

// Run tests the fetchers that open makes. The fetchers must connect with w.DialContext, look names up with w.LookupNetIP, and stop their
// goroutines in t.Cleanup. Each test opens a new fetcher, inside a testing/synctest bubble.
func Run(t *testing.T, open func(t *testing.T, w *crawltest.Web) Fetcher) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) { c.test(newKit(t, w, open)) })
		})
	}
}

var clauses = []struct {
	name string
	test func(k *kit)
}{
	{"C1 no permit, no request", noPermit},
	{"C1 a permit is for one request", onePermit},
	{"C2 one GET with the gate's User-Agent", oneGet},
	{"C2 redirects are not followed", noRedirect},
	{"C2 nothing is repeated", noRepeat},
	{"C3 begun when connected", begunLate},
	{"C3 nothing is sent when the permit has run out", expired},
	{"C3 nothing is sent when it ran out while connecting", expiredMeanwhile},
	{"C4 every status is a page", everyStatus},
	{"C4 a body that is not whole says so", cutShort},
	{"C5 no answer is a temporary error", noAnswer},
	{"C6 a server that never answers", hangs},
	{"C6 a server that never ends", trickles},
	{"C7 the end of the context", canceled},
	{"C8 many at once", manyAtOnce},
}

const permitTTL = 20 * time.Second

// kit is a fetcher under test, with a web and a gate.
type kit struct {
	*testing.T
	w    *crawltest.Web
	f    Fetcher
	gate *politeness.Gate
}

func newKit(t *testing.T, w *crawltest.Web, open func(t *testing.T, w *crawltest.Web) Fetcher) *kit {
	gate, err := politeness.NewGate(politeness.Config{
		Identity: politeness.Identity{Product: "fetchertest", Version: "1", Contact: "https://lab.university.edu/crawl"}, PermitTTL: permitTTL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &kit{t, w, open(t, w), gate}
}

// use calls f with a Permit for a page, after robots.txt has been requested, and returns the result as an Answer.
func (k *kit) use(ctx context.Context, url string, f func(p politeness.Permit) (*fetcher.Page, error)) *fetcher.Answer {
	k.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		k.Fatal(err)
	}
	c := fetcher.Client{Gate: k.gate, Fetcher: user{k.f, f}}
	for {
		a, err := c.Try(ctx, politeness.Request{URL: u, Purpose: politeness.Page})
		var wait *politeness.NotYet
		switch {
		case errors.As(err, &wait):
			time.Sleep(time.Until(wait.Until))
		case err != nil:
			k.Fatalf("C4 %v", err)
		case a.Permit.Purpose() == politeness.Page:
			return a
		case a.Err != nil:
			k.Fatalf("C4 Fetch of %s: %v", a.Permit.URL(), a.Err)
		}
	}
}

// user is a Fetcher that calls a function with its Permits for pages.
type user struct {
	Fetcher
	page func(p politeness.Permit) (*fetcher.Page, error)
}

func (u user) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() == politeness.Page {
		return u.page(p)
	}
	return u.Fetcher.Fetch(ctx, p)
}

// fetch requests a page.
func (k *kit) fetch(ctx context.Context, url string) (*fetcher.Page, error) {
	k.Helper()
	a := k.use(ctx, url, func(p politeness.Permit) (*fetcher.Page, error) {
		page, err := k.f.Fetch(ctx, p)
		if err != nil && page != nil {
			k.Errorf("C5: a page together with the error %v", err)
		}
		return page, err
	})
	return a.Page, a.Err
}

// requested checks the number of requests for a URL that the server has received.
func (k *kit) requested(url string, want int) {
	k.Helper()
	if n := k.w.Count(url); n != want {
		k.Errorf("%d requests for %s, want %d", n, url, want)
	}
}

// temporary reports whether an error allows another attempt.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func noPermit(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "")
	if page, err := k.f.Fetch(k.Context(), politeness.Permit{}); err == nil {
		k.Errorf("a page without a permit: %v", page.URL)
	}
	if n := len(k.w.Dials()); n != 0 {
		k.Errorf("%d connections", n)
	}
}

func onePermit(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "")
	k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
		page, err := k.f.Fetch(k.Context(), p)
		if err != nil {
			k.Errorf("first use of the permit: %v", err)
		}
		if _, err := k.f.Fetch(k.Context(), p); err == nil {
			k.Error("a page by a permit that was used before")
		}
		return page, err
	})
	k.requested(s.URL("/"), 1)
}

func oneGet(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/x?y=%7Ez", "hello")
	page, err := k.fetch(k.Context(), s.URL("/x?y=%7Ez"))
	if err != nil {
		k.Fatal(err)
	}
	all := k.w.Requests()
	if len(all) != 2 {
		k.Fatalf("%d requests, want robots.txt and the page", len(all))
	}
	r := all[1]
	if r.Method != http.MethodGet || !strings.HasPrefix(r.Line, "GET /x?y=%7Ez HTTP/") || r.UserAgent != k.gate.UserAgent() || r.Addr.Addr() != page.Addr {
		k.Errorf("%s by %s to %v, page from %v", r.Line, r.UserAgent, r.Addr, page.Addr)
	}
}

func noRedirect(k *kit) {
	s := k.w.Site("http://a.example")
	s.Redirect("/moved", "/target")
	s.Page("/target", "")
	page, err := k.fetch(k.Context(), s.URL("/moved"))
	if err != nil {
		k.Fatal(err)
	}
	if page.Status/100 != 3 || !strings.HasSuffix(page.Header.Get("Location"), "/target") || page.URL.String() != s.URL("/moved") {
		k.Errorf("%d %s, Location %q", page.Status, page.URL, page.Header.Get("Location"))
	}
	k.requested(s.URL("/target"), 0)
}

func noRepeat(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/reset", "").Fault(crawltest.Reset())
	s.Page("/busy", "").Fault(crawltest.RetryAfter(503, time.Second))
	if _, err := k.fetch(k.Context(), s.URL("/reset")); err == nil {
		k.Error("a page of an answer that was reset")
	}
	if page, err := k.fetch(k.Context(), s.URL("/busy")); err != nil || page.Status != 503 {
		k.Errorf("status 503: %v", err)
	}
	time.Sleep(time.Hour)
	k.requested(s.URL("/reset"), 1)
	k.requested(s.URL("/busy"), 1)
}
