package crawler_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/fetcher"
)

func TestTreeOfAVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "<h1>caf\xe9</h1>"+links("/deep", "/data", "/away")).Type("text/html; charset=iso-8859-1")
		s.Page("/deep", strings.Repeat("<div>", 1000))
		s.Page("/data", `{"h1": 1}`).Type("application/json")
		s.Redirect("/away", "/there")
		s.Page("/there", "")
		got := map[string]string{}
		var late *crawler.Visit
		handler := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			tree, err := v.Tree()
			again, err2 := v.Tree()
			if tree != again || !errors.Is(err2, err) {
				t.Errorf("%s: another tree at the second call", v.URL)
			}
			got[v.URL.Path()] = css.Text(tree, css.MustCompile("h1"))
			switch v.URL.Path() {
			case "/":
				late = v
			case "/deep":
				if err == nil || !strings.Contains(err.Error(), "extract: tree: ") {
					t.Errorf("a deep page: error %v", err)
				}
			case "/data":
				if tree != nil || err != nil {
					t.Errorf("%s: %v, error %v", v.URL, tree, err)
				}
			}
			return nil
		})
		crawl(t, w, crawler.Config{Handler: handler, Concurrency: 1}, s.URL("/"))
		if len(got) != 5 || got["/"] != "café" || got["/data"] != "" {
			t.Errorf("%q", got)
		}
		if tree, err := late.Tree(); tree != nil || !errors.Is(err, crawler.ErrOver) {
			t.Errorf("after the visit: %v, %v", tree, err)
		}
	})
}

// A Visit created by hand, as in a handler's test, has a tree.
func TestTreeOfAVisitMadeByHand(t *testing.T) {
	v := &crawler.Visit{Page: &fetcher.Page{ContentType: "text/html", Body: []byte("<p>x")}}
	tree, err := v.Tree()
	if err != nil || tree == nil || tree.Type != html.DocumentNode {
		t.Errorf("%v, %v", tree, err)
	}
	if tree, err := new(crawler.Visit).Tree(); tree != nil || err != nil {
		t.Errorf("without a page: %v, %v", tree, err)
	}
}

// Config.Extract affects the links found by the default Extractor.
func TestExtractOptions(t *testing.T) {
	for _, xhtml := range []bool{false, true} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			page := s.Page("/", `<div data-href="/hidden">x</div><form action="/search"><p>y</p></form><img src="/i.png"/>`)
			if xhtml {
				page.Type("application/xhtml+xml")
			}
			s.Page("/hidden", "")
			s.Page("/search", "")
			o := extract.Options{DataAttrs: []string{"data-href"}, Forms: true}
			crawl(t, w, crawler.Config{Extract: o}, s.URL("/"))
			w.MustRequest(s.URL("/hidden"), s.URL("/search"))
			w.MustNotRequest(s.URL("/i.png"))
		})
	}
}
