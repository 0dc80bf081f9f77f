package crawler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
)

// outsideWeb creates a site with links to other sites, which form a chain.
func outsideWeb(w *crawltest.Web) (inside, o1, o2, o3 *crawltest.Site) {
	inside, o1, o2, o3 = w.Site("http://a.example"), w.Site("http://one.example"), w.Site("http://two.example"), w.Site("http://three.example")
	inside.Page("/", links("http://one.example/", "http://one.example/forbidden", "http://one.example/x/x/x/x")+`<img src=http://three.example/picture>`)
	inside.Page("/back", links("http://one.example/anew"))
	o1.Page("/", links("http://two.example/", "/more", "http://a.example/back"))
	o1.Page("/more", "")
	o1.Page("/forbidden", "")
	o1.Page("/anew", "")
	o1.Page("/x/x/x/x", "")
	o2.Page("/", links("http://three.example/"))
	o3.Page("/", links("/deeper"))
	o3.Page("/deeper", "")
	o3.Page("/picture", "x").Type("image/png")
	return inside, o1, o2, o3
}

func TestHopsBeyondTheScope(t *testing.T) {
	rules := []crawler.ScopeRule{{Exclude: true, Pattern: `/forbidden`}}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o1, o2, _ := outsideWeb(w)
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 2, Rules: rules}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", o1.URL("/"): "fetched 200", o1.URL("/more"): "fetched 200", o2.URL("/"): "fetched 200",
			s.URL("/back"): "fetched 200", o1.URL("/anew"): "fetched 200",
		})
		for u, n := range map[string]int{s.URL("/"): 0, o1.URL("/"): 1, o2.URL("/"): 2, s.URL("/back"): 0, o1.URL("/anew"): 1} {
			if got := v.by[u].Beyond; got != n {
				t.Errorf("%s is %d links beyond the scope, want %d", u, got, n)
			}
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o1, _, o3 := outsideWeb(w)
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 1, BeyondKinds: []frontier.Kind{frontier.KindImage}}, Follow: crawler.Follow{Resources: true}}, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", o3.URL("/picture"): "fetched 200"})
		w.MustNotRequest(o1.URL("/"))
	})
}

// If resource kinds are included, a crawl follows link elements beyond the scope to resources that are needed for display,
// but not to pages.
func TestLinkElementsBeyondTheScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, cdn := w.Site("http://a.example"), w.Site("http://cdn.example")
		s.Page("/", `<link rel=stylesheet href=http://cdn.example/x.css><link rel="shortcut icon" href=http://cdn.example/x.ico>`+
			`<link rel=canonical href=http://cdn.example/page><link rel=license href=http://cdn.example/licence>`)
		cdn.Page("/x.css", `@import "more.css";`).Type("text/css")
		cdn.Page("/more.css", "").Type("text/css")
		cdn.Page("/x.ico", "x").Type("image/x-icon")
		cdn.Page("/page", "")
		cdn.Page("/licence", "")
		kinds := []frontier.Kind{frontier.KindLink, frontier.KindImport}
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 2, BeyondKinds: kinds}, Follow: crawler.Follow{Resources: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", cdn.URL("/x.css"): "fetched 200", cdn.URL("/x.ico"): "fetched 200", cdn.URL("/more.css"): "fetched 200",
		})
		w.MustNotRequest(cdn.URL("/page"), cdn.URL("/licence"))
	})
}

// A link's rule says how many links beyond the scope it is, or what excludes it.
func TestRulesNameTheHop(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o1, o2, _ := outsideWeb(w)
		rules := map[string]string{}
		h := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			for _, l := range v.Links() {
				rules[v.URL.String()+" "+l.URL.String()] = string(l.Fate) + ": " + l.Rule
			}
			return nil
		})
		crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 2, Rules: []crawler.ScopeRule{{Exclude: true, Pattern: `/forbidden`}}}, Handler: h, Concurrency: 1}, s.URL("/"))
		for link, want := range map[string]string{
			s.URL("/") + " " + o1.URL("/"):              "follow: one link beyond the scope",
			s.URL("/") + " " + o1.URL("/forbidden"):     "out_of_scope: exclude /forbidden",
			s.URL("/") + " " + o1.URL("/x/x/x/x"):       "out_of_scope: scope host",
			o1.URL("/") + " " + o2.URL("/"):             "follow: two links beyond the scope",
			o1.URL("/") + " " + s.URL("/back"):          "follow: ",
			o2.URL("/") + " " + "http://three.example/": "out_of_scope: the page is two links beyond the scope",
		} {
			if got := rules[link]; got != want {
				t.Errorf("%s: %s, want %s", link, got, want)
			}
		}
	})
}

