package frontier_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// link returns URL i of a crawl with the given number of hosts. URLs have about 79 bytes.
func link(b *testing.B, i, hosts int) frontier.Request {
	b.Helper()
	u, err := weburl.Parse(fmt.Sprintf("https://www.site-%06d.example/section/%08x/article-about-things-%07d.html", i%hosts, i*2654435761&0xffffffff, i))
	if err != nil {
		b.Fatal(err)
	}
	return frontier.Request{URL: u}
}

// BenchmarkAdd adds the links of pages: 80 links, half of them known, most on one host.
func BenchmarkAdd(b *testing.B) {
	const hosts, batch, fresh = 1000, 80, 40
	pool := make([]frontier.Request, 200_000)
	for i := range pool {
		pool[i] = link(b, i/32*7, hosts)
		pool[i].URL = link(b, i*hosts+i/32%hosts, hosts).URL
	}
	var m *frontier.Memory
	page := make([]frontier.Request, batch)
	next := len(pool)
	b.ReportAllocs()
	for b.Loop() {
		if next+fresh > len(pool) {
			b.StopTimer()
			m, next = frontier.NewMemory(frontier.MemoryConfig{}), fresh
			_, _ = m.Add(b.Context(), pool[:fresh]...)
			b.StartTimer()
		}
		copy(page, pool[next-fresh:next+fresh])
		if _, err := m.Add(b.Context(), page...); err != nil {
			b.Fatal(err)
		}
		next += fresh
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/link")
}

// BenchmarkClaimSettle claims and settles a URL while the given number of hosts is ready.
func BenchmarkClaimSettle(b *testing.B) {
	for _, hosts := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			m := frontier.NewMemory(frontier.MemoryConfig{})
			for i := range hosts {
				if _, err := m.Add(b.Context(), link(b, i, hosts)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := m.Claim(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Settle(b.Context(), c, frontier.Settlement{Again: &frontier.Again{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkMemoryQueued measures the memory of two million queued URLs, 40 per page. Run it once: -benchtime 1x.
func BenchmarkMemoryQueued(b *testing.B) {
	for _, hosts := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			const urls, batch = 2_000_000, 40
			for b.Loop() {
				before, text := heap(), 0
				m := frontier.NewMemory(frontier.MemoryConfig{})
				page := make([]frontier.Request, batch)
				for i := 0; i < urls; i += batch {
					via := link(b, i, hosts).URL
					for j := range page {
						page[j] = link(b, i+j, hosts)
						page[j].Via = via
						text += len(page[j].URL.PathQuery())
					}
					if n, err := m.Add(b.Context(), page...); n != batch || err != nil {
						b.Fatal(n, err)
					}
				}
				each := float64(heap()-before) / urls
				b.ReportMetric(each, "B/URL")
				b.ReportMetric(each-float64(text)/urls, "B/URL-beyond-path")
				runtime.KeepAlive(m)
			}
		})
	}
}

// BenchmarkMemoryIdleHost measures the memory of hosts without URLs that wait for their ready time.
func BenchmarkMemoryIdleHost(b *testing.B) {
	const hosts = 300_000
	for b.Loop() {
		before := heap()
		m := frontier.NewMemory(frontier.MemoryConfig{})
		for i := range hosts {
			_, _ = m.Add(b.Context(), link(b, i, hosts))
			c, err := m.Claim(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := m.Settle(b.Context(), c, frontier.Settlement{ReadyAt: time.Now().Add(time.Hour)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/hosts, "B/host")
		runtime.KeepAlive(m)
	}
}
