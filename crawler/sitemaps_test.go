package crawler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
)

func TestSitemaps(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: http://a.example/index.xml\n")
		s.Page("/index.xml", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.example/map.xml</loc></sitemap></sitemapindex>`).Type("application/xml")
		s.Page("/map.xml", `<urlset><url><loc>http://a.example/hidden</loc></url><url><loc>http://other.example/</loc></url></urlset>`).Type("application/xml")
		s.Page("/", "no links")
		s.Page("/hidden", "found")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		rep, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/hidden"): "fetched 200", s.URL("/index.xml"): "fetched 200", s.URL("/map.xml"): "fetched 200",
		})
		if len(rep.Sitemaps) != 1 {
			t.Errorf("sitemaps %v", rep.Sitemaps)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		rep, _ := crawl(t, w, crawler.Config{}, s.URL("/"))
		if len(rep.Sitemaps) != 1 || rep.Pages != 1 {
			t.Errorf("sitemaps are announced, not read: %+v", rep)
		}
	})
}

// The sitemaps of all sites are read, whatever their number and names. Only the report is limited to a hundred.
func TestSitemapsOfManySites(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		const sites = 103
		for i := range sites {
			s := w.Site(fmt.Sprintf("http://s%d.example", i))
			s.Robots("Sitemap: /map.xml\n") // same text for all sites
			s.Page("/map.xml", `<urlset><url><loc>/hidden</loc></url></urlset>`).Type("application/xml")
			s.Page("/", "no links")
			s.Page("/hidden", fmt.Sprint("found ", i))
			seeds = append(seeds, s.URL("/"))
		}
		many := w.Site("http://many.example")
		var text strings.Builder
		for i := range 130 {
			fmt.Fprintf(&text, "Sitemap: http://many.example/%d.xml\n", i)
			many.Page(fmt.Sprintf("/%d.xml", i), "<urlset></urlset>").Type("application/xml")
		}
		many.Robots(text.String())
		many.Page("/", "no links")
		rep, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, append(seeds, many.URL("/"))...)
		for _, seed := range seeds {
			if line := v.line(seed + "hidden"); line != "fetched 200" {
				t.Errorf("%shidden: %s", seed, line)
			}
		}
		if n := len(w.Visited("many.example")); n != 1+1+130 {
			t.Errorf("%d requests to a site that names 130 sitemaps", n)
		}
		if len(rep.Sitemaps) != 100 {
			t.Errorf("%d sitemaps in the report", len(rep.Sitemaps))
		}
	})
}

// A sitemap is not a page: its location does not matter, as long as no rule excludes it and the crawl reaches its host.
// Its entries are judged by the scope.
func TestSitemapsAreNotJudgedAsPages(t *testing.T) {
	follow := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
	prefix, include, hosts, exclude, kind, types, deep := follow, follow, follow, follow, follow, follow, follow
	prefix.Scope.Kind = crawler.ScopePrefix
	include.Scope.Rules = []crawler.ScopeRule{{Pattern: "/docs/"}}
	hosts.Hosts = []crawler.HostSettings{{Match: "a.example", Rules: []crawler.ScopeRule{{Pattern: "/docs/"}}}}
	exclude.Scope.Rules = []crawler.ScopeRule{{Pattern: "/docs/"}, {Exclude: true, Pattern: `map\.xml`}}
	kind.Scope.Rules = []crawler.ScopeRule{{Pattern: "/docs/"}, {Exclude: true, Kinds: []frontier.Kind{frontier.KindSitemap}}}
	types.Scope.Kind, types.Scope.Rules = crawler.ScopePrefix, []crawler.ScopeRule{{Types: []string{"text/html"}}}
	deep.Scope.Rules, deep.Scope.Beyond = include.Scope.Rules, 1
	for _, c := range []struct {
		name string
		crawler.Config
		read bool
	}{
		{"prefix", prefix, true},
		{"include", include, true},
		{"include of one host", hosts, true},
		{"include, and beyond it", deep, true},
		{"types", types, true},
		{"exclude", exclude, false},
		{"exclude of the kind", kind, false},
	} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s, o := w.Site("http://a.example"), w.Site("http://other.example")
			s.Robots("Sitemap: /index.xml\nSitemap: http://other.example/map.xml\nSitemap: /a/a/a/a/a/map.xml\n")
			s.Page("/index.xml", "<sitemapindex><sitemap><loc>/old/map.xml</loc></sitemap></sitemapindex>").Type("application/xml")
			s.Redirect("/old/map.xml", "/new/map.xml")
			s.Page("/new/map.xml", "<urlset><url><loc>/docs/listed</loc></url><url><loc>/blog/listed</loc></url><url><loc>http://other.example/docs/</loc></url></urlset>").Type("application/xml")
			s.Page("/docs/", links("http://other.example/docs/linked")).Type("text/html")
			s.Page("/docs/listed", "listed").Type("text/html")
			o.Robots("Sitemap: /map.xml\n")
			o.Page("/docs/linked", "linked").Type("text/html")
			_, v := crawl(t, w, c.Config, s.URL("/docs/"))
			want := "no visit"
			if c.read {
				want = "fetched 200"
			}
			if got := v.line(s.URL("/docs/listed")); got != want {
				t.Errorf("%s: what the sitemap lists: %s, want %s", c.name, got, want)
			}
			for _, u := range []string{s.URL("/a/a/a/a/a/map.xml"), s.URL("/blog/listed"), o.URL("/map.xml"), o.URL("/docs/")} {
				w.MustNotRequest(u)
			}
		})
	}
}

