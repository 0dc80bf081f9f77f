package crawler_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
)

var (
	sampleWebs  = flag.Int("sample.webs", long.Seeds(3, 6), "how many random webs TestSampleOfKilledCrawls draws samples of")
	sampleEvery = flag.Int("sample.every", long.N(20, 10), "TestSampleKilledAnywhere kills a crawl at each step whose number this divides; 1: at every step")
)

// doomed is a process that is killed at one of its steps. After that, its writes have no effect.
type doomed struct {
	at    int64 // step of the kill; 0: the process is not killed
	after bool  // the kill comes after the step takes effect, not before
	steps atomic.Int64
	dead  atomic.Bool
}

func (m *doomed) do(step func() error) error {
	n := m.steps.Add(1)
	if n == m.at && !m.after {
		m.dead.Store(true)
	}
	if m.dead.Load() {
		return errKilled
	}
	err := step()
	if n == m.at {
		m.dead.Store(true)
		return errKilled
	}
	return err
}

// doomedStore is the frontier of a doomed process.
type doomedStore struct {
	*disk.Store
	m *doomed
}

func (s *doomedStore) Add(ctx context.Context, rs ...frontier.Request) (n int, err error) {
	err = s.m.do(func() error { n, err = s.Store.Add(ctx, rs...); return err })
	return n, err
}

func (s *doomedStore) Settle(ctx context.Context, c frontier.Claim, x frontier.Settlement) error {
	return s.m.do(func() error { return s.Store.Settle(ctx, c, x) })
}

func (s *doomedStore) Release(ctx context.Context, c frontier.Claim, at time.Time) error {
	return s.m.do(func() error { return s.Store.Release(ctx, c, at) })
}

func (s *doomedStore) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	return s.m.do(func() error { return s.Store.Commit(ctx, ends, c) })
}

// doomedSink is the output of a doomed process.
type doomedSink struct {
	*sink.JSONL
	m *doomed
}

func (s *doomedSink) Append(ctx context.Context, r *sink.Record) error {
	return s.m.do(func() error { return s.JSONL.Append(ctx, r) })
}

func (s *doomedSink) Sync(ctx context.Context) (n int64, err error) {
	err = s.m.do(func() error { n, err = s.JSONL.Sync(ctx); return err })
	return n, err
}

// remainder is a crawl whose processes are killed, with the files that survive: the directory, the ledger and the
// robots.txt files.
type remainder struct {
	job
	ledger bytes.Buffer
	mu     sync.Mutex // guards bodies, because several workers store robots.txt files
	bodies map[string][]byte
}

// process runs the crawl until it ends or is killed. After a kill, rep is nil.
func (d *remainder) process(m *doomed, c crawler.Config, seeds []string) (rep *crawler.Report) {
	d.t.Helper()
	store, err := disk.Open(filepath.Join(d.dir, "frontier"), disk.Config{CacheSize: 8 << 20, MemTableSize: 1 << 20})
	if err != nil {
		d.t.Fatal(err)
	}
	visits, err := sink.OpenJSONL(filepath.Join(d.dir, "visits.jsonl"))
	if err != nil {
		d.t.Fatal(err)
	}
	c.Frontier, c.Sinks = &doomedStore{store, m}, []sink.Sink{&doomedSink{visits, m}}
	c.Politeness.Ledger, c.Politeness.LedgerSize = writer(func(line []byte) error {
		return m.do(func() error { d.ledger.Write(line); return nil })
	}), int64(d.ledger.Len())
	c.KeepRobots = func(p *fetcher.Page) error {
		return m.do(func() error {
			sum := sha256.Sum256(p.Body)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.bodies[hex.EncodeToString(sum[:])] = bytes.Clone(p.Body)
			return nil
		})
	}
	cr, err := crawler.New(c)
	if err == nil {
		err = cr.Gate().Replay(bytes.NewReader(d.ledger.Bytes()), func(sum string) ([]byte, error) { return d.bodies[sum], nil })
	}
	if err != nil {
		d.t.Fatal(err)
	}
	rep, err = cr.Run(d.t.Context(), seeds...)
	if err := errors.Join(visits.Close(context.Background()), store.Close()); err != nil {
		d.t.Fatal(err)
	}
	if m.dead.Load() {
		return nil
	}
	if err != nil || rep.Finish != crawler.FinishDone {
		d.t.Fatal(rep, err)
	}
	return rep
}

type writer func(line []byte) error

func (w writer) Write(line []byte) (int, error) { return len(line), w(line) }

