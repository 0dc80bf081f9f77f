package politeness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// locked is an in-memory ledger with a lock.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// greedy is a custom Fetcher that tries to request more than its Permit allows.
type greedy struct {
	*fetcher.Fetcher
	t     *testing.T
	tried int
	mu    sync.Mutex
}

func (g *greedy) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	copied := p
	page, err := g.Fetcher.Fetch(ctx, p)
	g.mu.Lock()
	g.tried++
	g.mu.Unlock()
	for name, again := range map[string]politeness.Permit{"the same Permit": p, "a copy": copied, "no Permit": {}} {
		if _, err := g.Fetcher.Fetch(ctx, again); !errors.Is(err, politeness.ErrUsed) && !errors.Is(err, politeness.ErrNoPermit) {
			g.t.Errorf("a second request by %s: %v", name, err)
		}
	}
	if _, err := p.Redeem(); !errors.Is(err, politeness.ErrUsed) {
		g.t.Errorf("a Permit redeemed behind the fetcher's back: %v", err)
	}
	return page, err
}

// TestP10NoPathLeadsAroundAPermit crawls a site with everything that causes requests besides pages: redirects within a host and to another
// one, redirected robots.txt files, retries, sitemaps and sitemap indexes, and a custom Fetcher that tries to send more. It compares the
// requests that the servers saw with the ledger, to which only [politeness.Grant.Begin] adds requests: each has a Permit for exactly its
// URL, address and purpose.
func TestP10NoPathLeadsAroundAPermit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var ledger locked
		temptingWeb(w)
		c := crawler.Config{
			Agent: "testbot/1.0", Contact: "https://lab.university.edu/crawl", Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 100},
			Follow: crawler.Follow{Sitemaps: true}, Retries: crawler.Retries{Max: 3},
		}
		w.Apply(&c)
		c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		c.Politeness.Ledger = &ledger
		own, err := fetcher.New(c.Fetch)
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		g := &greedy{Fetcher: own, t: t}
		c.Fetcher = g
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: c.Contact})
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		w.MustRequest("http://a.example/robots.txt", "http://b.example/rules", "http://a.example/map.xml", "http://a.example/part.xml",
			"http://a.example/mapped", "http://a.example/hop", "http://b.example/end", "https://c.example/flaky")
		if n := w.Count("https://c.example/flaky"); n != 3 {
			t.Errorf("%d attempts at a page that fails twice", n)
		}
		compare(t, w.Requests(), entries(t, ledger.b.Bytes()))
		if g.tried != len(w.Requests()) {
			t.Errorf("%d requests, %d by the Fetcher", len(w.Requests()), g.tried)
		}
	})
}

// temptingWeb builds the web that the test crawls.
func temptingWeb(w *crawltest.Web) {
	a, b, c := w.Site("http://a.example"), w.Site("http://b.example"), w.Site("https://c.example")
	rules := "User-agent: *\nDisallow: /no\nSitemap: http://a.example/map.xml\n"
	a.Robots(rules).Status(301).Location("http://b.example/rules")
	b.Page("/rules", rules).Type("text/plain")
	a.Page("/", `<a href="/hop">x</a><a href="/no">x</a><a href="https://c.example/flaky">x</a>`)
	a.Redirect("/hop", "/hop2")
	a.Redirect("/hop2", "http://b.example/end")
	b.Page("/end", `<a href="http://a.example/no/2">x</a>`)
	c.Page("/flaky", "at last").Fault(crawltest.Fail(503).First(2))
	a.Page("/map.xml", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.example/part.xml</loc></sitemap></sitemapindex>`).Type("application/xml")
	a.Page("/part.xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.example/mapped</loc></url><url><loc>http://a.example/no/3</loc></url></urlset>`).Type("application/xml")
	a.Page("/mapped", "found")
}

// entries returns the start entries of a ledger.
func entries(t *testing.T, all []byte) (starts []ledger.Entry) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		var e ledger.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Event == "start" {
			starts = append(starts, e)
		}
	}
	return starts
}

// compare checks that each request on the wire has exactly one Permit, with the same URL, address and time.
func compare(t *testing.T, requests []crawltest.Request, starts []ledger.Entry) {
	t.Helper()
	if len(requests) != len(starts) {
		t.Fatalf("%d requests, %d of them with a Permit", len(requests), len(starts))
	}
	seen := map[uint64]bool{}
	waiting := map[string]ledger.Entry{}
	for _, e := range starts {
		if seen[e.ID] {
			t.Errorf("Permit %d is used twice", e.ID)
		}
		seen[e.ID] = true
		waiting[fmt.Sprintf("%s at %s, %d", e.URL, e.Addr, micro(e.Written))] = e
	}
	for _, r := range requests {
		key := fmt.Sprintf("%s at %s, %d", r.URL, r.Addr.Addr(), micro(r.Start))
		e, ok := waiting[key]
		if delete(waiting, key); !ok {
			t.Errorf("%s at %s: no Permit", r.URL, r.Start)
			continue
		}
		want := "page"
		switch {
		case strings.HasSuffix(r.URL, "/robots.txt") || strings.HasSuffix(r.URL, "/rules"):
			want = "robots"
		case strings.HasSuffix(r.URL, ".xml"):
			want = "sitemap"
		}
		if e.Purpose != want {
			t.Errorf("%s was requested as a %s", r.URL, e.Purpose)
		}
	}
}
