package crawler_test

import (
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestSeedsHavePriority(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		for _, p := range []string{"/1", "/2", "/3"} {
			s.Page(p, "")
		}
		c := crawler.Config{Concurrency: 1, Seeds: []crawler.Request{{URL: s.URL("/1")}, {URL: s.URL("/2"), Priority: 5}}}
		_, got := run(t, w, c, s.URL("/3"))
		same(t, got, "/2 fetched", "/1 fetched", "/3 fetched")
	})
}

func TestPriority(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a", "/b", "/c", "/", "http://out.example/"))
		s.Page("/a", links("/b", "/"))
		s.Page("/b", links("/a"))
		s.Page("/c", "")
		var asked []string
		c := crawler.Config{Concurrency: 1, Priority: func(v *crawler.Visit, l *crawler.Link) int8 {
			asked = append(asked, v.URL.Path()+" "+l.URL.Path()+" "+string(l.Fate)+" "+l.Ref)
			return int8(l.URL.Path()[1])
		}}
		_, got := run(t, w, c, s.URL("/"))
		same(t, got, "/ fetched", "/c fetched", "/b fetched", "/a fetched")
		same(t, asked, "/ /a follow /a", "/ /b follow /b", "/ /c follow /c")
	})
}

func TestPriorityThatPanicsFailsTheVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a"))
		s.Page("/a", "")
		_, got := run(t, w, crawler.Config{Priority: func(*crawler.Visit, *crawler.Link) int8 { panic("no") }}, s.URL("/"))
		same(t, got, "/ failed panic")
	})
}
