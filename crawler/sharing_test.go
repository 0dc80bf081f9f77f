package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// together runs crawls of one web at the same time until all have ended. Each one sends a header field X-Crawl.
func together(t *testing.T, w *crawltest.Web, crawls map[string]*part) {
	t.Helper()
	var all sync.WaitGroup
	for name, p := range crawls {
		c := config(w, p.Config)
		c.Limits.Depth, c.Retries.Max, c.Fetch.Header = crawler.Unlimited, crawler.Zero, http.Header{"X-Crawl": {name}}
		c.Politeness.Name = name
		all.Go(func() {
			time.Sleep(p.after)
			ctx := t.Context()
			if p.cancel > 0 {
				var end context.CancelFunc
				ctx, end = context.WithTimeout(ctx, p.cancel)
				defer end()
			}
			cr, err := crawler.New(c)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := cr.Run(ctx, p.seed); err != nil && p.cancel == 0 {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.Expect(crawltest.Expect{Delay: shortest(crawls), PerAddress: true, Contact: contact, MaxRetryAfter: 5 * time.Minute, AllowRepeats: true})
}

// part is one of several crawls.
type part struct {
	crawler.Config
	seed   string
	after  time.Duration // start time
	cancel time.Duration // cancelled after this time; 0: never
}

// shortest returns the shortest delay of all crawls, which the auditor may always expect.
func shortest(crawls map[string]*part) time.Duration {
	least := time.Hour
	for _, p := range crawls {
		d := p.Politeness.Delay
		if d == 0 {
			d = time.Second
		}
		least = min(least, d)
	}
	return least
}

// pageChain adds pages to a site, each with a link to the next.
func pageChain(s *crawltest.Site, path string, n int) string {
	for i := range n {
		s.Page(fmt.Sprintf("%s%d", path, i), links(fmt.Sprintf("%s%d", path, i+1)))
	}
	s.Page(fmt.Sprintf("%s%d", path, n), "")
	return s.URL(path + "0")
}

// agents returns the crawl that made each request to a host, in order.
func agents(w *crawltest.Web, host string) (names []string) {
	for _, r := range w.Requests() {
		if r.Host == host {
			names = append(names, r.Header.Get("X-Crawl"))
		}
	}
	return names
}

// fair checks that the crawl, one of two, has 7 to 13 of any 20 consecutive requests.
func fair(t *testing.T, names []string, crawl string) {
	t.Helper()
	for i := range max(0, len(names)-19) {
		n := 0
		for _, name := range names[i : i+20] {
			if name == crawl {
				n++
			}
		}
		if n < 7 || n > 13 {
			t.Fatalf("crawl %s has %d of the requests %d to %d: %v", crawl, n, i+1, i+20, names)
		}
	}
}

func delay(d time.Duration) crawler.Config {
	return crawler.Config{Politeness: politeness.Config{Delay: d}}
}

func TestTwoCrawlsOfOneHostTakeTurns(t *testing.T) {
	for _, latency := range []time.Duration{0, 300 * time.Millisecond, 4 * time.Second} {
		for _, other := range []time.Duration{time.Second, 3 * time.Second} {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://h.example").Latency(latency)
				start := time.Now()
				together(t, w, map[string]*part{
					"abot": {Config: delay(time.Second), seed: pageChain(s, "/a", 40)},
					"bbot": {Config: delay(other), seed: pageChain(s, "/b", 40)},
				})
				took := time.Since(start)
				names := agents(w, s.Host())
				if len(names) != 84 {
					t.Fatalf("%d requests: %v", len(names), names)
				}
				fair(t, names, "abot")
				w.MustSpace(s.Host(), max(other, latency))
				if n := w.InFlight(s.Host()); n != 1 {
					t.Errorf("%d requests at once", n)
				}
				if bound := 83*max(other, latency) + 84*latency; took > bound*102/100 {
					t.Errorf("%v for what takes %v", took, bound)
				}
			})
		}
	}
}

func TestTwentyCrawlsOfOneHostTakeTurns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://h.example")
		crawls := map[string]*part{}
		for i := range 20 {
			name := fmt.Sprintf("bot%c", 'a'+i)
			crawls[name] = &part{seed: pageChain(s, "/"+name, 5)}
		}
		start := time.Now()
		together(t, w, crawls)
		w.MustSpace(s.Host(), time.Second)
		names := agents(w, s.Host())
		if bound := time.Duration(len(names)-1) * time.Second; time.Since(start) > bound*102/100 || len(names) != 20*7 {
			t.Errorf("%v for %d requests, which take %v", time.Since(start), len(names), bound)
		}
		for i := range len(names) - 59 {
			if n := len(unique(names[i : i+60])); n != 20 {
				t.Fatalf("only %d of 20 crawls in the requests %d to %d: %v", n, i+1, i+60, names)
			}
		}
	})
}

