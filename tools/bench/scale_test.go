package bench

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

var scaleTo = flag.Int("scale", 100_000, "pages of BenchmarkScale, and a tenth of it the hosts of BenchmarkManyHosts")

// madeWeb makes the pages of any number of hosts when they are requested. A crawl of it has all costs except those of HTTP.
type madeWeb struct {
	maker  *maker
	header http.Header
}

func newMadeWeb(s shape) *madeWeb {
	return &madeWeb{newMaker(s, nil, 0), http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
}

func madeHost(h int) string { return fmt.Sprintf("http://h%d.example/", h) }

// CloseIdle implements crawler.Fetcher.
func (*madeWeb) CloseIdle(string) {}

// Resolve implements crawler.Fetcher. Each host has its own address.
func (w *madeWeb) Resolve(_ context.Context, u weburl.URL) (netip.Addr, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Host(), "h"), ".")
	h, err := strconv.Atoi(name)
	return netip.AddrFrom4([4]byte{127, byte(1 + h>>16), byte(h >> 8), byte(h)}), err
}

// Fetch implements crawler.Fetcher.
func (w *madeWeb) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	return fetchMade(p, w.header, func(path string) ([]byte, bool) {
		if path == "/robots.txt" {
			return []byte(robotsTxt), true
		}
		i, ok := pageOf(path)
		return w.maker.page(make([]byte, 0, w.maker.shape.Size+1024), i), ok
	})
}

// crawl crawls w through a frontier on disk, and checks that every page was requested once.
func (w *madeWeb) crawl(b *testing.B, store frontier.Durable, handle crawler.Handler) {
	c := fileConfig(b)
	c.Contact = politeContact
	c.Frontier, c.Fetcher, c.Handler = store, w, handle
	s := w.maker.shape
	seeds := make([]string, s.Hosts)
	for h := range seeds {
		seeds[h] = madeHost(h)
	}
	cr, err := crawler.New(c)
	if err != nil {
		b.Fatal(err)
	}
	rep, err := cr.Run(b.Context(), seeds...)
	if err != nil {
		b.Fatal(err)
	}
	if rep.Finish != crawler.FinishDone || rep.Statuses[200] != s.Hosts*s.Pages || rep.Requests != s.Hosts*(s.Pages+1) {
		b.Fatalf("not the crawl of %d pages of %d hosts that it should be: %+v", s.Pages, s.Hosts, rep)
	}
}

// tenths records the cost of each tenth of a crawl.
type tenths struct {
	b     *testing.B
	pages int

	mu   sync.Mutex
	seen int
	last time.Duration   // CPU time at the end of the previous tenth
	cost []time.Duration // CPU time of each tenth
	rss  int             // largest resident memory so far
}

// Handle implements crawler.Handler.
func (t *tenths) Handle(_ context.Context, v *crawler.Visit) error {
	if v.Outcome != crawler.Fetched {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen++; t.seen%max(1, t.pages/10) == 0 {
		now := cpu(t.b)
		t.cost, t.last = append(t.cost, now-t.last), now
		t.rss = max(t.rss, resident())
	}
	return nil
}

// BenchmarkScale crawls -scale pages of 4 KB on 1,000 hosts, made in memory, through a frontier on disk, with visits and ledger in files.
// It then opens the frontier again as a process does after its predecessor was killed. Its metrics:
//
//	cpu-ms/page    of this process, which also makes the pages
//	last/first     CPU time of the last tenth of the pages ÷ that of the first
//	rss-MB         largest at the end of a tenth
//	restart-s      until the frontier of the killed process is open, and its first host claimed
func BenchmarkScale(b *testing.B) {
	w := newMadeWeb(shape{Hosts: 1000, Pages: *scaleTo / 1000, Size: 4_000, Links: 14, Made: true})
	pages := w.maker.shape.Hosts * w.maker.shape.Pages
	var all cost
	for b.Loop() {
		dir := b.TempDir()
		store, err := disk.Open(dir, disk.Config{})
		if err != nil {
			b.Fatal(err)
		}
		t := &tenths{b: b, pages: pages, last: cpu(b)}
		all.measure(b, pages, func() { w.crawl(b, store, t) })
		copied := killedCopy(b, dir)
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		again, err := disk.Open(copied, disk.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "restart-s")
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(t.cost[len(t.cost)-1].Seconds()/t.cost[0].Seconds(), "last/first")
		b.ReportMetric(float64(t.rss)/1e6, "rss-MB")
		b.Logf("CPU time of each tenth: %v", t.cost)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all.cpuMS(), "cpu-ms/page")
	b.ReportMetric(all.rate(), "pages/s")
}

// killedCopy returns a directory with the files of an open store in the state in which a kill would leave them.
func killedCopy(b *testing.B, dir string) string {
	b.Helper()
	to := b.TempDir()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || rel == "." || d.Name() == "LOCK" {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, rel), 0o700)
		}
		return os.Link(path, filepath.Join(to, rel))
	})
	if err != nil {
		b.Fatal(err)
	}
	return to
}

// admitting is a store that measures how long it takes to add URLs.
type admitting struct {
	*disk.Store
	took time.Duration
}

// Add implements frontier.Frontier. A crawl adds all of its seeds in one call.
func (a *admitting) Add(ctx context.Context, all ...frontier.Request) (int, error) {
	start := time.Now()
	defer func() { a.took += time.Since(start) }()
	return a.Store.Add(ctx, all...)
}

// BenchmarkManyHosts crawls one page on each of many hosts, a tenth of -scale, through a frontier on disk. Its metrics:
//
//	admitted/s     hosts that the frontier admits, each with one URL, when all of them are known to be durable
//	cpu-ms/host    of this process for all, with two requests for each host
//	hosts/s        crawled
//	rss-MB         at the end
func BenchmarkManyHosts(b *testing.B) {
	w := newMadeWeb(shape{Hosts: *scaleTo / 10, Pages: 1, Size: 500, Links: 1, Made: true})
	var all cost
	for b.Loop() {
		store, err := disk.Open(b.TempDir(), disk.Config{})
		if err != nil {
			b.Fatal(err)
		}
		a := &admitting{Store: store}
		all.measure(b, w.maker.shape.Hosts, func() { w.crawl(b, a, nil) })
		b.ReportMetric(float64(w.maker.shape.Hosts)/a.took.Seconds(), "admitted/s")
		b.ReportMetric(float64(resident())/1e6, "rss-MB")
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all.cpuMS(), "cpu-ms/host")
	b.ReportMetric(all.rate(), "hosts/s")
}
