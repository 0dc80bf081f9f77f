package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// fed simulates a crawl of any number of hosts. Its page gets the same events as from a real crawler.
type fed struct {
	tb   testing.TB
	feed *Feed
	live *Live
	at   time.Time
	n    int
	host []string
	urls []string

	clauses [1]ledger.Clause // clauses of a request, reused for each
}

func newFed(tb testing.TB, hosts int) *fed {
	tb.Helper()
	f := &fed{tb: tb, feed: new(Feed), at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.live = New(Config{
		Seeds: []string{"http://site-0.example/"}, Agent: "testbot/1.0", Source: f.feed,
		Digest: digest.New(digest.Config{Audit: audit.Config{Delay: 0.001}, Brief: true}), State: func() State { return State{Running: true} },
	})
	f.live.Begin()
	f.feed.Full = f.live.take
	for i := range hosts {
		f.host = append(f.host, fmt.Sprintf("site-%d.example:80", i))
		f.urls = append(f.urls, fmt.Sprintf("http://site-%d.example/page", i))
	}
	return f
}

// request passes the two ledger lines and the visit of one request to the page.
func (f *fed) request() {
	i := f.n % len(f.host)
	f.n++
	f.at = f.at.Add(time.Millisecond)
	f.clauses[0] = ledger.Clause{Name: ledger.ClauseDelay, Until: f.at}
	e := ledger.Entry{
		Event: ledger.Start, Run: "run", ID: uint64(f.n), URL: f.urls[i], Host: f.host[i], Addr: "192.0.2.1", Purpose: "page", Allowed: f.at, Written: f.at,
		Clauses: f.clauses[:],
	}
	if len(f.host) > 1 {
		e.Addr = f.host[i]
	}
	end := ledger.Entry{Event: ledger.End, Run: "run", ID: e.ID, Ended: f.at.Add(time.Millisecond / 2), Status: 200, Bytes: 9000}
	v := sink.Record{URL: f.urls[i], Via: f.urls[i], Depth: 1, Outcome: "fetched", Status: 200, Bytes: 9000, Queued: f.at, Started: f.at, Ended: end.Ended}
	if f.feed.Record(&e) != nil || f.feed.Record(&end) != nil || f.feed.Append(f.tb.Context(), &v) != nil {
		f.tb.Fatal("it is not taken")
	}
}

// refusal passes the visit of a refused URL to the page.
func (f *fed) refusal() {
	i := f.n % len(f.host)
	f.n++
	v := sink.Record{
		URL: f.urls[i], Via: f.urls[i], Depth: 1, Outcome: "refused", Reason: "robots_disallow", Rule: "Disallow: /",
		Detail: `line 2 "Disallow: /" of http://site.example/robots.txt`, Queued: f.at, Ended: f.at,
	}
	if f.feed.Append(f.tb.Context(), &v) != nil {
		f.tb.Fatal("it is not taken")
	}
}

// BenchmarkRequest measures what the page costs per request of the crawl.
func BenchmarkRequest(b *testing.B) {
	f := newFed(b, 50)
	b.ReportAllocs()
	for b.Loop() {
		f.request()
	}
}

// BenchmarkSnapshot measures what the page costs per second while somebody watches.
func BenchmarkSnapshot(b *testing.B) {
	f := newFed(b, 50)
	for range 20_000 {
		f.request()
	}
	b.ReportAllocs()
	for b.Loop() {
		html, err := f.live.render(f.at)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(html)))
	}
}

// TestAllocationsOfThePage counts the page's allocations, which are the same on every machine. Requests and refused URLs cause none. A
// snapshot causes only those for its visible content, however many hosts and requests there were.
func TestAllocationsOfThePage(t *testing.T) {
	f := newFed(t, 50)
	for range 10_000 {
		f.request()
	}
	if n := testing.AllocsPerRun(10_000, f.request); n > 0 {
		t.Errorf("%v allocations for each request", n)
	}
	if n := testing.AllocsPerRun(10_000, f.refusal); n > 0 {
		t.Errorf("%v allocations for each URL that is refused", n)
	}
	snapshot := func(f *fed) float64 {
		return testing.AllocsPerRun(5, func() {
			if html, err := f.live.render(f.at); err != nil || len(html) > 200<<10 {
				t.Errorf("%d bytes, %v", len(html), err)
			}
		})
	}
	few, many := snapshot(f), newFed(t, 3000)
	for range 20_000 {
		many.request()
	}
	t.Logf("%v allocations for each snapshot", few)
	if n := snapshot(many); n > 1.2*few || few > 6000 {
		t.Errorf("%v allocations for a snapshot of 50 hosts, %v of 3,000", few, n)
	}
}
