package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
)

// listing creates sites whose sitemaps list pages. Site a has 300 pages, some listed twice, in an index of three files and in a file on b.
// Each file also lists one page of b and one of another site; c has no robots.txt. listing returns the URLs drawn for a.
func listing(w *crawltest.Web, n int, seed string) (drawn []string) {
	a, b, c := w.Site("http://a.example"), w.Site("http://b.example"), w.Site("http://c.example")
	all := &draw.Bottom{N: n, Seed: seed}
	files := make([]strings.Builder, 4)
	put := func(file int, url string) {
		fmt.Fprintf(&files[file], "<url><loc>%s</loc></url>", url)
		if strings.HasPrefix(url, a.URL("/")) && !strings.HasSuffix(url, "/out") {
			all.Add(url, url, "")
		}
	}
	for i := range 300 {
		at := fmt.Sprint("/p", i)
		a.Page(at, links("/linked", "/p1", "/"))
		put(i%4, a.URL(at))
		if i%10 == 0 {
			put((i+1)%4, a.URL(at))
		}
	}
	for i := range 4 {
		b.Page(fmt.Sprint("/b", i), "")
		put(i, b.URL(fmt.Sprint("/b", i)))
		put(i, fmt.Sprint("http://elsewhere.example/", i))
	}
	a.Page("/", links("/linked"))
	a.Page("/linked", "")
	put(1, a.URL("/"))
	b.Page("/", "")
	c.Page("/", links("/linked"))
	a.Robots("Sitemap: /index.xml\nSitemap: /nothing.xml\nSitemap: http://b.example/more.xml\n")
	b.Robots("Sitemap: /more.xml\n")
	a.Page("/index.xml", `<sitemapindex><sitemap><loc>/m0.xml</loc></sitemap><sitemap><loc>/m1.xml</loc></sitemap><sitemap><loc>/m2.xml</loc></sitemap></sitemapindex>`).Type("application/xml")
	for i := range 3 {
		a.Page(fmt.Sprintf("/m%d.xml", i), "<urlset>"+files[i].String()+"</urlset>").Type("application/xml")
	}
	b.Page("/more.xml", "<urlset>"+files[3].String()+"</urlset>").Type("application/xml")
	for _, it := range all.Drawn() {
		drawn = append(drawn, it.URL)
	}
	return drawn
}

var sampled = crawler.Config{Sample: crawler.Sample{N: 20, Seed: "s"}}

var sampleSeeds = []string{"http://a.example/", "http://a.example/p7", "http://b.example/", "http://c.example/"}

// sampledOf returns the fetched pages of a host in order, without sitemaps.
func sampledOf(urls []string, host string) (pages []string) {
	for _, u := range urls {
		if strings.HasPrefix(u, host) && !strings.HasSuffix(u, ".xml") && !strings.HasSuffix(u, "/robots.txt") {
			pages = append(pages, u)
		}
	}
	return pages
}

// TestSample: for each host, only the pages with the smallest tickets are requested, ordered by ticket, besides robots.txt
// and sitemaps. Timing, number of workers and order of seeds do not matter.
func TestSample(t *testing.T) {
	for timing := range uint64(6) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			want := listing(w, 20, "s")
			rng, c := rand.New(rand.NewPCG(1, timing)), sampled
			c.Concurrency = 1 + rng.IntN(9)
			seeds := slices.Clone(sampleSeeds)
			rng.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
			v := &visits{}
			c.Handler = v
			c = config(w, c)
			dial, late := c.Fetch.DialContext, time.Duration(rng.IntN(3000))*time.Millisecond
			c.Fetch.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				time.Sleep(late * time.Duration(len(addr)%3))
				return dial(ctx, network, addr)
			}
			cr, err := crawler.New(c)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := cr.Run(t.Context(), seeds...)
			if err != nil {
				t.Fatal(err)
			}
			same(t, sampledOf(v.all, "http://a.example"), want...)
			if b := sampledOf(v.all, "http://b.example"); len(b) != 4 {
				t.Errorf("of b: %v", b)
			}
			if c := sampledOf(v.all, "http://c.example"); len(c) != 0 {
				t.Errorf("of c: %v", c)
			}
			if line := v.line("http://c.example/robots.txt"); line != "out_of_scope 0 sample" {
				t.Errorf("the seed of c: %s", line)
			}
			if len(rep.Draws) != 3 {
				t.Fatalf("%+v", rep.Draws)
			}
			d := rep.Draws[0]
			if d.Site != "a.example" || d.Sitemaps != 4 || d.Listed != 331 || d.Drawn != 20 || !d.Ended || d.Below <= fmt.Sprintf("%016x", draw.Ticket("s", want[19])) || d.Probability < 0.03 || d.Probability > 0.13 {
				t.Errorf("%+v", d)
			}
			if d := rep.Draws[1]; d.Listed != 4 || d.Drawn != 4 || d.Below != "" || d.Probability != 1 {
				t.Errorf("%+v", d)
			}
			if d := rep.Draws[2]; d.Site != "c.example" || d.Listed != 0 || d.Drawn != 0 || !d.Ended {
				t.Errorf("%+v", d)
			}
			if rep.Finish != crawler.FinishDone || rep.Left != 0 {
				t.Errorf("%s, %d left", rep.Finish, rep.Left)
			}
		})
	}
}

