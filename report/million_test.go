package report

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/digest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// TestAMillionRequests makes the page of a crawl of a million requests to 20,000 hosts, the first of which have most of them:
// it is as large as the page of a small crawl, and needs little memory.
func TestAMillionRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("a million requests take seconds")
	}
	const requests, hosts = 1_000_000, 20_000
	begun := time.Now()
	d := digest.New(digest.Config{Audit: audit.Config{Delay: 1}})
	most := uint64(0)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := make([]time.Time, hosts) // when each host may be requested next
	for i := range requests {
		n := i * 7919 % hosts
		if i%2 == 0 {
			n = i / 2 % 60
		}
		host := fmt.Sprintf("www.site-%d.example:443", n)
		when := at[n]
		if least := start.Add(time.Duration(i) * 40 * time.Millisecond); when.Before(least) {
			when = least
		}
		at[n] = when.Add(1100*time.Millisecond + time.Duration(i%97)*time.Millisecond)
		begin := ledger.Entry{
			Event: ledger.Start, Run: "r", ID: uint64(i + 1), URL: "https://" + host + "/p", Host: host, Addr: fmt.Sprintf("192.0.2.%d", n), Purpose: "page",
			Allowed: when, Written: when, Clauses: []ledger.Clause{{Name: ledger.ClauseDelay, Until: when}},
		}
		d.Add(&begin)
		status := 200
		if i%13 == 0 {
			status = 404
		}
		d.Add(&ledger.Entry{Event: ledger.End, Run: "r", ID: begin.ID, Ended: when.Add(100 * time.Millisecond), Status: status, Bytes: 9000})
		d.AddVisit(&sink.Record{URL: fmt.Sprintf("https://www.site-%d.example/p%d", n, i), Via: "https://www.site-1.example/", Outcome: "fetched", Status: status, Depth: i % 9, Bytes: 9000, Queued: start, Ended: when})
		if i%100_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
	s := &source{facts: d.Snapshot(0), report: &crawler.Report{Started: start, Ended: start.Add(12 * time.Hour), Pages: requests, Hosts: hosts}}
	s.manifest = &job.Manifest{Seeds: []string{"https://www.site-1.example/"}, Settings: map[string]string{"delay": "1s"}, Runs: []job.Run{{}}}
	page, err := s.page()
	if err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	most = max(most, m.HeapInuse)
	t.Logf("%v, %d MiB of heap, page of %d KiB", time.Since(begun), most>>20, len(page)>>10)
	if len(page) > 400<<10 || most > 256<<20 {
		t.Errorf("a page of %d bytes, %d bytes of heap", len(page), most)
	}
	if s.facts.Total.Requests != requests || s.facts.Total.Early != 0 || s.facts.Unjudged != 0 || s.facts.Total.Visits != requests {
		t.Errorf("%d requests, %d early (%v), %d not judged", s.facts.Total.Requests, s.facts.Total.Early, s.facts.Early, s.facts.Unjudged)
	}
}
