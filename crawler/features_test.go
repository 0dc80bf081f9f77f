package crawler_test

import (
	"fmt"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

func TestQueryFloodEnds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 50 {
			refs = append(refs, fmt.Sprintf("/x?i=%d", i))
			s.Page(refs[i], "")
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{MaxQueries: 10}, s.URL("/"))
		if rep.Pages != 11 || rep.Links[crawler.FateTrap] != 40 {
			t.Errorf("%d pages, links %v", rep.Pages, rep.Links)
		}
	})
}

func TestSameBodies(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 6 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "the same"+links("/more"))
		}
		s.Page("/", links(refs...))
		s.Page("/more", "")
		rep, v := crawl(t, w, crawler.Config{MaxSame: 4}, s.URL("/"))
		if rep.Outcomes[crawler.Duplicate] != 2 || rep.Reasons[crawler.ReasonSame] != 2 || rep.Pages != 6 {
			t.Errorf("report %+v", rep)
		}
		if x := v.by[s.URL("/3")]; x.SameAs != s.URL("/0") {
			t.Errorf("same as %q", x.SameAs)
		}
	})
}

func TestErrorBudget(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 20 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "").Fault(crawltest.Reset())
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{MaxErrors: 3, Retries: crawler.None}, s.URL("/"))
		if rep.Finish != crawler.FinishErrors || rep.Outcomes[crawler.Failed] != 3 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestUsageSignals(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Page("/", links("/meta", "/header", "/free"))
		s.Page("/meta", `<meta name="robots" content="noai">`+links("/behind"))
		s.Page("/header", links("/free")).Header("Content-Usage", "train-ai=n")
		s.Page("/free", "")
		s.Page("/behind", "")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for path, want := range map[string]robots.Signal{"/meta": robots.Disallowed, "/header": robots.Disallowed, "/free": robots.Unsaid} {
			if got := v.by[s.URL(path)].Usage.For(robots.UseTrainAI); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
		w.MustRequest(s.URL("/behind")) // a signal on use is none on crawling
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{RefuseUsage: []string{robots.UseTrainAI}}}, s.URL("/"))
		if got := v.line(s.URL("/meta")); got != "refused 200 usage_signal" {
			t.Error(got)
		}
		w.MustNotRequest(s.URL("/behind"))
	})
}

func TestLinkHeadersAndFeeds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/feed")).Header("Link", `</next>; rel="next"`)
		s.Page("/next", "")
		s.Page("/feed", `<rss version="2.0"><channel><item><link>http://a.example/item</link></item></channel></rss>`).Type("application/rss+xml")
		s.Page("/item", "")
		crawl(t, w, crawler.Config{Feeds: true}, s.URL("/"))
		w.MustRequest(s.URL("/next"), s.URL("/item"))
	})
}

func TestResourcesByOption(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<link rel=stylesheet href=/s.css><img src=/i.png>`)
		s.Page("/s.css", `body{background:url(/bg.png)}`).Type("text/css")
		s.Page("/i.png", "x").Type("image/png")
		s.Page("/bg.png", "y").Type("image/png")
		crawl(t, w, crawler.Config{Resources: true}, s.URL("/"))
		w.MustRequest(s.URL("/s.css"), s.URL("/i.png"), s.URL("/bg.png"))
	})
}

func TestRevisitedDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<meta name="robots" content="noindex">`+links("/x"))
		s.Page("/x", "")
		crawl(t, w, crawler.Config{RevisitedDirectives: true}, s.URL("/"))
		w.MustNotRequest(s.URL("/x")) // NOINDEX alone also stops the links
	})
}
