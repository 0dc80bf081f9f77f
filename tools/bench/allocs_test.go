package bench

import (
	"context"
	"io"
	"runtime/debug"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// ceilings lists the last known number of allocations of each part of the hot path. TestAllocs fails if a number grows by more than two
// percent and more than a tenth of an allocation. A change that makes a part cheaper must lower its number here. One that has to make it
// more expensive raises the number, and its commit message says why.
var ceilings = []struct {
	what    string
	date    string
	figure  float64
	measure func(t *testing.T) float64
}{
	{"page, from memory", "2026-11-27", 25.4, func(t *testing.T) float64 { return perPage(t, usual, fromMemory) }},
	{"page, by HTTP without sockets", "2026-11-27", 92.4, func(t *testing.T) float64 { return perPage(t, usual, byHTTP) }},
	{"page, its lines in the ledger", "2026-11-21", 2, func(t *testing.T) float64 {
		return perPage(t, usual, withLedger) - perPage(t, usual, fromMemory)
	}},
	{"known link, the same on all pages", "2026-11-21", 0, func(t *testing.T) float64 { return perLink(t, 8) }},
	{"known link, another on each page", "2026-11-21", 0, func(t *testing.T) float64 { return perLink(t, manyLinks) }},
	{"claim and settle", "2026-11-21", 5, claimAndSettle},
	{"visit's line", "2026-11-21", 0, visitLine},
}

// TestAllocs fails if a part of the hot path makes more allocations than before. It counts allocations instead of measuring time, so that
// the result does not depend on the load of the machine.
func TestAllocs(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates too")
	}
	// A garbage collection would empty pools at unknown times.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, c := range ceilings {
		t.Run(c.what, func(t *testing.T) {
			got := c.measure(t)
			t.Logf("%.3f allocations, on %s they were %.3f", got, c.date, c.figure)
			if most := max(c.figure*1.02, c.figure+0.1); got > most {
				t.Errorf("%.3f allocations, at most %.3f are expected", got, most)
			}
		})
	}
}

// usual describes the links of a typical page.
var usual = knownLinks{links: 80, targets: 80}

const fewLinks, manyLinks = 10, 200

// perLink returns the allocations for each additional link to a known page.
func perLink(t *testing.T, targets int) float64 {
	t.Helper()
	a := perPage(t, knownLinks{fewLinks, targets}, fromMemory)
	b := perPage(t, knownLinks{manyLinks, targets}, fromMemory)
	return (b - a) / (manyLinks - fewLinks)
}

// perPage returns the allocations for each additional page of a crawl, without the fixed cost of the crawl.
func perPage(t *testing.T, known knownLinks, setUp func(*memorySite, *crawler.Config) func()) float64 {
	t.Helper()
	const few, many = 256, 1024
	a := crawlAllocs(t, few, known, setUp)
	b := crawlAllocs(t, many, known, setUp)
	return (b - a) / (many - few)
}

// crawlAllocs returns the allocations of one crawl with a single worker, so that they are the same each time.
func crawlAllocs(t *testing.T, pages int, known knownLinks, setUp func(*memorySite, *crawler.Config) func()) float64 {
	t.Helper()
	s := newMemorySite(pages, known)
	return testing.AllocsPerRun(3, func() {
		var visits lines
		c := config(&visits, false, false)
		c.Concurrency = 1
		end := setUp(s, &c)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := cr.Run(context.Background(), "http://"+memoryHost+"/")
		if err != nil || rep.Pages != pages || int(visits) != pages {
			t.Fatalf("%d lines of %d pages: %+v, %v", visits, pages, rep, err)
		}
		end()
	})
}

func fromMemory(s *memorySite, c *crawler.Config) func() {
	c.Fetcher = memoryFetcher{s}
	return func() {}
}

func withLedger(s *memorySite, c *crawler.Config) func() {
	c.Fetcher, c.Politeness.Ledger = memoryFetcher{s}, io.Discard
	return func() {}
}

func byHTTP(s *memorySite, c *crawler.Config) func() {
	n := newMemoryNet(s)
	c.Fetch.DialContext = n.dial
	return n.serving.Wait
}

// claimAndSettle returns the allocations of claiming a URL and settling the claim.
func claimAndSettle(t *testing.T) float64 {
	t.Helper()
	const urls, hosts = 4096, 64
	m := frontier.NewMemory(frontier.MemoryConfig{})
	defer m.Close()
	for i := range urls {
		u, err := weburl.Parse("http://h" + string(rune('a'+i%hosts/8)) + string(rune('a'+i%8)) + ".example" + pagePath(i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Add(t.Context(), frontier.Request{URL: u}); err != nil {
			t.Fatal(err)
		}
	}
	const each = urls / 4
	return testing.AllocsPerRun(2, func() {
		for range each {
			c, err := m.Claim(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Settle(context.Background(), c, frontier.Settlement{}); err != nil {
				t.Fatal(err)
			}
		}
	}) / each
}

// visitLine returns the allocations of writing the line of a visit.
func visitLine(t *testing.T) float64 {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	rec := &sink.Record{
		Schema: sink.Schema, URL: "https://www.example.org/articles/2026/a-title-of-some-length?page=2", Via: "https://www.example.org/",
		Depth: 3, Status: 200, Outcome: "fetched", Type: "text/html", Charset: "utf-8", Bytes: 48213,
		Title: "A title – Example & Sons", Directives: []string{"noarchive"},
		Links:  &sink.LinkCount{Found: 84, Follow: 61, OutOfScope: 12, Resource: 11},
		Queued: at, Started: at.Add(time.Second), Ended: at.Add(2 * time.Second),
	}
	j := sink.NewJSONL(io.Discard)
	return testing.AllocsPerRun(100, func() {
		if err := j.Append(context.Background(), rec); err != nil {
			t.Fatal(err)
		}
	})
}
