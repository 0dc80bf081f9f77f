package crawler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
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

// The sitemaps of every site are read, however many sites there are and however they are named: the report alone stops at a hundred.
func TestSitemapsOfManySites(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		const sites = 103
		for i := range sites {
			s := w.Site(fmt.Sprintf("http://s%d.example", i))
			s.Robots("Sitemap: /map.xml\n") // the same text for all
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
		if n := len(w.Visited("many.example")); n != 1+1+100 {
			t.Errorf("%d requests to a site that names 130 sitemaps", n)
		}
		if len(rep.Sitemaps) != 100 {
			t.Errorf("%d sitemaps in the report", len(rep.Sitemaps))
		}
	})
}
