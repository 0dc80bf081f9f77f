package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// TestAMillionRequests makes the report page of a crawl with a million requests to 20,000 hosts (200,000 requests in short runs), half of
// them to the first 60 hosts. The page is no larger than that of a small crawl, and making it needs little memory.
func TestAMillionRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("a million requests take seconds")
	}
	const hosts = 20_000
	requests := long.N(200_000, 1_000_000)
	begun := time.Now()
	d := digest.New(digest.Config{Audit: audit.Config{Delay: 1}})
	most, n := uint64(0), 0
	large(requests, hosts, func(begin, end *ledger.Entry, v *sink.Record) {
		d.Add(begin)
		d.Add(end)
		d.AddVisit(v)
		if n++; n%100_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	})
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
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

// large generates the ledger lines and visits of a large crawl. The first 60 hosts get half of the requests.
func large(requests, hosts int, add func(begin, end *ledger.Entry, v *sink.Record)) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := make([]time.Time, hosts) // earliest time of the next request to each host
	for i := range requests {
		n := i * 7919 % hosts
		if i%2 == 0 {
			n = i / 2 % min(60, hosts)
		}
		host := fmt.Sprintf("www.site-%d.example:443", n)
		when := at[n]
		if least := start.Add(time.Duration(i) * 40 * time.Millisecond); when.Before(least) {
			when = least
		}
		at[n] = when.Add(1100*time.Millisecond + time.Duration(i%97)*time.Millisecond)
		begin := &ledger.Entry{
			Event: ledger.Start, Run: "r", ID: uint64(i + 1), URL: "https://" + host + "/p", Host: host, Addr: fmt.Sprintf("192.0.2.%d", n), Purpose: "page",
			Allowed: when, Written: when, Clauses: []ledger.Clause{{Name: ledger.ClauseDelay, Until: when}},
		}
		status := 200
		if i%13 == 0 {
			status = 404
		}
		add(begin, &ledger.Entry{Event: ledger.End, Run: "r", ID: begin.ID, Ended: when.Add(100 * time.Millisecond), Status: status, Bytes: 9000},
			&sink.Record{URL: fmt.Sprintf("https://www.site-%d.example/p%d", n, i), Via: "https://www.site-1.example/", Outcome: "fetched", Status: status, Depth: i % 9, Bytes: 9000, Queued: start, Ended: when})
	}
}

// drawn returns the data for the report page of a large crawl.
func drawn(requests, hosts int) *source {
	d := digest.New(digest.Config{Audit: audit.Config{Delay: 1}})
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &source{commands: testCommands, report: &crawler.Report{Started: start, Ended: start.Add(time.Hour), Pages: requests, Hosts: hosts}, list: problemList{table: newTable("url")}}
	s.manifest = &job.Manifest{Seeds: []string{"https://www.site-1.example/"}, Settings: map[string]string{"delay": "1s"}, Runs: []job.Run{{}}}
	n := 0
	large(requests, hosts, func(begin, end *ledger.Entry, v *sink.Record) {
		if n++; v.Status == 404 && n%7 == 0 {
			v.Status = 500
		}
		d.Add(begin)
		d.Add(end)
		d.AddVisit(v)
		s.list.add(v)
	})
	s.facts = d.Snapshot(0)
	return s
}

// largeJob writes the lines of a large crawl into a job directory.
func largeJob(t testing.TB, dir string, requests, hosts int) {
	t.Helper()
	requested, err := os.Create(filepath.Join(dir, job.LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	visited, err := os.Create(filepath.Join(dir, job.VisitsName))
	if err != nil {
		t.Fatal(err)
	}
	to := bufio.NewWriter(requested)
	lines, visits := ledger.NewWriter(to, 0), sink.NewJSONL(visited)
	large(requests, hosts, func(begin, end *ledger.Entry, v *sink.Record) {
		err = errors.Join(err, lines.Write(begin), lines.Write(end), visits.Append(t.Context(), v))
	})
	if err := errors.Join(err, to.Flush(), visits.Close(t.Context()), requested.Close(), visited.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFactsAreThoseOfLines compares the concurrent reader with encoding/json line by line, for a crawl of hostile sites and a large crawl.
func TestFactsAreThoseOfLines(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, 20*time.Millisecond)
	for _, requests := range []int{0, 20_000} {
		if requests > 0 {
			largeJob(t, dir, requests, 12_000)
		}
		rules, err := r.AuditConfig()
		if err != nil {
			t.Fatal(err)
		}
		d := digest.New(digest.Config{Audit: rules, Body: r.RobotsBody})
		want := problemList{table: newTable("url")}
		eachLine(t, filepath.Join(dir, job.LedgerName), func(e *ledger.Entry) { d.Add(e) })
		eachLine(t, filepath.Join(dir, job.VisitsName), func(v *sink.Record) {
			d.AddVisit(v)
			want.add(v)
		})
		got := problemList{table: newTable("url")}
		facts, err := r.Facts(got.add)
		if err != nil || !reflect.DeepEqual(facts, d.Snapshot(0)) || !bytes.Equal(got.csv(), want.csv()) || got.n == 0 || facts.Lines < 2*requests {
			t.Errorf("%d requests: the facts differ (%v): %d lines, %d problems, want %d", requests, err, facts.Lines, got.n, want.n)
		}
	}
}

// eachLine decodes the lines of a file.
func eachLine[T any](t *testing.T, path string, use func(*T)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		v := new(T)
		if err := json.Unmarshal(line, v); err != nil {
			t.Fatal(err)
		}
		use(v)
	}
}

// BenchmarkWrite writes the report of a job of 100,000 requests.
func BenchmarkWrite(b *testing.B) {
	const requests = 100_000
	dir, r := crawled(b, crawler.NoDelay)
	largeJob(b, dir, requests, 2000)
	for b.Loop() {
		if err := Write(r, testCommands); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/requests, "µs/request")
}
