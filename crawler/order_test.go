package crawler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

func TestClass(t *testing.T) {
	for ticket, want := range map[uint64]int{
		math.MaxUint64: 0, 0xf << 60: 1, 0x8 << 60: 15, 0x7fff << 48: 16, 0x4 << 60: 31, 1 << 49: 14*16 + 15, 1<<49 - 1: 240, 0: 240,
	} {
		if got := crawler.Class(ticket); got != want {
			t.Errorf("%016x: class %d, want %d", ticket, got, want)
		}
	}
	for i, last := 0, 0; i < 100_000; i++ { // classes follow tickets
		got := crawler.Class(math.MaxUint64 - uint64(i)*(math.MaxUint64/100_000))
		if got < last || got > last+16 {
			t.Fatalf("class %d after %d", got, last)
		}
		last = got
	}
}

// fetched returns the URLs of records with the outcome fetched, in order.
func (j job) fetched() (urls []string) {
	j.t.Helper()
	b, err := os.ReadFile(filepath.Join(j.dir, "visits.jsonl"))
	if err != nil {
		j.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var r sink.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			j.t.Fatal(err)
		}
		if r.Outcome == string(crawler.Fetched) {
			urls = append(urls, r.URL)
		}
	}
	return urls
}

// star creates a site whose home page links to n pages, each of which links to two more and back.
func star(w *crawltest.Web, n int) *crawltest.Site {
	s := w.Site("http://a.example")
	var refs []string
	for i := range n {
		at := fmt.Sprint("/", i)
		refs = append(refs, at)
		s.Page(at, links("/", at+"/x", at+"/y"))
		s.Page(at+"/x", links(at))
		s.Page(at+"/y", links("/0", "/1"))
	}
	s.Page("/", links(refs...))
	return s
}

// TestOrderByHash checks that the fetched URLs of a host are a sample of its known URLs that depends only on the seed:
// those in the highest classes. Within a class, URLs come in the order found. Memory and disk store agree, and so does
// a crawl that is stopped and resumed, with commits slower than the host's delay.
func TestOrderByHash(t *testing.T) {
	c := crawler.Config{Order: crawler.OrderHash("7"), Concurrency: 4}
	c.Limits.PagesPerHost, c.Limits.Depth = 60, crawler.Unlimited
	var first []string
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := star(w, 150)
		rep, v := crawl(t, w, c, s.URL("/"))
		for _, url := range v.all {
			if v.by[url].Outcome == crawler.Fetched {
				first = append(first, url)
			}
		}
		class := func(url string) int { return crawler.Class(draw.Ticket("7", url)) }
		best, fetched, complete := -1, 0, 0
		for _, url := range v.all {
			if v.by[url].Outcome == crawler.Fetched {
				fetched++
			} else {
				best = max(best, class(url))
			}
		}
		deep := 0
		for i, url := range v.all {
			if v.by[url].Outcome != crawler.Fetched {
				continue
			}
			if class(url) > best {
				complete++
			}
			if strings.Count(url, "/") > 3 {
				deep++
			}
			if i > 0 && class(url) > class(v.all[i-1]) && v.by[url].Via.String() != v.all[i-1] {
				t.Errorf("%s of class %d after %s of %d, which did not lead to it", url, class(url), v.all[i-1], class(v.all[i-1]))
			}
		}
		if fetched != 60 || rep.Reasons[crawler.ReasonHostBudget] < 50 || complete < 35 || deep < 10 {
			t.Errorf("%d fetched, %d of complete classes, %d deep, %v", fetched, complete, deep, rep.Reasons)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, j := star(w, 150), job{t, t.TempDir()}
		for i := range 6 { // each process ends after 13 pages
			ctx, cancel := context.WithCancel(t.Context())
			n, c := 0, config(w, c)
			c.Commits.Interval = 5 * time.Second
			if i < 5 {
				c.Handler = crawler.HandlerFunc(func(context.Context, *crawler.Visit) error {
					if n++; n == 13 {
						return crawler.Stop
					}
					return nil
				})
			}
			if _, err := j.run(ctx, c, s.URL("/")); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if got := j.fetched(); !slices.Equal(got, first) {
			t.Errorf("on disk and resumed:\n%v\nin memory:\n%v", got, first)
		}
	})
}

// URLs added by a Handler or a sitemap also have a place in the order, and sitemaps come before all pages.
func TestOrderOfAllSources(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: /map.xml\n")
		s.Page("/map.xml", `<urlset><url><loc>/m1</loc></url><url><loc>/m2</loc></url><url><loc>/m3</loc></url></urlset>`).Type("application/xml")
		want := []string{"/", "/m1", "/m2", "/m3", "/l1", "/l2", "/l3", "/h1", "/h2", "/h3", "/s1", "/s2"}
		s.Page("/", links("/l1", "/l2", "/l3"))
		for _, p := range want[1:] {
			s.Page(p, "")
		}
		all := &visits{}
		c := crawler.Config{Order: crawler.OrderHash("3"), Concurrency: 1, Follow: crawler.Follow{Sitemaps: true}}
		c.Handler = crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
			if v.URL.Path() == "/" {
				for _, p := range []string{"/h1", "/h2", "/h3"} {
					if err := v.Enqueue(crawler.Request{URL: p, Priority: 127}); err != nil {
						t.Error(err)
					}
				}
			}
			return all.Handle(ctx, v)
		})
		crawl(t, w, c, s.URL("/"), s.URL("/s1"), s.URL("/s2"))
		at := slices.Index(all.all, s.URL("/"))
		if all.all[0] != s.URL("/map.xml") || len(all.all) != 13 {
			t.Fatalf("%v", all.all)
		}
		last := 1000
		for _, url := range all.all[at+1:] {
			class := crawler.Class(draw.Ticket("3", url))
			if class > last || int(all.by[url].Priority) != class-120 {
				t.Errorf("%s: class %d, priority %d, after class %d", url, class, all.by[url].Priority, last)
			}
			last = class
		}
	})
}