// endlessIndexes creates a site whose sitemap index lists ten new indexes, each of which lists ten more, and so on.
func endlessIndexes(w *crawltest.Web) *crawltest.Site {
	s := w.Site("http://a.example")
	s.Robots("Sitemap: /i.xml\n")
	s.Page("/", "no links")
	var add func(name string, levels int)
	add = func(name string, levels int) {
		text := ""
		for i := 0; i < 10 && levels > 0; i++ {
			next := fmt.Sprintf("%s%d", name, i)
			text += "<sitemap><loc>/" + next + ".xml</loc></sitemap>"
			add(next, levels-1)
		}
		s.Page("/"+name+".xml", "<sitemapindex>"+text+"</sitemapindex>").Type("application/xml")
	}
	add("i", 3)
	return s
}

func TestSitemapIndexesEndAfterTwoLevels(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := endlessIndexes(w)
		_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		if got, want := v.line(s.URL("/i99.xml")), "fetched 200"; got != want {
			t.Errorf("a sitemap below two indexes: %s, want %s", got, want)
		}
		if n := len(w.Visited("a.example")); n != 1+1+1+10+100 {
			t.Errorf("%d requests; want robots.txt, the page, and two levels of indexes with what they list", n)
		}
	})
}

func TestSitemapsCountForTheBudgetOfTheirHost(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := endlessIndexes(w)
		c := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
		c.Limits.PagesPerHost = 5
		_, v := crawl(t, w, c, s.URL("/"))
		if got, want := v.line(s.URL("/")), "fetched 200"; got != want {
			t.Errorf("the seed: %s, want %s", got, want)
		}
		if n := len(w.Visited("a.example")); n != 1+5 {
			t.Errorf("%d requests; want robots.txt and five", n)
		}
	})
}

func TestSitemapsCountForTheBudgetOfTheCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := endlessIndexes(w)
		c := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
		c.Limits.Pages = 5
		rep, v := crawl(t, w, c, s.URL("/"))
		if got, want := v.line(s.URL("/")), "fetched 200"; got != want {
			t.Errorf("the seed: %s, want %s", got, want)
		}
		if n := len(w.Visited("a.example")); n != 1+5 || rep.Pages != 5 {
			t.Errorf("%d requests, %d pages; want robots.txt and five", n, rep.Pages)
		}
	})
}

// A host's first sitemap comes before its pages; the sitemaps that it lists come after pages found earlier.
func TestSitemapsAlternateWithPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := endlessIndexes(w)
		s.Page("/", links("/linked")).Type("text/html")
		s.Page("/linked", "linked")
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		order := w.Visited("a.example")
		want := []string{s.URL("/robots.txt"), s.URL("/i.xml"), s.URL("/"), s.URL("/i0.xml")}
		if len(order) < len(want) || !slices.Equal(order[:len(want)], want) {
			t.Errorf("requested in this order: %v, want %v first", order, want)
		}
	})
}