// A response of an excluded type is not read further, followed or archived. HTML that no rule includes is still
// read for links.
func TestTypesOutOfScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/doc", "/feed", "/moved"))
		s.Page("/doc", "%PDF-1.7"+strings.Repeat("x", 200_000)).Type("application/pdf")
		s.Page("/feed", links("/behind")).Type("application/xhtml+xml")
		s.Redirect("/moved", "/doc?2").Type("application/pdf")
		s.Page("/doc?2", "%PDF-1.7").Type("application/pdf")
		s.Page("/behind", "")
		rep, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Types: []string{"text/*"}}, {Exclude: true, Types: []string{"application/pdf"}}}}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/doc"): "out_of_scope 200 type", s.URL("/feed"): "out_of_scope 200 type",
			s.URL("/moved"): "redirected 302", s.URL("/doc?2"): "out_of_scope 200 type", s.URL("/behind"): "fetched 200",
		})
		if got := v.by[s.URL("/doc")].Page.Truncated; got != "unwanted" {
			t.Errorf("an excluded body was read to its end: %q", got)
		}
		if got := v.by[s.URL("/doc")].Rule; got != "exclude application/pdf" {
			t.Errorf("rule %q", got)
		}
		if rep.Pages != 2 {
			t.Errorf("%d pages", rep.Pages)
		}
	})
}

// A redirect does not count as a hop, and does not lead to anything that a rule excludes.
func TestRedirectsBeyondTheScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o := w.Site("http://a.example"), w.Site("http://one.example")
		s.Page("/", links("http://one.example/moved", "/leaves"))
		s.Redirect("/leaves", "http://one.example/forbidden")
		o.Redirect("/moved", "/target")
		o.Page("/target", links("/next"))
		o.Page("/next", "")
		o.Page("/forbidden", "")
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 2, Rules: []crawler.ScopeRule{{Exclude: true, Pattern: `/forbidden`}}}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/leaves"): "redirected 302", o.URL("/moved"): "redirected 302",
			o.URL("/target"): "fetched 200", o.URL("/next"): "fetched 200", o.URL("/forbidden"): "out_of_scope 0 scope",
		})
		if v.by[o.URL("/target")].Beyond != 1 || v.by[o.URL("/next")].Beyond != 2 || v.by[o.URL("/forbidden")].Rule != "exclude /forbidden" {
			t.Errorf("%+v", v.by)
		}
	})
}

// A URL found through two kinds of links is judged for both.
func TestKindsOfOneURL(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<img src=/x><a href=/x>x</a><img src=/x>`)
		s.Page("/x", "")
		var fates []crawler.Fate
		h := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			for _, l := range v.Links() {
				fates = append(fates, l.Fate)
			}
			return nil
		})
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Resources: true}, Handler: h, Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Kinds: []frontier.Kind{frontier.KindImage}}}}}, s.URL("/"))
		if !slices.Equal(fates, []crawler.Fate{crawler.FateScope, crawler.FateFollow, crawler.FateScope}) {
			t.Errorf("fates %v", fates)
		}
	})
}

// keeping is an in-memory archive of the URLs of responses.
type keeping struct {
	sink.Base
	urls []string
}

func (k *keeping) Append(_ context.Context, r *sink.Record) error {
	if r.Exchange != nil {
		k.urls = append(k.urls, r.URL)
	}
	return nil
}

func (k *keeping) Needs() sink.Needs                     { return sink.Needs{Exchanges: true} }
func (k *keeping) Sync(_ context.Context) (int64, error) { return 0, nil }
func (k *keeping) Restore(context.Context, int64) error  { return sink.ErrNotCuttable }
func (k *keeping) Close(_ context.Context) error         { return nil }

func TestTypesOutOfScopeAreNotArchived(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/doc"))
		s.Page("/doc", "%PDF-1.7").Type("application/pdf")
		k := &keeping{}
		crawl(t, w, crawler.Config{Sinks: []sink.Sink{k}, Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Types: []string{"application/pdf"}}}}}, s.URL("/"))
		if !slices.Equal(k.urls, []string{s.URL("/")}) {
			t.Errorf("archived: %v", k.urls)
		}
	})
}

func TestBeyondTheScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o := w.Site("http://a.example"), w.Site("http://other.example")
		s.Page("/", links("http://other.example/", "http://other.example/moved", "/out"))
		s.Redirect("/out", "http://other.example/from-inside")
		o.Page("/from-inside", links("/deeper"))
		o.Page("/", links("/deeper", "http://a.example/back"))
		o.Page("/deeper", "")
		o.Redirect("/moved", "/target")
		o.Page("/target", "")
		s.Page("/back", "")
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 1}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", o.URL("/"): "fetched 200", o.URL("/moved"): "redirected 302", o.URL("/target"): "fetched 200",
			s.URL("/out"): "redirected 302", o.URL("/from-inside"): "fetched 200",
		})
	})
}
