package bench

import (
	"flag"
	"io"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// workers is the maximum number of concurrent requests.
const workers = crawler.DefaultConcurrency

var alone = flag.Bool("alone", false, "crawl without the ceilings beside it, for profiles")

// BenchmarkCrawl measures a whole crawl of a web without delays, including robots.txt, known URLs, and visits as JSON lines. Its metrics
// concern the crawling process only:
//
//	pages/s, cpu-ms/page, allocs/page, B/page    of the crawl
//	heap-MB                                      largest heap seen during the crawl
//	fetch-cpu-ms/page, tok-cpu-ms/page           of net/http; of net/http and x/net/html's tokenizer
//	cpu/fetch, cpu/tok                           the crawl's CPU time as a multiple of theirs
func BenchmarkCrawl(b *testing.B) {
	usual := shape{Hosts: 50, Pages: 20, Size: 30_000, Links: 80}
	for _, c := range []struct {
		name   string
		web    shape
		ledger bool
	}{
		{"page=5KB", shape{Hosts: 50, Pages: 40, Size: 5_000, Links: 14}, false},
		{"page=30KB", usual, false},
		{"ledger", usual, true},
		{"page=1MB", shape{Hosts: 20, Pages: 4, Size: 1_000_000, Links: 2_000}, false},
		{"hosts=1", shape{Hosts: 1, Pages: 1_000, Size: 30_000, Links: 80}, false},
		{"hosts=1000", shape{Hosts: 1_000, Pages: 3, Size: 30_000, Links: 80}, false},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkCrawl(b, c.web, c.ledger) })
	}
}

func benchmarkCrawl(b *testing.B, s shape, ledger bool) {
	w := startWeb(b, s)
	urls := w.urls(w.hosts)
	var crawl, fetch, tok cost
	peak := newHeapPeak()
	for b.Loop() {
		crawl.measure(b, len(urls), func() { w.crawl(b, config(peak, ledger, s.Hosts == 1)) })
		if *alone {
			continue
		}
		b.StopTimer()
		fetch.measure(b, len(urls), func() { newCeiling(w, ignore).all(b, urls) })
		tok.measure(b, len(urls), func() { newCeiling(w, tokenizer).all(b, urls) })
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(crawl.rate(), "pages/s")
	b.ReportMetric(crawl.cpuMS(), "cpu-ms/page")
	b.ReportMetric(float64(crawl.allocs)/float64(crawl.pages), "allocs/page")
	b.ReportMetric(float64(crawl.bytes)/float64(crawl.pages), "B/page")
	b.ReportMetric(float64(peak.most)/1e6, "heap-MB")
	if !*alone {
		b.ReportMetric(fetch.cpuMS(), "fetch-cpu-ms/page")
		b.ReportMetric(tok.cpuMS(), "tok-cpu-ms/page")
		b.ReportMetric(crawl.cpuMS()/fetch.cpuMS(), "cpu/fetch")
		b.ReportMetric(crawl.cpuMS()/tok.cpuMS(), "cpu/tok")
	}
}

// config returns the configuration of a crawl of the benchmark's own hosts without delays. Several workers may make requests to one host at
// once only if the host is owned; in a web of many hosts, each host gets requests from one worker, as usual.
func config(visits io.Writer, ledger, single bool) crawler.Config {
	c := crawler.Config{
		Agent: "bench/1.0", Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited}, Concurrency: workers,
		Sinks: []sink.Sink{sink.NewJSONL(visits)},
	}
	c.Politeness.Delay, c.Politeness.DelayFactor = politeness.NoDelay, politeness.NoFactor
	if ledger {
		c.Politeness.Ledger = io.Discard
	}
	if single {
		c.Politeness.OwnHosts = func(string) int { return 16 }
	}
	return c
}

// crawl crawls w completely. It checks that every page was requested once, that no forbidden page was requested, and that each forbidden
// page has a visit.
func (w *web) crawl(tb testing.TB, c crawler.Config) {
	tb.Helper()
	cr, err := crawler.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	rep, err := cr.Run(tb.Context(), w.seeds()...)
	if err != nil {
		tb.Fatal(err)
	}
	pages, hosts, others := w.Hosts*w.Pages, w.Hosts, w.Hosts*w.others()
	if rep.Finish != crawler.FinishDone || rep.Requests != pages+hosts+others ||
		rep.Statuses[200] != pages || rep.Statuses[w.Other] != others || rep.Outcomes[crawler.Refused] != hosts {
		tb.Fatalf("not the crawl of %d pages of %d hosts that it should be: %+v", pages, hosts, rep)
	}
}

// TestCrawl checks, without measuring, that the crawl of the benchmark is complete.
func TestCrawl(t *testing.T) {
	w := startWeb(t, shape{Hosts: 5, Pages: 12, Size: 2_000, Links: 10})
	w.crawl(t, config(io.Discard, true, false))
	newCeiling(w, tokenizer).all(t, w.urls(w.hosts))
}