// namesSitemaps creates a site whose robots.txt names n empty sitemaps.
func namesSitemaps(w *crawltest.Web, n int) *crawltest.Site {
	s := w.Site("http://a.example")
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "Sitemap: /%d.xml\n", i)
		s.Page(fmt.Sprintf("/%d.xml", i), "<urlset></urlset>").Type("application/xml")
	}
	s.Robots(text.String())
	s.Page("/", "no links")
	return s
}

func TestSitemapsOfAHostAreLimited(t *testing.T) {
	for _, c := range []struct {
		limit       crawler.Limit
		named, read int
	}{{0, 600, 500}, {7, 10, 7}, {10, 10, 10}, {crawler.Unlimited, 600, 600}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := namesSitemaps(w, c.named)
			cfg := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
			cfg.Limits.Sitemaps = c.limit
			rep, v := crawl(t, w, cfg, s.URL("/"))
			if n := len(w.Visited("a.example")); n != 1+1+c.read {
				t.Errorf("%d requests; want robots.txt, the page and %d sitemaps", n, c.read)
			}
			left, last := c.named-c.read, v.by[s.URL(fmt.Sprintf("/%d.xml", c.named-1))]
			if rep.Reasons[crawler.ReasonSitemapBudget] != left || rep.SitemapsCut["a.example:80"] != left {
				t.Errorf("reported as left out: %v, %v; want %d", rep.Reasons, rep.SitemapsCut, left)
			}
			if want := fmt.Sprintf("%d sitemaps", c.read); left > 0 && (last.Outcome != crawler.Deferred || last.Reason != crawler.ReasonSitemapBudget || last.Rule != want) {
				t.Errorf("the last sitemap: %s %s, rule %q, want %q", last.Outcome, last.Reason, last.Rule, want)
			}
		})
	}
}

// An endless index leads to as many sitemaps as a long list.
func TestSitemapsOfIndexesAreLimited(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := endlessIndexes(w)
		c := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
		c.Limits.Sitemaps = 5
		rep, _ := crawl(t, w, c, s.URL("/"))
		if n := len(w.Visited("a.example")); n != 1+1+5 {
			t.Errorf("%d requests; want robots.txt, the page and five sitemaps", n)
		}
		// Five sitemaps are read; the other sitemaps that these name are left out.
		if rep.Reasons[crawler.ReasonSitemapBudget] == 0 {
			t.Errorf("no sitemap was left out: %v", rep.Reasons)
		}
	})
}

// A sitemap and a redirect to it count as one.
func TestRedirectsOfSitemapsDoNotCountAsSitemaps(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := namesSitemaps(w, 0)
		s.Robots("Sitemap: /old.xml\nSitemap: /2.xml\n")
		s.Redirect("/old.xml", "/new.xml")
		s.Page("/new.xml", "<urlset></urlset>").Type("application/xml")
		s.Page("/2.xml", "<urlset></urlset>").Type("application/xml")
		c := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
		c.Limits.Sitemaps = 2
		_, v := crawl(t, w, c, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/old.xml"): "redirected 302", s.URL("/new.xml"): "fetched 200", s.URL("/2.xml"): "fetched 200",
		})
	})
}

// Of the sitemaps that one file names, at most twice the limit have a visit, not the 50,000 that the protocol allows.
func TestSitemapsThatOneFileNamesAreLimited(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := namesSitemaps(w, 0)
		s.Robots("Sitemap: /i.xml\n")
		text := ""
		for i := range 100 {
			text += fmt.Sprintf("<sitemap><loc>/i%d.xml</loc></sitemap>", i)
			s.Page(fmt.Sprintf("/i%d.xml", i), "<urlset></urlset>").Type("application/xml")
		}
		s.Page("/i.xml", "<sitemapindex>"+text+"</sitemapindex>").Type("application/xml")
		c := crawler.Config{Follow: crawler.Follow{Sitemaps: true}}
		c.Limits.Sitemaps = 10
		_, v := crawl(t, w, c, s.URL("/"))
		if n := len(v.all); n != 1+1+20 {
			t.Errorf("%d visits; want those of the page, the index and twice the limit", n)
		}
	})
}
