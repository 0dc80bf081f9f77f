package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
)

// movingSite creates a site of three pages at several addresses. Its name resolves to the address in now.
func movingSite(w *crawltest.Web, addrs ...string) (c crawler.Config, now *atomic.Pointer[string]) {
	s := w.Site("a.example").Address(addrs...)
	s.Page("/", links("/1"))
	s.Page("/1", links("/2"))
	s.Page("/2", "")
	now = new(atomic.Pointer[string])
	now.Store(&addrs[0])
	c = config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}})
	c.Fetch.AllowAddresses = nil
	c.Fetch.Resolver = resolver(func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(*now.Load())}, nil
	})
	return c, now
}

// The addresses of a seed's name are pinned once for a job, however many processes work on it.
func TestPinOutlivesTheProcess(t *testing.T) {
	const public, private, other = "192.31.196.99", "10.0.0.1", "10.0.0.2"
	for name, tc := range map[string]struct{ first, then, want string }{
		"private after public":      {public, private, "refused address_refused"},
		"the same private address":  {private, private, "fetched "},
		"another private address":   {private, other, "refused address_refused"},
		"public after private":      {private, public, "fetched "},
		"public and another public": {public, "192.31.196.98", "fetched "},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				c, now := movingSite(w, tc.first, tc.then)
				j := job{t, t.TempDir()}
				c.Limits.Pages = 1
				if rep, err := j.run(t.Context(), c, "http://a.example/"); err != nil || rep.Pages != 1 {
					t.Fatal(rep, err)
				}
				now.Store(&tc.then)
				c.Limits.Pages = 10
				if _, err := j.run(t.Context(), c, "http://a.example/"); err != nil {
					t.Fatal(err)
				}
				if r := j.records()["http://a.example/1"]; r.Outcome+" "+r.Reason != tc.want {
					t.Errorf("%s %s: %s, want %s", r.Outcome, r.Reason, r.Error, tc.want)
				}
			})
		})
	}
}

// Addresses are also pinned for all Runs of a Crawler, because its gate keeps robots.txt.
func TestPinOutlivesTheRun(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		c, now := movingSite(w, "192.31.196.99", "10.0.0.1")
		w.Expect(crawltest.Expect{Agent: "testbot", Contact: contact, AllowRepeats: true})
		v := &visits{}
		c.Handler = v
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"fetched 200", "refused 0 address_refused"} {
			if _, err := x.Run(t.Context(), "http://a.example/"); err != nil {
				t.Fatal(err)
			}
			if got := v.line("http://a.example/"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			private := "10.0.0.1"
			now.Store(&private)
		}
	})
}

// A seed is requested at a private address only after the look-up of its name is durable.
func TestPinIsDurableFirst(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		c, _ := movingSite(w, "10.0.0.1")
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // the test is over
		c.Frontier = noPins{store}
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := x.Run(t.Context(), "http://a.example/")
		if !errors.Is(err, errNoPins) || rep.Finish != crawler.FinishError || rep.Left != 1 || len(w.Dials()) != 0 {
			t.Errorf("%v: %+v after %d connections", err, rep, len(w.Dials()))
		}
	})
}

// noPins is a store whose disk is full when a pin is to be stored.
type noPins struct{ *disk.Store }

var errNoPins = errors.New("the disk is full")

func (s noPins) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	if _, pin := c.Values["crawler/pin/a.example"]; pin {
		return errNoPins
	}
	return s.Store.Commit(ctx, ends, c)
}

// Hosts known only from an earlier crawl were not named by the operator and get no exemption.
func TestHistoryNamesNoHosts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const line = `{"schema":"amble.visit/1","url":%q,"depth":1,"status":200,"outcome":"fetched","bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","etag":"\"x\"","queued":"2026-01-01T00:00:00Z","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z"}` + "\n"
		past, err := crawler.ReadHistory(strings.NewReader(fmt.Sprintf(line, "http://inner.example/")+fmt.Sprintf(line, "http://10.0.0.7/")), 0)
		if err != nil {
			t.Fatal(err)
		}
		s := w.Site("http://a.example")
		s.Page("/", "")
		w.Site("http://inner.example").Address("10.0.0.1").Page("/", "")
		c := config(w, crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 100}, Since: past})
		c.Fetch.AllowAddresses = nil
		v := &visits{}
		c.Handler = v
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", "http://inner.example/": "refused 0 address_refused", "http://10.0.0.7/": "refused 0 address_refused",
		})
	})
}