func unique(names []string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Two hosts at one address count as one server, whichever crawl requests them.
func TestCrawlsOfOneAddressTakeTurns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a := w.Site("http://a.example").Address("203.0.113.7")
		b := w.Site("http://b.example").Address("203.0.113.7")
		start := time.Now()
		together(t, w, map[string]*part{"abot": {seed: pageChain(a, "/", 20)}, "bbot": {seed: pageChain(b, "/", 20)}})
		if took := time.Since(start); took < 43*time.Second || took > 44*time.Second {
			t.Errorf("44 requests in %v", took)
		}
	})
}

// Different loopback ports are different servers. Tests in one process often use several.
func TestCrawlsOfLoopbackDoNotWaitForEachOther(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b := w.Site("http://127.0.0.1:8001"), w.Site("http://127.0.0.1:8002")
		start := time.Now()
		together(t, w, map[string]*part{"abot": {seed: pageChain(a, "/", 20)}, "bbot": {seed: pageChain(b, "/", 20)}})
		if took := time.Since(start); took > 22*time.Second {
			t.Errorf("two times 22 requests in %v", took)
		}
		w.ExpectViolations() // the auditor expects one delay per address
	})
}

func TestRetryAfterHoldsEveryCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://h.example")
		s.Page("/a0", links("/a1"))
		s.Page("/a1", "").Status(503).Header("Retry-After", "30")
		together(t, w, map[string]*part{"abot": {seed: s.URL("/a0")}, "bbot": {seed: pageChain(s, "/b", 20)}})
		longest := time.Duration(0)
		for _, g := range w.Gaps(s.Host()) {
			longest = max(longest, g)
		}
		if longest < 30*time.Second {
			t.Errorf("the longest pause is %v, the host requested 30 s", longest)
		}
	})
}

func TestRetryAfterOfRedirectHoldsTargetForEveryCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		from, to := w.Site("http://a.example"), w.Site("http://b.example")
		from.Redirect("/", to.URL("/x")).Header("Retry-After", "30")
		together(t, w, map[string]*part{"abot": {seed: from.URL("/")}, "bbot": {seed: pageChain(to, "/", 20)}})
		longest := time.Duration(0)
		for _, g := range w.Gaps(to.Host()) {
			longest = max(longest, g)
		}
		if longest < 29*time.Second {
			t.Errorf("the longest pause is %v, the redirect requested 30 s", longest)
		}
	})
}

