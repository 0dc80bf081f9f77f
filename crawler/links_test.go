package crawler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

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

// The query of a link is sent in the encoding of the page, as by browsers; where it stands in CSS or a Link
// header field, in UTF-8 (URL Standard section 4.4; CSS Values 4, section "URL processing model").
func TestQueriesAreSentInThePagesEncoding(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		page := "<meta charset=windows-1251><base href='/d/?b=я'>" + links("я?я", "?q=日") +
			"<a href></a><img src='?i=я'><p style='background:url(?s=я)'><style>@import '?m=я'; a{background:url(?u=я)}</style>"
		page = strings.ReplaceAll(page, "日", "&#26085;")
		body(encoded(t, charmap.Windows1251, page), "Content-Type", "text/html", "Link", "<?h=я>; rel=next")(s, nil)
		var got []string
		see := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			for _, l := range v.Links() {
				got = append(got, strings.TrimPrefix(l.URL.String(), "http://a.example/d/"))
			}
			return crawler.Stop
		})
		crawl(t, w, crawler.Config{Resources: true, Handler: see}, s.URL("/"))
		want := []string{
			"%D1%8F?%FF", "?q=%26%2326085%3B", "?b=%FF", "?i=%FF", "?s=%D1%8F", "?m=%D1%8F", "?u=%D1%8F", "?h=%D1%8F",
		}
		if !slices.Equal(got, want) {
			t.Errorf("links %q, want %q", got, want)
		}
	})
}

// What a crawl asks a server for is what a browser asks it for.
func TestRequestsOfAShiftJISPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		body(encoded(t, japanese.ShiftJIS, links("/search?q=表示")), "Content-Type", "text/html; charset=Shift_JIS")(s, nil)
		s.Page(`/search?q=%95\%8E%A6`, "found")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL(`/search?q=%95\%8E%A6`): "fetched 200"})
	})
}

// What a Handler adds is resolved as a link of its page.
func TestEnqueueInThePagesEncoding(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		body(encoded(t, charmap.Windows1251, "<link rel=canonical href='?c=я'>"), "Content-Type", "text/html; charset=windows-1251")(s, nil)
		s.Page("/?e=%FF", "")
		seen := &visits{}
		add := crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
			if v.URL.Query() == "" {
				if got := v.Canonical().String(); got != s.URL("/?c=%FF") {
					t.Errorf("canonical %s", got)
				}
				if err := v.Enqueue(crawler.Request{URL: "?e=я"}); err != nil {
					return err
				}
			}
			return seen.Handle(ctx, v)
		})
		crawl(t, w, crawler.Config{Handler: add, MaxDepth: 1, Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "c="}}}, s.URL("/"))
		seen.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/?e=%FF"): "fetched 200"})
	})
}
