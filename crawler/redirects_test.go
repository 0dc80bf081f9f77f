package crawler_test

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestRedirects(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /no/\n").Forbids("/no/*")
		o := w.Site("http://other.example")
		o.Page("/", "")
		s.Page("/", links("/loop", "/chain", "/no-target", "/out", "/nowhere", "/mail", "/latin1"))
		s.Redirect("/loop", "/loop2")
		s.Redirect("/loop2", "/loop")
		s.RedirectChain("/chain", 11, "/end")
		s.Page("/end", "")
		s.Redirect("/no-target", "/no/x")
		s.Redirect("/out", "http://other.example/")
		s.Page("/nowhere", "").Status(302)
		s.Redirect("/mail", "mailto:x@y.example")
		s.Redirect("/latin1", "/gr\xfc\xdfe")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for u, want := range map[string]string{
			s.URL("/loop"): "redirected 302", s.URL("/loop2"): "failed 302 redirect_loop", s.URL("/no/x"): "refused 0 robots_disallow",
			s.URL("/out"): "redirected 302", "http://other.example/": "out_of_scope 0 scope",
			s.URL("/nowhere"): "failed 302 redirect_bad", s.URL("/mail"): "failed 302 redirect_bad",
			s.URL("/end"): "no visit", s.URL("/gr%FC%DFe"): "fetched 404",
		} {
			if got := v.line(u); got != want {
				t.Errorf("%s: %s, want %s", u, got, want)
			}
		}
		if rep.Reasons["redirect_limit"] != 1 {
			t.Errorf("reasons %v", rep.Reasons)
		}
		w.MustNotRequest("http://other.example/", "http://other.example/robots.txt", s.URL("/no/x"))
	})
}

// TestRetryAfterOnRedirectDelaysTargetOrLeavesIt crawls redirects with Retry-After to another host. The target and its
// robots.txt must wait. If Retry-After is too long, the target is not requested, but other pages of its host are.
func TestRetryAfterOnRedirectDelaysTargetOrLeavesIt(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b := w.Site("http://a.example").Latency(300*time.Millisecond), w.Site("http://b.example")
		a.Page("/", links("/soon", "http://b.example/linked"))
		a.Page("/soon", "").Status(302).Location("http://b.example/target").Header("Retry-After", "100")
		c := w.Site("http://c.example")
		c.Page("/", "").Status(307).Location("http://b.example/left").Header("Retry-After", "1000")
		b.Page("/target", "text")
		b.Page("/linked", "text")
		b.Page("/left", "text")
		rep, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 100}}, a.URL("/"), c.URL("/"))
		v.expect(t, map[string]string{
			"http://a.example/": "fetched 200", "http://a.example/soon": "redirected 302", "http://c.example/": "deferred 307 retry_after_long",
			"http://b.example/target": "fetched 200", "http://b.example/linked": "fetched 200",
		})
		var redirected time.Time
		for _, r := range w.Requests() {
			switch {
			case r.URL == "http://a.example/soon":
				redirected = r.End
			case r.Host == "b.example:80" && !redirected.IsZero() && r.Start.After(redirected) && r.Start.Sub(redirected) < 100*time.Second:
				t.Errorf("%s was requested %v after the redirect", r.URL, r.Start.Sub(redirected))
			}
		}
		if x := v.by["http://c.example/"]; x.Location.String() != "http://b.example/left" || x.Detail == "" || rep.Outcomes[crawler.Deferred] != 1 {
			t.Errorf("the redirect not followed: %q to %s; %v", x.Detail, x.Location, rep.Outcomes)
		}
	})
}
