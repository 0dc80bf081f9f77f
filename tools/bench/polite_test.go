package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
)

// ideal returns the shortest time in which each of several hosts, crawled at the same time, can answer this many pages: robots.txt and the
// pages one after another, with a delay between any two requests.
func ideal(pages int, delay, latency time.Duration) time.Duration {
	return time.Duration(pages)*delay + time.Duration(pages+1)*latency
}

// BenchmarkPolite is a crawl with a delay, on loopback. Its metrics:
//
//	makespan/ideal    how long it took, as a multiple of the time that the delays alone take
//	violations        violations that the audit of the ledger finds; any is an error
//	cpu-ms/page       as in BenchmarkCrawl
func BenchmarkPolite(b *testing.B) {
	for _, c := range []struct {
		hosts, pages int
		delay        time.Duration
	}{
		{100, 10, 100 * time.Millisecond},
		{500, 10, 250 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("hosts=%d/pages=%d/delay=%v", c.hosts, c.pages, c.delay), func(b *testing.B) {
			w := startWeb(b, shape{Hosts: c.hosts, Pages: c.pages, Size: 30_000, Links: 80})
			var took cost
			violations := 0
			for b.Loop() {
				r := newRecord(c.delay)
				took.measure(b, c.hosts*c.pages, func() { w.crawl(b, r.config) })
				b.StopTimer()
				violations += r.audit(b)
				b.StartTimer()
			}
			best := ideal(c.pages, c.delay, 0).Seconds() * float64(b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took.elapsed.Seconds()/best, "makespan/ideal")
			b.ReportMetric(float64(violations), "violations")
			b.ReportMetric(took.cpuMS(), "cpu-ms/page")
		})
	}
}

// record is the configuration of a crawl with its ledger in memory.
type record struct {
	config crawler.Config
	ledger bytes.Buffer
	robots map[string][]byte
}

func newRecord(delay time.Duration) *record {
	r := &record{config: config(newHeapPeak(), false, false), robots: map[string][]byte{}}
	r.config.Politeness.Delay = delay
	r.config.Politeness.Ledger = &r.ledger // the crawl makes one Write at a time
	sum := sha256.Sum256([]byte(robotsTxt))
	r.robots[hex.EncodeToString(sum[:])] = []byte(robotsTxt)
	return r
}

// audit audits the ledger, reports the violations as errors, and returns their number.
func (r *record) audit(tb testing.TB) int {
	tb.Helper()
	c := audit.Config{
		Product: "bench", UserAgent: agent(r.config.Contact), Contact: r.config.Contact,
		Delay: r.config.Politeness.Delay.Seconds(), MaxRetryAfter: politeness.DefaultMaxRetryAfter.Seconds(),
	}
	rep, err := audit.Check(&r.ledger, c, func(sha string) ([]byte, error) {
		if b, ok := r.robots[sha]; ok {
			return b, nil
		}
		return nil, errors.New("not kept")
	})
	if err != nil {
		tb.Fatal(err)
	}
	if rep.Requests == 0 || rep.Unfinished > 0 {
		tb.Errorf("the ledger has %d requests, %d unfinished", rep.Requests, rep.Unfinished)
	}
	for _, v := range rep.Violations {
		tb.Error(v)
	}
	return len(rep.Violations)
}

// agent returns the User-Agent of crawls with config's configuration.
func agent(contact string) string {
	if contact == "" {
		return "bench/1.0"
	}
	return "bench/1.0 (+" + contact + ")"
}
