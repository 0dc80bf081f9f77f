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

// pages makes pages of a crawl: each has 60 links of 79 bytes, half of which were on pages before.
type pages struct {
	hosts int
	made  int
	rand  *rand.Rand
}

const pageLinks = 60

func newPages(hosts int) *pages { return &pages{hosts: hosts, rand: rand.New(rand.NewPCG(1, 1))} }

// url returns the i-th new URL of the crawl; those of a page are mostly on one host.
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
		if i%2 == 1 && n > 0 { // of the last thousand pages as often as of all
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

// BenchmarkSettle has 64 workers claim and settle pages with their links, each on disk when its call returns.
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

// BenchmarkCommit claims and releases pages and commits their ends together, with or without a snapshot of 4 MiB
// in every tenth commit. An operation is a page.
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

// BenchmarkRelease measures how long a host waits for its next URL, which does not depend on the disk.
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

// BenchmarkReopen adds -disk.urls URLs on a hundredth as many hosts, and has another process open them:
// it reports how long that takes, how much memory the process uses then and after a thousand claims, and what a
// URL takes on disk. Run it once: -benchtime 1x.
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

// BenchmarkGrown is the frontier's part of a crawl that comes to know -disk.urls URLs on 100,000 hosts:
// pages are claimed, released and committed a hundred at a time, each with its 60 links. Each tenth of
// the way it logs its figures, so that what grows with the crawl is seen. Run it once: -benchtime 1x.
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

// visited claims and releases as many pages as there are, up to batch.
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
			break // the first pages are few
		}
	}
	return ends
}

// commitAll commits batches one after the other while the next is made, as a crawl does.
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

// sizes returns what the record of a URL takes on disk, and what its place in a queue takes.
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

// measuredDir is the variable that makes the test binary a process that opens a directory and says how
// long that took, in seconds, its memory in MiB, the time of a claim in µs, and its memory then.
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

// resident returns this process' memory in MiB, 0 where it is unknown.
func resident() (mib int) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "VmRSS:"); ok {
		_, _ = fmt.Sscan(rest, &mib)
	}
	return mib >> 10
}
