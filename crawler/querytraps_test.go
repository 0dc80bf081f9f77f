package crawler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestTraps(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a/a/a/x", "/a/b/a/b/a/b/a/b/a/b", "/ok/ok/x", "/"+strings.Repeat("s/", 26)))
		s.Page("/ok/ok/x", "")
		rep, _ := crawl(t, w, crawler.Config{}, s.URL("/"))
		if rep.Links[crawler.FateTrap] != 3 || rep.Pages != 2 {
			t.Errorf("links %v, %d pages", rep.Links, rep.Pages)
		}
	})
}

func TestQueryFloodEnds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 50 {
			refs = append(refs, fmt.Sprintf("/x?i=%d", i))
			s.Page(refs[i], "")
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Traps: crawler.Traps{Queries: 10}}, s.URL("/"))
		if rep.Pages != 11 || rep.Links[crawler.FateTrap] != 40 {
			t.Errorf("%d pages, links %v", rep.Pages, rep.Links)
		}
	})
}

// A host's owner knows how many pages the host has, so an own host has no limit for URLs that differ in their query.
func TestOwnHostsHaveNoQueryCap(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 20 {
			refs = append(refs, fmt.Sprintf("/x?i=%d", i))
			s.Page(refs[i], fmt.Sprint(i))
		}
		s.Page("/", links(refs...))
		c := crawler.Config{Traps: crawler.Traps{Queries: 3, PerDir: 5}}
		c.Politeness.OwnHosts = func(string) int { return 1 }
		rep, _ := crawl(t, w, c, s.URL("/"))
		if rep.Pages != 21 || rep.Links[crawler.FateTrap] != 0 {
			t.Errorf("%d pages, links %v", rep.Pages, rep.Links)
		}
	})
}
