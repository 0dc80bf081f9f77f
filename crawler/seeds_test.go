package crawler_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// Links of a seed are followed even if no include rule matches the seed or its redirect target.
func TestIncludeRulesDoNotExcludeSeeds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Redirect("/", "/home")
		s.Page("/home", links("/docs/1", "/news", "/moved"))
		s.Page("/docs/1", links("/home"))
		s.Page("/news", "")
		s.Redirect("/moved", "/news")
		s.Page("/out", "")
		rules := []crawler.ScopeRule{{Pattern: "/docs/"}, {Pattern: "/moved"}, {Exclude: true, Pattern: "/out"}}
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Rules: rules}}, s.URL("/"), s.URL("/out"))
		v.expect(t, map[string]string{
			s.URL("/"): "redirected 302", s.URL("/home"): "fetched 200", s.URL("/docs/1"): "fetched 200",
			s.URL("/moved"): "redirected 302", s.URL("/news"): "out_of_scope 0 scope", s.URL("/out"): "out_of_scope 0 scope",
		})
	})
}

// The target of a seed's redirect is within the scope: its links are followed.
func TestRedirectedSeedIsNotBeyond(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Redirect("/", "/home")
		s.Page("/home", links("/other"))
		s.Page("/other", links("/further"))
		s.Page("/further", "")
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Pattern: "/docs/"}}, Beyond: 1}}, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "redirected 302", s.URL("/home"): "fetched 200", s.URL("/other"): "fetched 200"})
	})
}

// A crawl that could fetch nothing does not end as done.
func TestNothingInScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		c, err := crawler.New(config(w, crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "example"}}}}))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := c.Run(t.Context(), s.URL("/"), s.URL("/x"))
		if !errors.Is(err, crawler.ErrNothingInScope) || rep != nil {
			t.Fatalf("report %v, error %v", rep, err)
		}
		const want = `crawler: no seed is in scope: http://a.example/ (exclude example), and 1 more`
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		for _, err := range c.Pages(t.Context(), s.URL("/")) {
			if !errors.Is(err, crawler.ErrNothingInScope) {
				t.Errorf("Pages: %v", err)
			}
		}
	})
}

// Links rejected by a crawl's rules are not queued under other rules after the crawl has ended. Resuming a crawl with
// other rules is an error.
func TestFinishedCrawlWithOtherRules(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2"))
		for _, path := range []string{"/1", "/2", "/seed"} {
			s.Page(path, "")
		}
		j := job{t, t.TempDir()}
		narrow := config(w, crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Pattern: "/1"}}}, Limits: crawler.Limits{Pages: 1}})
		if rep, err := j.run(t.Context(), narrow, s.URL("/")); err != nil || rep.Finish != crawler.FinishPages {
			t.Fatalf("%+v, %v", rep, err)
		}
		narrow.Limits.Pages = 0
		if rep, err := j.run(t.Context(), narrow, s.URL("/")); err != nil || rep.Pages != 2 {
			t.Fatalf("resumed: %+v, %v", rep, err)
		}
		if rep, err := j.run(t.Context(), narrow, s.URL("/")); err != nil || rep.Pages != 2 || rep.Finish != crawler.FinishDone {
			t.Fatalf("the same again: %+v, %v", rep, err)
		}
		wide := narrow
		wide.Scope.Rules, wide.Limits.Depth = nil, 7
		rep, err := j.run(t.Context(), wide, s.URL("/"))
		if !errors.Is(err, crawler.ErrRulesChanged) || rep != nil || !strings.Contains(err.Error(), "Limits.Depth, Scope.Rules") {
			t.Fatalf("with other rules: %+v, %v", rep, err)
		}
		if rep, err := j.run(t.Context(), narrow, s.URL("/")); err != nil || rep.Finish != crawler.FinishDone {
			t.Fatalf("with its own rules after that: %+v, %v", rep, err)
		}
		// A seed that is not known yet gives the crawl something to do.
		if rep, err := j.run(t.Context(), wide, s.URL("/"), s.URL("/seed")); err != nil || rep.Pages != 3 {
			t.Fatalf("with a new seed: %+v, %v", rep, err)
		}
	})
}