// TestSampleIsResumed ends a sample crawl after every few visits as a kill would, losing uncommitted work. The sample
// must stay the same.
func TestSampleIsResumed(t *testing.T) {
	for _, every := range []int{1, 2, 3, 7} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			want, j := listing(w, 20, "s"), job{t, t.TempDir()}
			var rep *crawler.Report
			for range 60 {
				var n atomic.Int64
				c := config(w, sampled)
				c.Handler = crawler.HandlerFunc(func(context.Context, *crawler.Visit) error {
					if n.Add(1) >= int64(every) {
						return crawler.Stop
					}
					return nil
				})
				var err error
				if rep, err = j.run(t.Context(), c, sampleSeeds...); err != nil {
					t.Fatal(err)
				}
				if rep.Finish == crawler.FinishDone {
					break
				}
			}
			j.records()
			same(t, sampledOf(j.fetched(), "http://a.example"), want...)
			if d := rep.Draws[0]; d.Listed != 331 || d.Drawn != 20 || d.Sitemaps != 4 || !d.Ended {
				t.Errorf("%+v", d)
			}
			if rep, err := j.run(t.Context(), config(w, sampled), sampleSeeds...); err != nil || rep.Pages != 24+6 {
				t.Errorf("run again when it was done: %+v, %v", rep, err)
			}
		})
	}
}

// sitemapOf creates a sitemap of URLs at /map.xml, and a robots.txt that names it.
func sitemapOf(s *crawltest.Site, urls ...string) {
	s.Robots("Sitemap: /map.xml\n")
	s.Page("/map.xml", "<urlset><url><loc>"+strings.Join(urls, "</loc></url><url><loc>")+"</loc></url></urlset>").Type("application/xml")
}

// A sample is drawn per site, as in ScopeHost: http, https and a leading "www." make no difference. Scope decides which
// listed pages belong to the sample; where the lists are does not matter.
func TestSampleFrame(t *testing.T) {
	all := crawler.Config{Sample: crawler.Sample{N: 9, Seed: "s"}}
	prefix, include, exclude, domain := all, all, all, all
	prefix.Scope.Kind = crawler.ScopePrefix
	include.Scope.Rules = []crawler.ScopeRule{{Pattern: "/docs/"}}
	exclude.Scope.Rules = []crawler.ScopeRule{{Exclude: true, Pattern: "/docs/"}, {Exclude: true, Pattern: `map\.xml`}}
	domain.Scope.Kind = crawler.ScopeDomain
	for _, c := range []struct {
		name string
		crawler.Config
		seed string
		want []string
	}{
		{"site", all, "http://www.a.example/x", []string{"http://a.example/blog/1", "http://www.a.example/docs/4", "https://a.example/docs/2", "https://www.a.example/docs/3"}},
		{"prefix", prefix, "http://www.a.example/docs/", []string{"http://www.a.example/docs/4", "https://a.example/docs/2", "https://www.a.example/docs/3"}},
		{"include", include, "http://www.a.example/", []string{"http://www.a.example/docs/4", "https://a.example/docs/2", "https://www.a.example/docs/3"}},
		{"exclude", exclude, "http://www.a.example/", nil},
		{"domain", domain, "http://www.a.example/", []string{"http://a.example/blog/1", "http://www.a.example/docs/4", "https://a.example/docs/2", "https://www.a.example/docs/3"}},
	} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var urls []string
			for i, at := range []string{"http://a.example/blog/1", "https://a.example/docs/2", "https://www.a.example/docs/3", "http://www.a.example/docs/4", "http://sub.a.example/docs/5"} {
				u := mustParse(t, at)
				w.Site(u.Origin()).Page(u.Path(), fmt.Sprint(i))
				urls = append(urls, at)
			}
			sitemapOf(w.Site("http://www.a.example"), urls...)
			rep, v := crawl(t, w, c.Config, c.seed)
			var got []string
			for _, u := range v.all {
				if x := v.by[u]; x.Kind == frontier.KindPage {
					got = append(got, u)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			if d := rep.Draws[0]; d.Site != "a.example" || d.Listed != len(c.want) || !d.Of(mustParse(t, "https://www.a.example/")) || d.Of(mustParse(t, "http://sub.a.example/")) {
				t.Errorf("%s: %+v", c.name, d)
			}
		})
	}
}

