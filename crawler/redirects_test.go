package crawler_test

import (
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestRedirects(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /no/\n").Forbids("/no/*")
		o := w.Site("http://other.example")
		o.Page("/", "")
		s.Page("/", links("/loop", "/chain", "/no-target", "/out", "/nowhere", "/mail"))
		s.Redirect("/loop", "/loop2")
		s.Redirect("/loop2", "/loop")
		s.RedirectChain("/chain", 11, "/end")
		s.Page("/end", "")
		s.Redirect("/no-target", "/no/x")
		s.Redirect("/out", "http://other.example/")
		s.Page("/nowhere", "").Status(302)
		s.Redirect("/mail", "mailto:x@y.example")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for u, want := range map[string]string{
			s.URL("/loop"): "redirected 302", s.URL("/loop2"): "failed 302 redirect_loop", s.URL("/no/x"): "refused 0 robots_disallow",
			s.URL("/out"): "redirected 302", "http://other.example/": "out_of_scope 0 scope",
			s.URL("/nowhere"): "failed 302 redirect_bad", s.URL("/mail"): "failed 302 redirect_bad",
			s.URL("/end"): "no visit",
		} {
			if got := v.line(u); got != want {
				t.Errorf("%s: %s, want %s", u, got, want)
			}
		}
		if rep.Reasons[crawler.ReasonRedirectLimit] != 1 {
			t.Errorf("reasons %v", rep.Reasons)
		}
		w.MustNotRequest("http://other.example/", "http://other.example/robots.txt", s.URL("/no/x"))
	})
}
