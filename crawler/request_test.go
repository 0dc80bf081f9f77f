package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// TestARequestThatCannotBeMadeFailsItsVisit checks that an error of Fetch.Request fails the visit with its text; for a
// robots.txt, it fails all visits that need the file. There are no endless retries, and nothing is sent.
func TestARequestThatCannotBeMadeFailsItsVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a := w.Site("http://a.example")
		a.Page("/", links("/no", "http://b.example/"))
		a.Page("/no", "")
		w.Site("http://b.example").Page("/", "")
		request := func(_ context.Context, u weburl.URL) (http.Header, error) {
			if u.Path() == "/no" || u.Host() == "b.example:80" {
				return nil, errors.New("no token for " + u.Host())
			}
			return http.Header{"X-Token": {"t"}}, nil
		}
		_, v := crawl(t, w, crawler.Config{
			Fetch: fetcher.Config{Request: request}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 9},
		}, "http://a.example/")
		v.expect(t, map[string]string{
			"http://a.example/": "fetched 200", "http://a.example/no": "failed 0 request_header", "http://b.example/": "failed 0 request_header",
		})
		if err := v.by["http://b.example/"].Err; err == nil || !strings.Contains(err.Error(), "no token for b.example:80") {
			t.Errorf("%v", err)
		}
	})
}

// TestCredentialsStayWithTheirOrigin crawls a site whose robots.txt, links and redirects lead to other hosts, ports and
// schemes. Only requests to the configured origin, including those for robots.txt and sitemaps, have its header fields.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		others := []string{"http://b.example", "http://a.example:8080", "https://a.example", "http://x.a.example"}
		a := w.Site("http://a.example")
		a.Robots("Sitemap: http://a.example/sitemap.xml\nSitemap: http://b.example/sitemap.xml\n")
		a.Page("/sitemap.xml", "<urlset><url><loc>http://a.example/listed</loc></url></urlset>").Type("application/xml")
		a.Page("/listed", "")
		var refs []string
		for i, origin := range others {
			o := w.Site(origin)
			o.Page("/", links("http://a.example/back"))
			o.Page("/target", "")
			o.Page("/sitemap.xml", "<urlset></urlset>").Type("application/xml")
			path := fmt.Sprint("/to", i)
			a.Redirect(path, origin+"/target")
			refs = append(refs, path, origin+"/")
		}
		a.Page("/", links(refs...))
		a.Page("/back", "")
		moved := w.Site("http://c.example")
		moved.Redirect("/robots.txt", "http://a.example/robots.txt")
		moved.Page("/", "")
		var v visits
		cr := newCrawler(t, w, crawler.Config{
			Fetch:  fetcher.Config{Headers: fetcher.Headers{"http://a.example": {"Authorization": {"s3cret"}, "X-Token": {"s3cret"}}}},
			Scope:  crawler.ScopeConfig{Kind: crawler.ScopeAny},
			Follow: crawler.Follow{Sitemaps: true}, Limits: crawler.Limits{Pages: 99}, Handler: &v,
		})
		w.Expect(crawltest.Expect{
			Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AuthHosts: []string{"a.example:80"},
		})
		if _, err := cr.Run(t.Context(), "http://a.example/", "http://c.example/"); err != nil {
			t.Fatal(err)
		}
		if n := len(v.all); n != 18 {
			t.Errorf("%d visits: %q", n, v.all)
		}
		for _, x := range w.Requests() {
			want := strings.HasPrefix(x.URL, "http://a.example/")
			for _, name := range []string{"Authorization", "X-Token"} {
				if (x.Header.Get(name) != "") != want {
					t.Errorf("%s: %s %q", x.URL, name, x.Header.Get(name))
				}
			}
		}
	})
}