// Nothing is requested besides robots.txt, sitemaps and drawn pages: no sitemap from the robots.txt of another site
// that a redirect leads to, and no home page if the operator overrides robots.txt.
func TestSampleRequestsNothingElse(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b, c := w.Site("http://a.example"), w.Site("http://b.example"), w.Site("http://c.example")
		sitemapOf(a, "/1", "http://b.example/2")
		a.Redirect("/1", "http://b.example/moved")
		b.Page("/moved", links("/2"))
		sitemapOf(b, "/2", "http://a.example/3")
		c.Robots("Disallow: /")
		c.Page("/theirs.xml", "<urlset><url><loc>/4</loc></url></urlset>").Type("application/xml")
		c.Page("/4", "")
		conf := crawler.Config{Sample: crawler.Sample{N: 9, Seed: "s"}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 100}}
		conf.Politeness.Overrides = []politeness.Override{{Origin: "http://c.example", Body: "Sitemap: /theirs.xml", Reason: "a test"}}
		v := &visits{}
		conf.Handler = v
		conf = config(w, conf)
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: contact, Overrides: map[string]time.Time{"http://c.example": w.Start().Add(time.Hour)}})
		cr, err := crawler.New(conf)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := cr.Run(t.Context(), a.URL("/"), c.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		v.expect(t, map[string]string{
			a.URL("/robots.txt"): "out_of_scope 0 sample", a.URL("/map.xml"): "fetched 200", a.URL("/1"): "redirected 302", b.URL("/moved"): "fetched 200",
			c.URL("/robots.txt"): "out_of_scope 0 sample", c.URL("/theirs.xml"): "fetched 200", c.URL("/4"): "fetched 200",
		})
		if got := w.Visited(""); len(got) != 7 {
			t.Errorf("requested %v", got)
		}
		if rep.Finish != crawler.FinishDone {
			t.Error(rep.Finish)
		}
	})
}

// If the handler fails a sitemap's visit, nothing is drawn from the sitemap.
func TestSampleWithoutFailedLists(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		sitemapOf(s, "/1")
		s.Page("/1", "")
		c := sampled
		c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			if v.Kind == frontier.KindSitemap && v.Page != nil {
				return errors.New("no")
			}
			return nil
		})
		if rep, _ := crawl(t, w, c, s.URL("/")); rep.Draws[0].Listed != 0 || rep.Outcomes[crawler.Failed] != 1 {
			t.Errorf("%+v", rep)
		}
	})
}

// However long hostile lists are, at most N+1 URLs of a site are remembered, and none longer than Limits.URLLength.
func TestSampleIsBounded(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var urls []string
		for i := range 20_000 {
			urls = append(urls, fmt.Sprintf("/%s/%d", strings.Repeat("x", 100), i))
		}
		urls = append(urls, "/"+strings.Repeat("y", crawler.DefaultMaxURL))
		sitemapOf(s, urls...)
		j := job{t, t.TempDir()}
		rep, err := j.run(t.Context(), config(w, sampled), s.URL("/"))
		if err != nil || rep.Draws[0].Listed != 20_000 || rep.Draws[0].Drawn != 20 {
			t.Errorf("%+v, %v", rep, err)
		}
		store, err := disk.Open(filepath.Join(j.dir, "frontier"), disk.Config{CacheSize: 8 << 20, MemTableSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var kept draw.Bottom
		b, err := store.Value(t.Context(), "", "crawler/lot/a.example")
		if err = errors.Join(err, json.Unmarshal(b, &kept)); err != nil || len(kept.Items) != 21 || len(b) > 21*300 {
			t.Errorf("%d URLs in %d bytes, %v", len(kept.Items), len(b), err)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for i := range crawler.MaxSampled/crawler.MaxSample + 1 {
			seeds = append(seeds, fmt.Sprintf("http://s%d.example/", i))
		}
		c, want := config(w, crawler.Config{Sample: crawler.Sample{N: crawler.MaxSample, Seed: "s"}}), (*crawler.ConfigError)(nil)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), seeds...); !errors.As(err, &want) || want.Field != "Sample" || !strings.Contains(err.Error(), "10000 pages of each of 101 sites") {
			t.Error(err)
		}
		if n := len(w.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// A frontier with the sitemaps of one sample is refused for another sample, and for a crawl that follows links, whether the
// first crawl is finished or not.
func TestSampleIsNotChanged(t *testing.T) {
	for _, stop := range []bool{false, true} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			listing(w, 20, "s")
			j, c := job{t, t.TempDir()}, config(w, sampled)
			if stop {
				c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error { return crawler.Stop })
			}
			if _, err := j.run(t.Context(), c, sampleSeeds...); err != nil {
				t.Fatal(err)
			}
			other, none := sampled, crawler.Config{}
			other.Sample.N++
			for _, c := range []crawler.Config{other, none} {
				if _, err := j.run(t.Context(), config(w, c), sampleSeeds...); !errors.Is(err, crawler.ErrRulesChanged) || !strings.Contains(err.Error(), `Sample was "20:s"`) {
					t.Error(err)
				}
			}
		})
	}
}
