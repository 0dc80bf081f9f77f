package crawler_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// Without rendering, a crawl runs no scripts, so it reads the content of noscript elements.
func TestNoscriptIsRead(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "<noscript>"+links("/list")+"<img src=/i.png></noscript><div id=root></div>")
		s.Page("/list", "<noscript><meta name=robots content=nofollow></noscript>"+links("/hidden"))
		s.Page("/i.png", "")
		s.Page("/hidden", "")
		_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Resources: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/list"): "fetched 200", s.URL("/i.png"): "fetched 200",
		})
	})
}

// Like in browsers, the query of a link is sent in the page's encoding, but in UTF-8 for links in CSS or Link header
// fields (URL Standard section 4.4; CSS Values 4, section "URL processing model").
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
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Resources: true}, Handler: see}, s.URL("/"))
		want := []string{
			"%D1%8F?%FF", "?q=%26%2326085%3B", "?b=%FF", "?i=%FF", "?s=%D1%8F", "?m=%D1%8F", "?u=%D1%8F", "?h=%D1%8F",
		}
		if !slices.Equal(got, want) {
			t.Errorf("links %q, want %q", got, want)
		}
	})
}

// A crawl sends the same requests as a browser.
func TestRequestsOfAShiftJISPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		body(encoded(t, japanese.ShiftJIS, links("/search?q=表示")), "Content-Type", "text/html; charset=Shift_JIS")(s, nil)
		s.Page(`/search?q=%95\%8E%A6`, "found")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL(`/search?q=%95\%8E%A6`): "fetched 200"})
	})
}

// A URL that a Handler adds is resolved like a link on its page.
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
		crawl(t, w, crawler.Config{Handler: add, Limits: crawler.Limits{Depth: 1}, Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "c="}}}}, s.URL("/"))
		seen.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/?e=%FF"): "fetched 200"})
	})
}

// XHTML is parsed as XML, but HTML is not: on an HTML page of the same crawl, an empty script element hides the rest.
func TestXHTML(t *testing.T) {
	const page = `<script src="/s.js"/><title/><iframe src="/frame"/><noscript/><a href="/%s">x</a>`
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/xhtml", "/html"))
		s.Page("/xhtml", fmt.Sprintf(page, "found")).Type("application/xhtml+xml")
		s.Page("/html", fmt.Sprintf(page, "hidden")).Type("text/html")
		s.Page("/found", "")
		s.Page("/frame", "")
		s.Page("/hidden", "")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/xhtml"): "fetched 200", s.URL("/html"): "fetched 200", s.URL("/found"): "fetched 200",
			s.URL("/frame"): "fetched 200",
		})
	})
}

// HTML Standard section 4.2.3, "set the frozen base URL": a base that is a valid URL is used whatever its scheme; an
// invalid one is ignored. Relative references are invalid with a base that has no path (URL Standard section 4.4, "no
// scheme state").
func TestBaseOfAnotherScheme(t *testing.T) {
	for base, want := range map[string]string{
		"mailto:me@a.example":  "url_syntax url_syntax http://a.example/abs url_syntax",
		"ftp://b.example/d/":   "url_syntax url_syntax http://a.example/abs url_syntax",
		"http://u:p@b.example": "url_syntax url_syntax http://a.example/abs url_syntax",
		"about:blank":          "url_syntax url_syntax http://a.example/abs url_syntax",
		"http://[":             "http://a.example/d/rel http://a.example/root http://a.example/abs http://a.example/d/page",
		"data:,x":              "http://a.example/d/rel http://a.example/root http://a.example/abs http://a.example/d/page",
		"sub/":                 "http://a.example/d/sub/rel http://a.example/root http://a.example/abs http://a.example/d/sub/",
	} {
		t.Run(base, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/d/page", "<base href='"+base+"'>"+links("rel", "/root", "http://a.example/abs", ""))
				var got []string
				see := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
					for _, l := range v.Links() {
						got = append(got, cmp.Or(l.URL.String(), l.Rule))
					}
					return crawler.Stop
				})
				crawl(t, w, crawler.Config{Handler: see}, s.URL("/d/page"))
				if strings.Join(got, " ") != want {
					t.Errorf("links %q, want %q", got, want)
				}
			})
		})
	}
}

// A sitemap is read as a sitemap even after redirects.
func TestSitemapBehindRedirects(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: http://a.example/old.xml\n")
		s.Redirect("/old.xml", "/older.xml")
		s.Redirect("/older.xml", "/map.xml.gz")
		s.Page("/map.xml.gz", string(gzipped(t, `<urlset><url><loc>http://a.example/hidden</loc></url></urlset>`))).Type("application/x-gzip")
		s.Page("/", "no links")
		s.Page("/hidden", "found")
		_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/old.xml"): "redirected 302", s.URL("/older.xml"): "redirected 302",
			s.URL("/map.xml.gz"): "fetched 200", s.URL("/hidden"): "fetched 200",
		})
	})
}

// Some sites redirect every unknown URL to their home page. That response is a page, not a sitemap.
func TestSitemapThatIsAPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, www := w.Site("http://a.example"), w.Site("http://www.a.example")
		s.Robots("Sitemap: http://a.example/map.xml\n")
		s.Redirect("/map.xml", "http://www.a.example/")
		s.Page("/", "no links")
		www.Page("/", links("/1"))
		www.Page("/1", "found")
		_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/map.xml"): "redirected 302", www.URL("/"): "fetched 200", www.URL("/1"): "fetched 200",
		})
	})
}

const rss, atom = `<rss version="2.0"><channel><item><link>http://a.example/1</link></item></channel></rss>`,
	`<feed xmlns="http://www.w3.org/2005/Atom"><link href="/about"/><entry><link href="/1"/></entry></feed>`

