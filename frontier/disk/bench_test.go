package disk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

var (
	diskURLs  = flag.Int("disk.urls", 200_000, "URLs of BenchmarkReopen and BenchmarkGrown")
	diskCache = flag.Int64("disk.cache", 0, "Config.CacheSize of BenchmarkGrown in MiB, 0: the default")
)

// pages generates the pages of a crawl. Each has 60 links of 79 bytes, half of them already seen on earlier pages.
type pages struct {
	hosts int
	made  int
	rand  *rand.Rand
}

const pageLinks = 60

func newPages(hosts int) *pages { return &pages{hosts: hosts, rand: rand.New(rand.NewPCG(1, 1))} }

// url returns the i-th new URL of the crawl. Most URLs of a page are on one host.
func (p *pages) url(i int) string {
	host := i / (pageLinks / 2)
	if i%10 == 9 {
		host = i
	}
	return fmt.Sprintf("https://www.site-%06d.example/section/%08x/article-about-things-%07d.html", host%p.hosts, uint32(i)*2654435761, i)
}

func (p *pages) links(b *testing.B) []frontier.Request {
	b.Helper()
	rs := make([]frontier.Request, pageLinks)
	for i := range rs {
		n := p.made
		if i%2 == 1 && n > 0 { // half of the links are from the last thousand pages
			back := n
			if i%4 == 1 {
				back = min(n, 1000*pageLinks/2)
			}
			n -= 1 + p.rand.IntN(back)
		} else {
			p.made++
		}
		rs[i].URL = parse(b, p.url(n))
		rs[i].Depth = 1 + n%5
	}
	return rs
}