// pages returns the pages of a site that have a visit, sorted.
func (d *remainder) pages(site string) (all []string) {
	for u := range d.records() {
		if strings.HasPrefix(u, site+"/") && !strings.HasSuffix(u, ".xml") && !strings.HasSuffix(u, "/robots.txt") {
			all = append(all, u)
		}
	}
	return slices.Sorted(slices.Values(all))
}

// lottery is a web of sites with lists of pages, and the expected sample of each site.
type lottery struct {
	seeds []string
	want  map[string][]string // by site, sorted
	size  map[string]int      // number of listed pages in the site's sample frame
}

// random generates a lottery: sites without sitemaps or with several, in an index or not. The sitemaps list pages of their
// own site and of other sites, once or repeatedly. Some sitemaps fail at first.
func random(w *crawltest.Web, rng *rand.Rand, of crawler.Sample) *lottery {
	l := &lottery{want: map[string][]string{}, size: map[string]int{}}
	var sites []*crawltest.Site
	for i := range 1 + rng.IntN(4) {
		scheme := []string{"http", "https"}[rng.IntN(2)]
		s := w.Site(fmt.Sprintf("%s://s%d.example", scheme, i))
		s.Page("/", links("/linked"))
		s.Page("/linked", "")
		sites = append(sites, s)
		l.seeds = append(l.seeds, s.URL("/"))
	}
	stranger := w.Site("http://stranger.example")
	samples := map[string]*draw.Bottom{}
	for _, s := range sites {
		samples[s.URL("")] = &draw.Bottom{N: of.N, Seed: of.Seed}
	}
	files := map[*crawltest.Site][]*strings.Builder{}
	for _, s := range sites {
		for range rng.IntN(4) {
			files[s] = append(files[s], new(strings.Builder))
		}
	}
	for _, s := range append(sites, stranger) {
		for i := range rng.IntN(30) {
			at := fmt.Sprint("/p", i)
			s.Page(at, links("/linked", "/p1"))
			for range rng.IntN(3) {
				by := sites[rng.IntN(len(sites))]
				if fs := files[by]; len(fs) > 0 {
					fmt.Fprintf(fs[rng.IntN(len(fs))], "<url><loc>%s</loc></url>", s.URL(at))
					if b := samples[s.URL("")]; b != nil {
						b.Add(s.URL(at), s.URL(at), "")
					}
				}
			}
		}
	}
	fails := func(p *crawltest.Page) {
		switch rng.IntN(6) {
		case 0:
			p.Fault(crawltest.Fail(503).First(1)) // without Retry-After, which a kill could lose together with the response
		case 1:
			p.Fault(crawltest.Reset().First(1))
		case 2:
			p.Latency(time.Duration(rng.IntN(5000)) * time.Millisecond)
		}
	}
	for _, s := range sites {
		robots, index := "User-agent: *\nDisallow: /p3\n", ""
		for i, f := range files[s] {
			at := fmt.Sprintf("/m%d.xml", i)
			fails(s.Page(at, "<urlset>"+f.String()+"</urlset>").Type("application/xml"))
			if rng.IntN(2) == 0 {
				robots += "Sitemap: " + s.URL(at) + "\n"
			} else {
				index += "<sitemap><loc>" + at + "</loc></sitemap>"
			}
		}
		if index != "" {
			robots += "Sitemap: /index.xml\n"
			fails(s.Page("/index.xml", "<sitemapindex>"+index+"</sitemapindex>").Type("application/xml"))
		}
		fails(s.Robots(robots).Forbids("/p3"))
		b := samples[s.URL("")]
		for _, it := range b.Drawn() {
			l.want[s.URL("")] = append(l.want[s.URL("")], it.URL)
		}
		slices.Sort(l.want[s.URL("")])
		l.size[s.URL("")] = b.Listed
	}
	return l
}