// Feeds are recognized by content if their type is only XML or JSON.
func TestFeedsByContent(t *testing.T) {
	const jsonFeed = `{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "url": "/1"}]}`
	for _, tt := range []struct{ mediaType, feed string }{
		{"application/rss+xml", rss}, {"text/xml", rss}, {"application/xml", rss}, {"application/rdf+xml", rss},
		{"application/atom+xml", atom}, {"text/xml; charset=utf-8", atom}, {"text/html", atom},
		{"application/feed+json", jsonFeed}, {"application/json", jsonFeed},
	} {
		t.Run(tt.mediaType, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", tt.feed).Type(tt.mediaType)
				s.Page("/1", "an entry")
				s.Page("/about", "")
				_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Feeds: true}, Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "/about"}}}}, s.URL("/"))
				v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/1"): "fetched 200"})
			})
		})
	}
}

// A document that is not a feed has no links. Without the option for feeds, feeds have none either.
func TestNoFeeds(t *testing.T) {
	for name, feeds := range map[string]bool{"with feeds": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/data.xml", "/data.json", "/feed"))
				s.Page("/data.xml", `<data><link>http://a.example/1</link></data>`).Type("application/xml")
				s.Page("/data.json", `{"items": [{"url": "http://a.example/1"}]}`).Type("application/json")
				s.Page("/feed", rss).Type("text/xml")
				s.Page("/1", "")
				_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Feeds: feeds}}, s.URL("/"))
				for _, path := range []string{"/data.xml", "/data.json", "/feed"} {
					if x := v.by[s.URL(path)]; (x.Doc != nil) != (feeds && path == "/feed") {
						t.Errorf("%s: document %v", path, x.Doc)
					}
				}
			})
		})
	}
}

// A feed and a sitemap are read in the encoding they declare.
func TestEncodingOfFeedsAndSitemaps(t *testing.T) {
	const declaration = `<?xml version="1.0" encoding="windows-1251"?>`
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: http://a.example/map.xml\n")
		s.Page("/", links("/feed"))
		s.Page("/feed", string(encoded(t, charmap.Windows1251, declaration+`<rss><channel><item><title>Первая</title><link>http://a.example/статья</link></item></channel></rss>`))).Type("application/rss+xml")
		s.Page("/map.xml", string(encoded(t, charmap.Windows1251, declaration+`<urlset><url><loc>http://a.example/страница?я</loc></url></urlset>`))).Type("text/xml")
		s.Page("/%D1%81%D1%82%D0%B0%D1%82%D1%8C%D1%8F", "")
		s.Page("/%D1%81%D1%82%D1%80%D0%B0%D0%BD%D0%B8%D1%86%D0%B0?%D1%8F", "")
		_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Feeds: true, Sitemaps: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/feed"): "fetched 200", s.URL("/map.xml"): "fetched 200",
			s.URL("/%D1%81%D1%82%D0%B0%D1%82%D1%8C%D1%8F"): "fetched 200", s.URL("/%D1%81%D1%82%D1%80%D0%B0%D0%BD%D0%B8%D1%86%D0%B0?%D1%8F"): "fetched 200",
		})
	})
}

// TestFeedsAsSitemaps follows sitemaps.org, "Other Sitemap formats".
func TestFeedsAsSitemaps(t *testing.T) {
	for name, feed := range map[string]string{"rss": rss, "atom": atom} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Robots("Sitemap: http://a.example/feed\n")
				s.Page("/feed", feed).Type("text/xml")
				s.Page("/", "no links")
				s.Page("/1", "found")
				_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
				v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/feed"): "fetched 200", s.URL("/1"): "fetched 200"})
			})
		})
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := packer(t, "gzip", &b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBaseAndCanonical(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<title>T</title><base href="/dir/"><a href="x">x</a><link rel="canonical" href="/c">`)
		s.Page("/dir/x", "")
		s.Page("/dir/c", "").Status(404)
		s.Page("/c", "")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		w.MustRequest(s.URL("/dir/x"))
		if d := v.by[s.URL("/")].Doc; d.Title != "T" || d.Canonical != "/c" {
			t.Errorf("got %+v", d)
		}
	})
}

func TestLinkHeadersAndFeeds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/feed")).Header("Link", `</next>; rel="next"`).Header("Refresh", "5; url=/moved")
		s.Page("/next", "").Header("Refresh", "30")
		s.Page("/moved", "")
		s.Page("/feed", `<rss version="2.0"><channel><item><link>http://a.example/item</link></item></channel></rss>`).Type("application/rss+xml")
		s.Page("/item", "")
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Feeds: true}}, s.URL("/"))
		w.MustRequest(s.URL("/next"), s.URL("/moved"), s.URL("/item"))
	})
}

func TestResourcesByOption(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<link rel=stylesheet href=/s.css><img src=/i.png>`)
		s.Page("/s.css", `body{background:url(/bg.png)}`).Type("text/css")
		s.Page("/i.png", "x").Type("image/png")
		s.Page("/bg.png", "y").Type("image/png")
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Resources: true}}, s.URL("/"))
		w.MustRequest(s.URL("/s.css"), s.URL("/i.png"), s.URL("/bg.png"))
	})
}

func TestLinksOfErrorPagesAreNotFollowed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/gone", "/fails"))
		s.Page("/gone", links("deeper")).Status(404)
		s.Page("/fails", links("deeper")).Status(500)
		s.Page("/deeper", "")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		w.MustNotRequest(s.URL("/deeper"))
		if rep.Links[crawler.FateNoFollow] != 2 || v.by[s.URL("/gone")].Doc == nil {
			t.Errorf("links %v", rep.Links)
		}
	})
}
