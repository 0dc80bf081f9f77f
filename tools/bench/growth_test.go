package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/sink"
)

var growTo = flag.Int("grow", 100_000, "pages of BenchmarkGrowth's largest crawl")

// BenchmarkGrowth measures how the cost of a page depends on the size of the crawl, from ten thousand pages, times ten at each step, up to
// -grow. Pages have 4 KB, and most links lead to known pages, as on the web. Its metrics:
//
//	cpu-ms/page    of this process
//	heap-MB        the maximum during the crawl
//	rss-MB         of this process when the crawl has ended, including known URLs and connections
//	pages/s
func BenchmarkGrowth(b *testing.B) {
	for pages := 10_000; pages <= *growTo; pages *= 10 {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			w := startWeb(b, shape{Hosts: 100, Pages: pages / 100, Size: 4_000, Links: 14, Made: true})
			var all cost
			peak := newHeapPeak()
			for b.Loop() {
				all.measure(b, pages, func() { w.crawl(b, config(peak, false, false)) })
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(all.cpuMS(), "cpu-ms/page")
			b.ReportMetric(all.rate(), "pages/s")
			b.ReportMetric(float64(peak.most)/1e6, "heap-MB")
			b.ReportMetric(float64(resident())/1e6, "rss-MB")
		})
	}
}

// BenchmarkHosts measures how the cost of a page depends on the number of hosts, in crawls of 20,000 pages.
func BenchmarkHosts(b *testing.B) {
	const pages = 20_000
	for _, hosts := range []int{1, 10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			w := startWeb(b, shape{Hosts: hosts, Pages: pages / hosts, Size: 4_000, Links: 14, Made: true})
			var all cost
			for b.Loop() {
				all.measure(b, pages, func() { w.crawl(b, config(newHeapPeak(), false, hosts == 1)) })
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(all.cpuMS(), "cpu-ms/page")
			b.ReportMetric(all.rate(), "pages/s")
			b.ReportMetric(float64(resident())/1e6, "rss-MB")
		})
	}
}

// BenchmarkLatency measures a minute of a typical crawl: 2,000 hosts that answer after 50 ms, with a second between two requests to each.
// No crawler can fetch more than hosts ÷ (delay + latency) pages a second. The metric rate/bound is the share of this rate that the crawl
// reaches, including its beginning and end.
func BenchmarkLatency(b *testing.B) {
	const (
		hosts, pages = 2000, 57
		delay        = time.Second
		latency      = 50 * time.Millisecond
	)
	w := startWeb(b, shape{Hosts: hosts, Pages: pages, Size: 4_000, Links: 14, Made: true, Latency: latency})
	var all cost
	for b.Loop() {
		c := config(newHeapPeak(), false, false)
		c.Politeness.Delay, c.Concurrency = delay, 256
		all.measure(b, hosts*pages, func() { w.crawl(b, c) })
	}
	bound := hosts / (delay + latency).Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all.rate()/bound, "rate/bound")
	b.ReportMetric(all.rate(), "pages/s")
	b.ReportMetric(all.elapsed.Seconds()/ideal(pages, delay, latency).Seconds()/float64(b.N), "makespan/ideal")
	b.ReportMetric(all.cpuMS(), "cpu-ms/page")
}

// BenchmarkDurable measures the cost of durability by comparing crawls: one with its visits in a file, and one that also has its frontier
// on disk and commits both together.
func BenchmarkDurable(b *testing.B) {
	w := startWeb(b, shape{Hosts: 50, Pages: 100, Size: 30_000, Links: 80})
	var memory, durable cost
	for b.Loop() {
		memory.measure(b, 5000, func() { w.crawl(b, fileConfig(b)) })
		durable.measure(b, 5000, func() { w.crawlDurably(b) })
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(memory.cpuMS(), "memory-cpu-ms/page")
	b.ReportMetric(durable.cpuMS(), "durable-cpu-ms/page")
	b.ReportMetric(durable.cpuMS()/memory.cpuMS(), "durable/memory")
	b.ReportMetric(memory.rate(), "memory-pages/s")
	b.ReportMetric(durable.rate(), "durable-pages/s")
}

// fileConfig returns config's configuration, but with visits and ledger in files, as in crawls of the command.
func fileConfig(b *testing.B) crawler.Config {
	dir := b.TempDir()
	visits, err := sink.OpenJSONL(filepath.Join(dir, "visits.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := os.Create(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = visits.Close(b.Context()), ledger.Close() })
	c := config(nil, false, false)
	c.Sinks, c.Politeness.Ledger = []sink.Sink{visits}, ledger
	return c
}

func (w *web) crawlDurably(b *testing.B) {
	store, err := disk.Open(b.TempDir(), disk.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c := fileConfig(b)
	c.Frontier = store
	w.crawl(b, c)
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

// resident returns the resident memory of this process in bytes, or 0 if the system does not report it.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	pages, _ := strconv.Atoi(f[min(1, len(f)-1)])
	return pages * os.Getpagesize()
}