// TestSampleOfKilledCrawls kills crawls of random webs at random steps. The drawn pages must be the expected ones, and
// only kills may cause repeated requests.
func TestSampleOfKilledCrawls(t *testing.T) {
	kills := 0
	for web := range uint64(*sampleWebs) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			rng := rand.New(rand.NewPCG(web, 9))
			of := crawler.Sample{N: 1 + rng.IntN(12), Seed: fmt.Sprint(web)}
			l := random(w, rng, of)
			c := config(w, crawler.Config{Sample: of, Concurrency: 1 + rng.IntN(9), Retries: crawler.Retries{Max: 9}})
			c.Commits = crawler.Commits{Interval: time.Duration(1+rng.IntN(3000)) * time.Millisecond, Gate: rng.IntN(2) == 0}
			w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
			d := &remainder{job: job{t, t.TempDir()}, bodies: map[string][]byte{}}
			var rep *crawler.Report
			for i := 0; rep == nil; i++ {
				m := &doomed{after: rng.IntN(2) == 0}
				if i < 6 {
					m.at = 1 + rng.Int64N(80)
				}
				if rep = d.process(m, c, l.seeds); rep == nil {
					kills++
					time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
				}
			}
			for s, size := range l.size {
				if got := d.pages(s); !slices.Equal(got, l.want[s]) {
					t.Errorf("web %d, of %s %v, want %v", web, s, got, l.want[s])
				}
				i := slices.IndexFunc(rep.Draws, func(x crawler.SiteDraw) bool { return strings.HasSuffix(s, "/"+x.Site) })
				if i < 0 || rep.Draws[i].Listed != size || rep.Draws[i].Drawn != len(l.want[s]) || !rep.Draws[i].Ended {
					t.Errorf("web %d, %s: %+v, want %d of %d", web, s, rep.Draws, len(l.want[s]), size)
				}
			}
		})
	}
	if kills < *sampleWebs {
		t.Errorf("only %d kills", kills)
	}
}

// TestSampleKilledAnywhere kills the first process of a crawl at every step, or at some of them. Two days later, when
// the next process begins, robots.txt names one more sitemap. The crawl must fetch the sample of the old lists or of the
// new ones, never a mixture.
func TestSampleKilledAnywhere(t *testing.T) {
	of := crawler.Sample{N: 5, Seed: "s"}
	killed := func(m *doomed) (steps int64) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			old, both := &draw.Bottom{N: of.N, Seed: of.Seed}, &draw.Bottom{N: of.N, Seed: of.Seed}
			var texts [3]string
			for i := range 24 {
				at := fmt.Sprint("/p", i)
				s.Page(at, links("/p1"))
				texts[i%3] += "<url><loc>" + at + "</loc></url>"
				if i%3 < 2 {
					old.Add(s.URL(at), s.URL(at), "")
				}
				both.Add(s.URL(at), s.URL(at), "")
			}
			for i, text := range texts {
				s.Page(fmt.Sprintf("/m%d.xml", i), "<urlset>"+text+"</urlset>").Type("application/xml")
			}
			s.Robots("Sitemap: /m0.xml\nSitemap: /m1.xml\n")
			s.Robots("Sitemap: /m0.xml\nSitemap: /m1.xml\nSitemap: /m2.xml\n").At(40 * time.Hour)
			c := config(w, crawler.Config{Sample: of, Concurrency: 2})
			c.Commits.Interval = 1500 * time.Millisecond // so that commits have one or several visits
			w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
			d := &remainder{job: job{t, t.TempDir()}, bodies: map[string][]byte{}}
			rep := d.process(m, c, []string{s.URL("/")})
			if steps = m.steps.Load(); rep == nil {
				time.Sleep(48 * time.Hour)
				rep = d.process(&doomed{}, c, []string{s.URL("/")})
			}
			of := func(b *draw.Bottom) (urls []string) {
				for _, it := range b.Drawn() {
					urls = append(urls, it.URL)
				}
				return slices.Sorted(slices.Values(urls))
			}
			got := d.pages("http://a.example")
			if !slices.Equal(got, of(old)) && !slices.Equal(got, of(both)) {
				t.Errorf("killed at step %d, %v: %v, want %v or %v", m.at, m.after, got, of(old), of(both))
			}
			var seen []string
			for _, u := range w.Visited("") {
				if strings.Contains(u, "/p") {
					seen = append(seen, u)
				}
			}
			slices.Sort(seen)
			if seen = slices.Compact(seen); !slices.Equal(seen, got) {
				t.Errorf("killed at step %d, %v: requested %v, visited %v", m.at, m.after, seen, got)
			}
			late := 16 + 8*min(1, w.Count(s.URL("/m2.xml")))
			if x := rep.Draws[0]; x.Drawn != 5 || !x.Ended || x.Listed != late {
				t.Errorf("killed at step %d, %v: %+v", m.at, m.after, x)
			}
		})
		return steps
	}
	all := killed(&doomed{})
	if all < 50 {
		t.Fatalf("only %d steps", all)
	}
	for at := int64(1); at <= all; at++ {
		if at%int64(*sampleEvery) == 0 {
			killed(&doomed{at: at})
			killed(&doomed{at: at, after: true})
		}
	}
	t.Logf("%d steps", all)
}
