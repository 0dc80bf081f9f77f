package bench

import (
	"io"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/job/openfiles"
)

// latentWorkers is the maximum number of concurrent requests to slow servers.
const latentWorkers = 1000

// workers returns the maximum number of concurrent requests in a crawl of the web, and in the ceilings for the web.
func (s shape) workers() int {
	if s.Latency > 0 {
		return latentWorkers
	}
	return workers
}

// kinds lists webs that each differ from the usual one in one property.
var kinds = []struct {
	name string
	web  shape
}{
	{"tls", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80, TLS: true}},
	{"tls/10-answers-a-connection", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80, TLS: true, Life: 10}},
	{"http2", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80, TLS: true, HTTP2: true}},
	{"page=300KB", shape{Hosts: 50, Pages: 10, Size: 300_000, Links: 400}},
	{"hosts=1000,pages=3", shape{Hosts: 1_000, Pages: 3, Size: 30_000, Links: 80}},
	{"moved=20%", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80, Other: 301}},
	{"missing=20%", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80, Other: 404}},
	{"usual", shape{Hosts: 50, Pages: 40, Size: 30_000, Links: 80}},
	{"hosts=9000,latency=100ms", shape{Hosts: 9_000, Pages: 3, Size: 4_000, Links: 14, Made: true, Latency: 100 * time.Millisecond}},
}

// BenchmarkKinds crawls webs of other kinds, and measures the ceilings for each. Its metrics are per response of the web, without those for
// robots.txt:
//
//	cpu-ms/page          of the crawl
//	limit-cpu-ms/page    of net/http, with links found, resolved and looked up, and with a robots.txt of each host
//	cpu/limit, cpu/tok   the crawl's CPU time as a multiple of that, and of net/http and x/net/html's tokenizer
//	conns/host           connections that a host has accepted from the crawl
//	resumed/conn         those of them that resumed a TLS session
func BenchmarkKinds(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			// The server needs a listener and a connection for each host. With too few descriptors it would accept no further connections,
			// and the crawl would hang.
			if may, needs := openfiles.Limit(), 2*k.web.Hosts+1000; may > 0 && may < needs {
				b.Skipf("its server needs %d open files, and may have %d: see ulimit -n", needs, may)
			}
			benchmarkKind(b, startWeb(b, k.web))
		})
	}
}

func benchmarkKind(b *testing.B, w *web) {
	urls, all := w.urls(w.hosts), w.requests()
	var crawl, limit, tok cost
	var seen counted
	for b.Loop() {
		before := w.ask()
		crawl.measure(b, len(urls), func() { w.crawl(b, w.config()) })
		after := w.ask()
		seen.Connections += after.Connections - before.Connections
		seen.Resumed += after.Resumed - before.Resumed
		if *alone {
			continue
		}
		b.StopTimer()
		limit.measure(b, len(urls), func() { newCeiling(w, follow()).all(b, all) })
		tok.measure(b, len(urls), func() { newCeiling(w, tokenizer).all(b, all) })
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(crawl.rate(), "pages/s")
	b.ReportMetric(crawl.cpuMS(), "cpu-ms/page")
	if !*alone {
		b.ReportMetric(limit.cpuMS(), "limit-cpu-ms/page")
		b.ReportMetric(crawl.cpuMS()/limit.cpuMS(), "cpu/limit")
		b.ReportMetric(crawl.cpuMS()/tok.cpuMS(), "cpu/tok")
	}
	b.ReportMetric(float64(seen.Connections)/float64(b.N*w.Hosts), "conns/host")
	if w.TLS {
		b.ReportMetric(float64(seen.Resumed)/float64(seen.Connections), "resumed/conn")
	}
}

// requests returns the URLs that every crawl of w must request.
func (w *web) requests() (urls []string) {
	for _, seed := range w.seeds() {
		urls = append(urls, seed+"robots.txt")
	}
	return append(urls, w.urls(w.hosts)...)
}

// config returns the configuration of a crawl of w.
func (w *web) config() crawler.Config {
	c := config(io.Discard, false, w.Hosts == 1)
	c.Concurrency, c.Fetch.RootCAs = w.workers(), w.roots
	c.Fetch.MaxIdle = max(fetcher.DefaultMaxIdle, w.Hosts) // a connection to each host, as the client named ceiling keeps
	return c
}

// TestKinds checks that crawls of small webs of each kind are complete, and that a host gets one connection unless it closes connections.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.web
			s.Hosts, s.Pages, s.Size, s.Links, s.Latency = 4, 12, 2_000, 10, 0
			w := startWeb(t, s)
			w.crawl(t, w.config())
			perHost := int64(1)
			if s.Life > 0 {
				perHost = 2 // 13 requests, and the server closes a connection after 10
			}
			if n := w.ask(); n.Connections != 4*perHost || s.TLS && n.Resumed != n.Connections-4 {
				t.Errorf("%+v, want %d for each of 4 hosts, all after the first resumed", n, perHost)
			}
			newCeiling(w, follow()).all(t, w.requests())
		})
	}
}