// A crawl that ends, or is cancelled during its requests, delays nobody. A crawl that joins late waits for the pause.
func TestCrawlsJoinLateAndLeaveEarly(t *testing.T) {
	for _, latency := range []time.Duration{0, 700 * time.Millisecond} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://h.example").Latency(latency)
			start := time.Now()
			together(t, w, map[string]*part{
				"abot": {seed: pageChain(s, "/a", 60)},
				"bbot": {Config: delay(4 * time.Second), seed: pageChain(s, "/b", 60), after: 10*time.Second + 300*time.Millisecond, cancel: 30 * time.Second},
				"cbot": {seed: pageChain(s, "/c", 5), after: 50 * time.Second},
			})
			var before time.Time
			for i, r := range w.Requests() {
				at, pause := r.Start.Sub(start), time.Second
				if b := start.Add(10*time.Second + 300*time.Millisecond); r.Start.After(b.Add(5*time.Second)) && r.Start.Before(b.Add(30*time.Second)) {
					pause = 4 * time.Second // while bbot waits for the host
				}
				gap := r.Start.Sub(before)
				if i > 0 && (gap < pause || gap > pause+grace && at > 46*time.Second) {
					t.Errorf("request %d at %v comes after %v", i+1, at, gap)
				}
				before = r.End
			}
		})
	}
}

const grace = 30 * time.Millisecond

// Crawls with different accounts still share the server's delay.
func TestTwoAccountsOfOneSiteTakeTurns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://h.example")
		account := func(name string) crawler.Config {
			return crawler.Config{Hosts: []crawler.HostSettings{{Match: "h.example", Header: http.Header{"X-Account": {name}}}}}
		}
		together(t, w, map[string]*part{
			"abot": {Config: account("a"), seed: pageChain(s, "/a", 30)}, "bbot": {Config: account("b"), seed: pageChain(s, "/b", 30)},
		})
		fair(t, agents(w, s.Host()), "abot")
		w.MustSpace(s.Host(), time.Second)
	})
}

// The ledger of each crawl names the crawl that it waited for.
func TestLedgerNamesTheCrawlThatWasWaitedFor(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://h.example")
		var ledger bytes.Buffer
		a := delay(time.Second)
		a.Politeness.Ledger = &ledger
		together(t, w, map[string]*part{"abot": {Config: a, seed: pageChain(s, "/a", 10)}, "bbot": {seed: pageChain(s, "/b", 10)}})
		if n := strings.Count(ledger.String(), `{"clause":"shared","until":"`); n < 9 || n > 12 {
			t.Errorf("%d lines name the other crawl:\n%s", n, ledger.String())
		}
		if n := strings.Count(ledger.String(), `"by":"bbot"}`); n < 9 {
			t.Errorf("%d lines name it rightly:\n%s", n, ledger.String())
		}
	})
}

// A single crawl waits for nobody else.
func TestSingleCrawlWaitsForNoOther(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://h.example")
		var ledger bytes.Buffer
		a := delay(time.Second)
		a.Politeness.Ledger = &ledger
		together(t, w, map[string]*part{"abot": {Config: a, seed: pageChain(s, "/a", 10)}})
		if strings.Contains(ledger.String(), "shared") {
			t.Error(ledger.String())
		}
	})
}

// Limits of shared hosts apply to all crawls together.
func TestRateAndConcurrencyHoldForAllCrawls(t *testing.T) {
	for _, l := range []politeness.HostsLimits{{Rate: 2}, {Concurrency: 1}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			hosts, crawls := politeness.NewHosts(l), map[string]*part{}
			for i := range 4 {
				s := w.Site(fmt.Sprintf("http://h%d.example", i)).Latency(400 * time.Millisecond)
				crawls[fmt.Sprintf("bot%c", 'a'+i)] = &part{Config: crawler.Config{Politeness: politeness.Config{Shared: hosts}}, seed: pageChain(s, "/", 10)}
			}
			start := time.Now()
			together(t, w, crawls)
			all := w.Requests()
			for i, r := range all {
				for _, before := range all[:i] {
					if l.Concurrency > 0 && before.End.After(r.Start) {
						t.Fatalf("two requests at once at %v", r.Start.Sub(start))
					}
				}
				if l.Rate > 0 && i > 0 && r.Start.Sub(all[i-1].Start) < 500*time.Millisecond {
					t.Fatalf("two requests within %v", r.Start.Sub(all[i-1].Start))
				}
			}
			if took := time.Since(start); l.Rate > 0 && took > 25*time.Second {
				t.Errorf("%d requests in %v", len(all), took)
			}
		})
	}
}
