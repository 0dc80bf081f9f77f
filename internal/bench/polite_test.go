package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
)

// ideal returns the shortest time in which hosts that are crawled at the same time can answer that many pages
// each: robots.txt and the pages one after the other, with a delay between any two.
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

// record is a crawl with its ledger.
type record struct {
	config crawler.Config
	ledger bytes.Buffer
	robots map[string][]byte
}

func newRecord(delay time.Duration) *record {
	r := &record{config: config(newHeapPeak(), false, false), robots: map[string][]byte{}}
	r.config.Politeness.Delay = delay
	r.config.Politeness.Ledger = &r.ledger // one Write at a time
	sum := sha256.Sum256([]byte(robotsTxt))
	r.robots[hex.EncodeToString(sum[:])] = []byte(robotsTxt)
	return r
}

// audit reports the violations that the audit of the ledger finds, and returns their number.
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

// agent is the User-Agent that config's crawls send.
func agent(contact string) string {
	if contact == "" {
		return "bench/1.0"
	}
	return "bench/1.0 (+" + contact + ")"
}

// TestMakespanIsTheIdeal checks in virtual time that a polite crawl takes as long as its delays and the servers
// require, and no longer, and that neither the audit of the servers, which crawltest.Test makes at the end, nor
// that of the ledger finds a violation. Few workers must be as fast as many: none of them waits for a host.
func TestMakespanIsTheIdeal(t *testing.T) {
	const (
		hosts, pages = 50, 10
		delay        = time.Second
		latency      = 50 * time.Millisecond
		contact      = "https://lab.university.edu/crawl"
	)
	for _, workers := range []int{64, 8} {
		t.Run(fmt.Sprint("workers=", workers), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				w.Expect(crawltest.Expect{Delay: delay, PerAddress: true, Agent: "bench", Contact: contact})
				r := newRecord(delay)
				c := &r.config
				c.Contact, c.Concurrency = contact, workers
				c.Fetch.DialContext, c.Fetch.Resolver = w.DialContext, w
				seeds := polite(w, r, hosts, pages, latency)
				start := time.Now()
				run(t, *c, hosts*pages, seeds)
				took, best := time.Since(start), ideal(pages, delay, latency)
				t.Logf("%v of %v", took, best)
				if took < best || took > best*105/100 {
					t.Errorf("the crawl took %v, ideal is %v", took, best)
				}
				r.audit(t)
			})
		})
	}
}

// polite makes sites whose pages are all linked from the first one, and returns the seeds.
func polite(w *crawltest.Web, r *record, hosts, pages int, latency time.Duration) []string {
	const robots = "User-agent: *\nDisallow: /private/\n"
	sum := sha256.Sum256([]byte(robots))
	r.robots[hex.EncodeToString(sum[:])] = []byte(robots)
	var seeds []string
	for h := range hosts {
		s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(latency)
		s.Robots(robots).Forbids("/private/*")
		var index strings.Builder
		index.WriteString(`<a href="/private/x">x</a>`)
		for i := 1; i < pages; i++ {
			fmt.Fprintf(&index, `<a href="/p%d">x</a>`, i)
			s.Page(fmt.Sprintf("/p%d", i), `<a href="/">x</a>`)
		}
		s.Page("/", index.String())
		seeds = append(seeds, s.URL("/"))
	}
	return seeds
}

// run crawls to the end and checks that all pages were fetched.
func run(t *testing.T, c crawler.Config, pages int, seeds []string) {
	t.Helper()
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Pages != pages || rep.Finish != crawler.FinishDone {
		t.Errorf("%d of %d pages, %s", rep.Pages, pages, rep.Finish)
	}
}
