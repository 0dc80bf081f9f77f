package politeness

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// pages returns one page of each of n hosts.
func pages(b *testing.B, n int) []weburl.URL {
	b.Helper()
	urls := make([]weburl.URL, n)
	for i := range urls {
		var err error
		if urls[i], err = weburl.Parse(fmt.Sprintf("https://host%07d.test/section/page.html", i)); err != nil {
			b.Fatal(err)
		}
	}
	return urls
}

// population returns a Gate that knows the hosts of these pages. Each host has its own address and no robots.txt. There are no delays, so
// that every page may be requested at once.
func population(b *testing.B, urls []weburl.URL) *Gate {
	b.Helper()
	g, err := NewGate(Config{Identity: identity(), Delay: NoDelay, DelayFactor: NoFactor, OwnHosts: func(string) int { return 1 }})
	if err != nil {
		b.Fatal(err)
	}
	for i, u := range urls {
		p, err := g.Admit(Request{URL: u, Next: g.Next(u), Addr: addrOf(i)})
		if err != nil {
			b.Fatal(err)
		}
		g.Report(p, Reply{Status: 404})
	}
	return g
}

// BenchmarkPage measures the Gate's work for one request: the calls of Next, Admit, Redeem, Begin and Report.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{1, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("hosts=%d", n), func(b *testing.B) {
			urls := pages(b, n)
			before := heap()
			g := population(b, urls)
			perHost := float64(heap()-before) / float64(n)
			b.ReportAllocs()
			i := 0
			var free time.Time // when the host is free; Report rounds the end of a request up to a microsecond
			for b.Loop() {
				u := urls[i%n]
				i++
				for n == 1 && time.Now().Before(free) {
				}
				p, err := g.Admit(Request{URL: u, Next: g.Next(u), Addr: addrOf(i)})
				if err != nil {
					b.Fatal(err)
				}
				grant, err := p.Redeem()
				if err != nil || grant.Begin() != nil {
					b.Fatal(err)
				}
				free = g.Report(p, Reply{Status: 200, Written: time.Now()})
			}
			if n > 1 {
				b.ReportMetric(perHost, "B/host")
			}
			runtime.KeepAlive(g)
		})
	}
}

func BenchmarkNext(b *testing.B) {
	urls := pages(b, 10_000)
	g := population(b, urls)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		g.Next(urls[i%len(urls)])
		i++
	}
}

// heap returns the size of the heap in use, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAllocationsOfOnePage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: NoDelay, DelayFactor: NoFactor, OwnHosts: func(string) int { return 1 }})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /no\n")
		u := b.url("https://a.test/yes")
		n := testing.AllocsPerRun(100, func() {
			p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr})
			if err != nil {
				t.Fatal(err)
			}
			g, _ := p.Redeem()
			if err := g.Begin(); err != nil {
				t.Fatal(err)
			}
			b.gate.Report(p, Reply{Status: 200})
		})
		if n > 3 {
			t.Errorf("%v allocations", n)
		}
	})
}
