package crawler_test

import (
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// A crawl runs no scripts, so what a page has for browsers without them is the page.
func TestNoscriptIsRead(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "<noscript>"+links("/list")+"<img src=/i.png></noscript><div id=root></div>")
		s.Page("/list", "<noscript><meta name=robots content=nofollow></noscript>"+links("/hidden"))
		s.Page("/i.png", "")
		s.Page("/hidden", "")
		_, v := crawl(t, w, crawler.Config{Resources: true}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/list"): "fetched 200", s.URL("/i.png"): "fetched 200",
		})
	})
}
