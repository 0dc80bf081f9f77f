package crawler_test

import (
	"context"
	"errors"
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
		same(t, asked, "/ /a follow /a", "/ /b follow /b", "/ /c follow /c", "/b /a follow /a") // the last URL is still queued and might be raised
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

// If a later page links to a queued URL, the URL's priority can rise: by Config.Priority, or by the handler. The URL
// still counts only once.
func TestABetterPriorityRaises(t *testing.T) {
	for name, byHandler := range map[string]bool{"Config.Priority": false, "Enqueue": true} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/list?1", "/1", "/2", "/3", "/4"))
				s.Page("/list?1", links("/4", "/2"))
				for _, p := range []string{"/1", "/2", "/3", "/4"} {
					s.Page(p, "")
				}
				c := crawler.Config{Concurrency: 1, Traps: crawler.Traps{PerDir: 6}}
				c.Priority = func(v *crawler.Visit, l *crawler.Link) int8 {
					switch {
					case v.Priority > 0 && !byHandler:
						return v.Priority - 1
					case l.URL.Path() == "/list":
						return 9
					}
					return 0
				}
				if byHandler {
					c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
						if v.URL.Path() != "/list" {
							return nil
						}
						return errors.Join(v.Enqueue(crawler.Request{URL: "/4", Priority: 8}), v.Enqueue(crawler.Request{URL: "/2", Priority: 8}))
					})
				}
				rep, got := run(t, w, c, s.URL("/"))
				same(t, got, "/ fetched", "/list?1 fetched", "/4 fetched", "/2 fetched", "/1 fetched", "/3 fetched")
				if rep.Links[crawler.FateTrap] != 0 {
					t.Errorf("%d links are over the limit: a raised URL was counted again", rep.Links[crawler.FateTrap])
				}
			})
		})
	}
}

// The first matching entry of Config.Priorities decides, for seeds, links and sitemap entries.
func TestPriorities(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: /sitemap.xml\n")
		s.Page("/sitemap.xml", `<urlset><url><loc>/news/s</loc></url><url><loc>/old/s</loc></url></urlset>`).Type("application/xml")
		s.Page("/", links("/old/1", "/x", "/news/1", "/news/first"))
		for _, p := range []string{"/old/1", "/x", "/news/1", "/news/first", "/news/s", "/old/s", "/news/seed"} {
			s.Page(p, "")
		}
		c := crawler.Config{
			Concurrency: 1, Follow: crawler.Follow{Sitemaps: true},
			Priorities: []crawler.PriorityRule{{Pattern: "/first$", Priority: 127}, {Pattern: "/news/", Priority: 10}, {Pattern: "/old/", Priority: -128}, {Pattern: "/", Priority: 0}},
			Priority:   func(*crawler.Visit, *crawler.Link) int8 { panic("a rule decides before") },
		}
		_, got := run(t, w, c, s.URL("/"), s.URL("/news/seed"))
		same(t, got, "/news/seed fetched", "/sitemap.xml fetched", "/news/s fetched", "/ fetched", "/news/first fetched", "/news/1 fetched", "/x fetched", "/old/s fetched", "/old/1 fetched")
	})
}
