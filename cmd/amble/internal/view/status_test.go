package view

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// shown returns a snapshot's text for a terminal without colour.
func shown(s snapshot, columns int) string {
	var lines []string
	for _, row := range s.rows(columns) {
		lines = append(lines, row.Text(columns-1, false))
	}
	return strings.Join(lines, "\n")
}

func mustURL(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// URLs that are deferred to a later crawl do not count as errors.
func TestStatusTellsDeferredFromErrors(t *testing.T) {
	p := crawler.Progress{Outcomes: map[crawler.Outcome]int{crawler.Failed: 2, crawler.Deferred: 7, crawler.Refused: 1}}
	s := status{}
	snap := s.at(time.Now(), p)
	if snap.failed != 2 || snap.deferred != 7 {
		t.Errorf("%d failed, %d deferred, want 2 and 7", snap.failed, snap.deferred)
	}
	if got, want := shown(snap, 200), "  1 refused  7 deferred  2 failed"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStatusLine(t *testing.T) {
	start := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	s := status{}
	p := crawler.Progress{
		Started: start, Pages: 20, Outcomes: map[crawler.Outcome]int{crawler.Refused: 2, crawler.Trapped: 1, crawler.Failed: 1},
		Frontier: frontier.Stats{Queued: 35, Waiting: 1, Claimed: 4, Hosts: 9},
	}
	for columns, want := range map[int]string{
		200: "20 pages  2.0/s  36 queued  eta 20s  hosts 4 active 5 waiting  3 refused  1 failed",
		60:  "20 pages  2.0/s  36 queued  eta 20s\nhosts 4 active 5 waiting  3 refused  1 failed",
		30:  "20 pages  2.0/s  36 queued\neta 20s  hosts 4 active 5 ...",
	} {
		if got := shown(s.at(start.Add(10*time.Second), p), columns); got != want {
			t.Errorf("status in %d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

func TestEstimateKeepsToLimits(t *testing.T) {
	start := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	p := crawler.Progress{Started: start, Pages: 10, Frontier: frontier.Stats{Queued: 1000}}
	for _, c := range []struct {
		s    status
		want string
	}{
		{status{}, "16m40s"},
		{status{maxPages: 40}, "30s"},
		{status{maxTime: 25 * time.Second}, "15s"},
		{status{maxPages: 12, maxTime: time.Hour}, "2s"},
	} {
		if got := etaText(c.s.at(start.Add(10*time.Second), p).eta); got != c.want {
			t.Errorf("max-pages %d, max-time %v: eta %s, want %s", c.s.maxPages, c.s.maxTime, got, c.want)
		}
	}
	var none status
	if got := etaText(none.at(start, crawler.Progress{Started: start}).eta); got != "?" {
		t.Errorf("with nothing fetched yet: eta %s", got)
	}
}

// The displayed rate of a crawl that was fast at first and is slow now is the slow one.
func TestRateIsRecent(t *testing.T) {
	start := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	var s status
	var snap snapshot
	for sec := range 100 {
		pages := min(sec, 10)*100 + max(0, sec-10)
		snap = s.at(start.Add(time.Duration(sec)*time.Second), crawler.Progress{Started: start, Pages: pages})
	}
	if snap.rate < 0.9 || snap.rate > 1.1 {
		t.Errorf("rate %.2f/s, want about 1", snap.rate)
	}
	if len(s.recent) > 32 {
		t.Errorf("%d samples are kept", len(s.recent))
	}
}

func TestBeginNamesIdentityPaceAndScope(t *testing.T) {
	seeds := []weburl.URL{mustURL(t, "https://a.site.org/x/y"), mustURL(t, "https://b.site.org/"), mustURL(t, "https://c.org/"), mustURL(t, "https://d.org/")}
	cfg := crawler.Config{
		Agent: "mybot/1", Contact: "me@uni.edu", Scope: crawler.ScopeConfig{Kind: crawler.ScopeHost}, Limits: crawler.Limits{Depth: 5, Pages: 1000},
		Politeness: politeness.Config{Delay: time.Second},
	}
	want := "mybot/1 (+mailto:me@uni.edu), to robots.txt \"mybot\"; 1s between requests to a host\n" +
		"scope host a.site.org, b.site.org, c.org and 1 more; depth 5, at most 1000 pages\n"
	if got := beginText(&cfg, seeds); got != want {
		t.Errorf("%q,\nwant %q", got, want)
	}
	cfg.Politeness.Delay, cfg.Scope.Kind, cfg.Limits.Depth, cfg.Limits.Pages, cfg.Limits.Time = politeness.NoDelay, crawler.ScopeDomain, crawler.SeedsOnly, -1, time.Hour
	cfg.Scope.Rules = make([]crawler.ScopeRule, 2)
	got := beginText(&cfg, seeds[:2])
	for _, part := range []string{"100ms (own hosts and loopback: 0s) between", "scope domain site.org, 2 rules; seeds only, 1h\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}

// If the limit allows one page in ten of the queue, the estimate is a tenth of the time for all pages.
func TestEstimateIsThePlans(t *testing.T) {
	start := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		delay    time.Duration
		host     string
		maxPages int
		want     string
	}{
		{3 * time.Second, "127.0.0.1", 0, "2m40s"},
		{3 * time.Second, "127.0.0.1", 4, "16s"},
		{politeness.NoDelay, "127.0.0.1", 0, "40s"},
		{politeness.NoDelay, "a.test", 0, "44s"}, // at least 100 ms after each request
	} {
		queue := frontier.NewMemory(frontier.MemoryConfig{})
		defer queue.Close()
		gate, err := politeness.NewGate(politeness.Config{Contactless: true, Identity: politeness.Identity{Product: "x"}, Delay: c.delay})
		if err != nil {
			t.Fatal(err)
		}
		o := plan.NewOutlook(0)
		o.Watch(queue, gate)
		tr := new(crawler.Trace)
		o.Trace(tr)
		for i := range 40 {
			u := mustURL(t, fmt.Sprintf("http://%s/%d", c.host, i))
			if _, err := queue.Add(t.Context(), frontier.Request{URL: u}); err != nil {
				t.Fatal(err)
			}
			tr.Claimed(frontier.Claim{Request: frontier.Request{URL: u}})
		}
		tr.Visited(&crawler.Visit{Page: &fetcher.Page{Started: start, Ended: start.Add(time.Second)}})
		s := status{outlook: o, maxPages: c.maxPages}
		snap := s.at(start.Add(time.Second), crawler.Progress{Started: start, Frontier: queue.Stats()})
		if got := etaText(snap.eta); got != c.want {
			t.Errorf("%+v: eta %s", c, got)
		}
	}
}

func TestStatusTellsWhenAHostIsDue(t *testing.T) {
	s := snapshot{pages: 1, next: 8 * time.Second, eta: -1}
	if got, want := shown(s, 200), "\nnext in 8s"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

// While a crawl waits to request a robots.txt again, the status says so even before the first page.
func TestStatusTellsWhatAHostWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, err := politeness.NewGate(politeness.Config{Contactless: true, Identity: politeness.Identity{Product: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		queue := frontier.NewMemory(frontier.MemoryConfig{})
		defer queue.Close()
		u := mustURL(t, "http://127.0.0.1/")
		if _, err := queue.Add(t.Context(), frontier.Request{URL: u}); err != nil {
			t.Fatal(err)
		}
		o := plan.NewOutlook(0)
		o.Watch(queue, gate)
		tr := new(crawler.Trace)
		o.Trace(tr)
		tr.Claimed(frontier.Claim{Request: frontier.Request{URL: u}})
		gate.Failed(u, gate.Next(u), errors.New("no such host"))
		s := status{outlook: o}
		snap := s.at(time.Now(), crawler.Progress{Started: time.Now(), Frontier: queue.Stats()})
		if text := shown(snap, 200); !strings.HasSuffix(text, "\nnext in 1s: 127.0.0.1:80, robots_retry") {
			t.Error(text)
		}
		tr.Retrying(u, "connect_refused", time.Now().Add(time.Second))
		s = status{outlook: o}
		snap = s.at(time.Now(), crawler.Progress{Started: time.Now(), Frontier: queue.Stats()})
		if got, want := shown(snap, 80), "next in 1s: 127.0.0.1:80, robots_retry after connect_refused\n0 pages"; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q at its beginning", got, want)
		}
		snap.active = 1 // with a request in flight, the waiting host is no longer the most important fact
		if got, want := shown(snap, 200), "\nnext in 1s: 127.0.0.1:80, robots_retry after connect_refused"; !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q at its end", got, want)
		}
		time.Sleep(2 * time.Second) // the host may be requested, so nothing waits
		s = status{outlook: o}
		snap = s.at(time.Now(), crawler.Progress{Started: time.Now(), Frontier: queue.Stats()})
		if snap.host != "" || snap.cause != "" || strings.Contains(shown(snap, 200), "next") {
			t.Errorf("%+v", snap)
		}
	})
}