func openBench(b *testing.B, c Config) *Store {
	b.Helper()
	s, err := Open(filepath.Join(b.TempDir(), "crawl"), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// begun returns a store with a few thousand URLs queued.
func begun(b *testing.B, p *pages) *Store {
	b.Helper()
	s := openBench(b, Config{})
	for range 100 {
		if _, err := s.Add(b.Context(), p.links(b)...); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func perLink(b *testing.B) {
	b.ReportMetric(float64(b.N)*pageLinks/b.Elapsed().Seconds(), "links/s")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/page")
}

// BenchmarkSettle runs 64 workers that claim and settle pages with their links. Each Settle returns when its data is on
// disk.
func BenchmarkSettle(b *testing.B) {
	const workers, chunk = 64, 1024
	p := newPages(2000)
	s := begun(b, p)
	b.ResetTimer()
	for left := b.N; left > 0; left -= chunk {
		b.StopTimer()
		todo := make(chan []frontier.Request, chunk)
		for range min(left, chunk) {
			todo <- p.links(b)
		}
		close(todo)
		b.StartTimer()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for links := range todo {
					c, err := s.Claim(b.Context())
					if err == nil {
						err = s.Settle(b.Context(), c, frontier.Settlement{Links: links})
					}
					if err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	perLink(b)
}

// BenchmarkCommit claims and releases pages and commits them in batches. In the last case, every tenth commit has a
// snapshot of 4 MiB. One operation is one page.
func BenchmarkCommit(b *testing.B) {
	for _, kind := range []struct {
		batch, snapshot int
	}{{1, 0}, {10, 0}, {100, 0}, {1000, 0}, {100, 4 << 20}} {
		b.Run(fmt.Sprintf("pages=%d/snapshot=%d", kind.batch, kind.snapshot), func(b *testing.B) {
			p := newPages(2000)
			s := begun(b, p)
			snapshot := make([]byte, kind.snapshot)
			b.ReportAllocs()
			b.ResetTimer()
			commits := int64(0)
			for left := b.N; left > 0; left -= kind.batch {
				b.StopTimer()
				ends := make([]frontier.End, min(left, kind.batch))
				for i := range ends {
					ends[i].Settlement.Links = p.links(b)
				}
				values := map[string][]byte{"state": []byte("small")}
				if commits++; commits%10 == 0 {
					values["snapshot"] = snapshot
				}
				b.StartTimer()
				for i := range ends {
					c, err := s.Claim(b.Context())
					if err == nil {
						err = s.Release(b.Context(), c, time.Time{})
					}
					if err != nil {
						b.Fatal(err)
					}
					ends[i].Claim = c
				}
				if err := s.Commit(b.Context(), ends, frontier.Checkpoint{Offsets: map[string]int64{"visits": commits}, Values: values}); err != nil {
					b.Fatal(err)
				}
			}
			perLink(b)
		})
	}
}

// BenchmarkRelease measures how long a host waits for its next URL. This does not depend on the disk.
func BenchmarkRelease(b *testing.B) {
	p := newPages(2000)
	s := begun(b, p)
	var ends []frontier.End
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c, err := s.Claim(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := s.Release(b.Context(), c, time.Time{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if ends = append(ends, frontier.End{Claim: c, Settlement: frontier.Settlement{Again: &frontier.Again{}}}); len(ends) == 1000 {
			if err := s.Commit(b.Context(), ends, frontier.Checkpoint{}); err != nil {
				b.Fatal(err)
			}
			ends = ends[:0]
		}
		b.StartTimer()
	}
}

// BenchmarkReopen adds -disk.urls URLs on a hundredth as many hosts, and opens them in another process. It reports the
// time to open, the process's memory then and after a thousand claims, and the disk space per URL. Run it once:
// -benchtime 1x.
func BenchmarkReopen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "crawl")
	s, err := Open(dir, Config{})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	p := newPages(max(1, *diskURLs/100))
	for i := 0; i < *diskURLs; {
		rs := make([]frontier.Request, min(10_000, *diskURLs-i))
		for j := range rs {
			rs[j].URL = parse(b, p.url(i))
			i++
		}
		if n, err := s.Add(b.Context(), rs...); err != nil || n != len(rs) {
			b.Fatal(n, err)
		}
	}
	added := time.Since(start)
	known, queued := sizes(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var reopened, claimed float64
	var rss, later int
	for b.Loop() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), measuredDir+"="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			_, err = fmt.Sscan(string(out), &reopened, &rss, &claimed, &later)
		}
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(reopened, "s-to-open")
	b.ReportMetric(float64(rss), "MiB-RSS")
	b.ReportMetric(claimed, "µs/claim")
	b.ReportMetric(float64(later), "MiB-RSS-later")
	b.ReportMetric(known, "B/known-URL")
	b.ReportMetric(queued, "B/queued-URL")
	b.ReportMetric(float64(*diskURLs)/added.Seconds(), "URLs/s-added")
}

// BenchmarkGrown runs the frontier's part of a crawl that discovers -disk.urls URLs on 100,000 hosts. Pages are
// claimed, released and committed in batches of a hundred, each page with 60 links. It logs figures after each tenth,
// to show what grows with the crawl. Run it once: -benchtime 1x.
func BenchmarkGrown(b *testing.B) {
	const batch = 100
	for b.Loop() {
		p := newPages(100_000)
		s := openBench(b, Config{CacheSize: *diskCache << 20})
		if _, err := s.Add(b.Context(), p.links(b)...); err != nil {
			b.Fatal(err)
		}
		start, pages, most := time.Now(), 0, 0
		tenth, since, before := 1, start, 0
		batches, committed := make(chan []frontier.End, 1), make(chan error, 1)
		go func() { committed <- commitAll(b.Context(), s, batches) }()
		for p.made < *diskURLs {
			ends := visited(b, s, p, batch)
			batches <- ends
			pages += len(ends)
			most = max(most, resident())
			if p.made >= tenth**diskURLs/10 {
				b.Logf("%d known: %.0f links/s since the last, %d MiB RSS at most, %.0f s",
					p.made, float64((pages-before)*pageLinks)/time.Since(since).Seconds(), most, time.Since(start).Seconds())
				tenth, since, before = tenth+1, time.Now(), pages
			}
		}
		close(batches)
		if err := <-committed; err != nil {
			b.Fatal(err)
		}
		took := time.Since(start).Seconds()
		known, queued := sizes(b, s)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(took, "s")
		b.ReportMetric(known, "B/known-URL")
		b.ReportMetric(queued, "B/queued-URL")
		b.ReportMetric(float64(pages), "pages")
		b.ReportMetric(float64(pages*pageLinks)/took, "links/s")
		b.ReportMetric(float64(most), "MiB-RSS")
	}
}

// visited claims pages, at most as many as batch, and releases them.
func visited(b *testing.B, s *Store, p *pages, batch int) (ends []frontier.End) {
	b.Helper()
	for len(ends) < batch {
		c, err := s.Claim(b.Context())
		if err == nil {
			err = s.Release(b.Context(), c, time.Time{})
		}
		if err != nil {
			b.Fatal(err)
		}
		ends = append(ends, frontier.End{Claim: c, Settlement: frontier.Settlement{Links: p.links(b)}})
		if s.Stats().Queued == 0 {
			break // few pages are queued at first
		}
	}
	return ends
}

// commitAll commits each batch while the next one is prepared, as a crawl does.
func commitAll(ctx context.Context, s *Store, batches <-chan []frontier.End) (err error) {
	pages := int64(0)
	for ends := range batches {
		pages += int64(len(ends))
		if err == nil {
			err = s.Commit(ctx, ends, frontier.Checkpoint{Offsets: map[string]int64{"visits": pages}})
		}
	}
	return err
}

// sizes returns the disk space of a URL's record, and of its queue entry.
func sizes(b *testing.B, s *Store) (known, queued float64) {
	b.Helper()
	if err := s.engine.db.Compact(b.Context(), []byte{0}, []byte{255}, true); err != nil {
		b.Fatal(err)
	}
	size := func(tag byte) float64 {
		n, err := s.engine.db.EstimateDiskUsage([]byte{tag}, []byte{tag + 1})
		if err != nil {
			b.Fatal(err)
		}
		return float64(n) / float64(*diskURLs)
	}
	return size(tagSeen), size(tagQueue)
}

// measuredDir is an environment variable. It makes the test binary open a directory and print the time to open it in
// seconds, its memory in MiB, the time of a claim in µs, and its memory after the claims.
const measuredDir = "FRONTIER_DISK_MEASURED"

func measured(dir string) error {
	start := time.Now()
	s, err := Open(dir, Config{})
	if err != nil {
		return err
	}
	took, rss := time.Since(start), resident()
	const claims = 1000
	start = time.Now()
	for range claims {
		c, err := s.Claim(context.Background())
		if err == nil {
			err = s.Release(context.Background(), c, time.Now().Add(time.Hour))
		}
		if err != nil && !errors.Is(err, frontier.ErrDrained) {
			return err
		}
	}
	each := float64(time.Since(start).Microseconds()) / claims
	fmt.Println(took.Seconds(), rss, each, resident())
	return s.Close()
}

// resident returns this process's memory in MiB, or 0 if unknown.
func resident() (mib int) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "VmRSS:"); ok {
		_, _ = fmt.Sscan(rest, &mib)
	}
	return mib >> 10
}
