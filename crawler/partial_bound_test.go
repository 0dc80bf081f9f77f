package crawler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

func cutOf(n int) *fetcher.Page {
	return &fetcher.Page{Status: 200, Truncated: fetcher.ReasonCutShort, Body: make([]byte, n), Raw: &fetcher.Raw{}}
}

// The size of bodies kept for another attempt is bounded, and all of their memory is released.
func TestCutsAreBounded(t *testing.T) {
	c := newPartials()
	c.max = 3 * (1000 + cutOverhead)
	urls := make([]weburl.URL, 5)
	for i := range urls {
		u, err := weburl.Parse(fmt.Sprintf("http://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		urls[i] = u
	}
	for i, u := range urls {
		if kept := c.keep(u, cutOf(1000)); kept != (i < 3) {
			t.Errorf("page %d was kept: %v", i, kept)
		}
	}
	if c.keep(urls[0], cutOf(1001)) { // no room for one more byte
		t.Error("beyond the bound")
	}
	if !c.keep(urls[0], cutOf(999)) || len(c.pages[urls[0]].Body) != 1000 {
		t.Error("a shorter body has taken the place of a longer one")
	}
	for i, u := range urls {
		if p := c.take(u); (p != nil) != (i < 3) || p != nil && (len(p.Body) != 1000 || p.Raw != nil) {
			t.Errorf("page %d: %+v", i, p)
		}
		if c.take(u) != nil {
			t.Error("taken twice")
		}
	}
	if c.bytes != 0 || len(c.pages) != 0 {
		t.Errorf("%d bytes of %d pages are left", c.bytes, len(c.pages))
	}
	if big := newPartials(); big.keep(urls[0], cutOf(maxPartials)) || !big.keep(urls[0], cutOf(maxPartials-cutOverhead)) {
		t.Error("the bound is another")
	}
}

// The body is copied, because its memory is reused for other responses before the next attempt.
func TestCutsAreCopies(t *testing.T) {
	c := newPartials()
	u, err := weburl.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p := cutOf(3)
	c.keep(u, p)
	copy(p.Body, "new")
	p.Release()
	if got := c.take(u); string(got.Body) != "\x00\x00\x00" {
		t.Errorf("%q", got.Body)
	}
}

// cutRun crawls a site with room for the given number of bytes of truncated responses, and checks that none are left at
// the end.
func cutRun(t *testing.T, w *crawltest.Web, room int) map[string]string {
	t.Helper()
	got := map[string]string{}
	cfg := Config{Contact: "https://lab.university.edu/crawl", Concurrency: 1}
	cfg.Fetch.Resolver, cfg.Fetch.DialContext = w, w.DialContext
	cfg.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	cfg.Handler = HandlerFunc(func(_ context.Context, v *Visit) error {
		got[v.URL.Path()] = fmt.Sprintf("%d %s after %d", v.Status(), v.Reason, v.Attempt+1)
		return nil
	})
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.start([]string{"http://a.example/0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.end(r)
	r.partials.max = room
	if _, err := r.crawl(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.partials.bytes != 0 || len(r.partials.pages) != 0 {
		t.Errorf("%d bytes of %d pages are left", r.partials.bytes, len(r.partials.pages))
	}
	return got
}

// If there is no room to keep a truncated page until the next attempt, the page becomes final at once and is not lost.
func TestCutPageWithoutRoom(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example")
		s.Page("/0", "<a href=/1>x</a>"+strings.Repeat("x", 30_000)).Fault(crawltest.CutShort(20_000))
		s.Page("/1", "")
		got := cutRun(t, w, 25_000)
		if got["/0"] != "200 cut_short after 1" || got["/1"] != "200  after 1" {
			t.Error(got)
		}
	})
}

// The next final response, of any kind, drops the kept body.
func TestCutPagesAreForgotten(t *testing.T) {
	for _, status := range []int{200, 302, 404} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			first := true
			w.Site("a.example").Handle("/0", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				if !first {
					rw.Header().Set("Location", "/1")
					rw.WriteHeader(status)
					return
				}
				first = false
				rw.Header().Set("Content-Length", "30000")
				_, _ = io.WriteString(rw, strings.Repeat("x", 20_000))
				panic(http.ErrAbortHandler)
			}))
			if got := cutRun(t, w, 30_000)["/0"]; got != fmt.Sprintf("%d  after 2", status) {
				t.Errorf("%d: %s", status, got)
			}
		})
	}
}
