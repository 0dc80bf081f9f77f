package crawler_test

import (
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
