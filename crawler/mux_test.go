package crawler_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func visitOf(t *testing.T, url string) *crawler.Visit {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return &crawler.Visit{URL: u, Outcome: crawler.Fetched, Page: &fetcher.Page{Status: 200, ContentType: "text/html"}}
}

func TestMuxPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, fits, not string }{
		{"", "http://a.example/ https://b.example:8080/x?y", ""},
		{"a.example", "http://a.example/ https://a.example:8080/x", "http://b.example/ http://x.a.example/"},
		{"A.Example:8080", "http://a.example:8080/x", "http://a.example/"},
		{"a.example:80/", "http://a.example/", "https://a.example/"},
		{"*.example", "http://a.example/ http://b.a.example/", "http://example/ http://a.test/"},
		{"[::1]/", "http://[::1]/ http://[::1]:81/", "http://[::2]/"},
		{"[::1]:81/", "http://[::1]:81/", "http://[::1]/"},
		{"/", "http://a.example/ http://a.example/x/y?z", ""},
		{"/{$}", "http://a.example/ http://a.example/?q", "http://a.example/x"},
		{"/a", "http://a.example/a http://a.example/a?b http://a.example/%61", "http://a.example/ http://a.example/a/ http://a.example/ab"},
		{"/a/", "http://a.example/a/ http://a.example/a/b/c", "http://a.example/a http://a.example/ab/"},
		{"/a/{$}", "http://a.example/a/", "http://a.example/a http://a.example/a/b"},
		{"/a/{x}", "http://a.example/a/1 http://a.example/a/%2F", "http://a.example/a/ http://a.example/a http://a.example/a/1/ http://a.example/a/1/2"},
		{"/{x}/b", "http://a.example/a/b", "http://a.example//b http://a.example/a/c"},
		{"/{x}/", "http://a.example/a/ http://a.example/a/b", "http://a.example/a"},
		{"/a/{x...}", "http://a.example/a/ http://a.example/a/b/c", "http://a.example/a"},
		{"/a//b", "http://a.example/a//b", "http://a.example/a/b"},
		{"/%7Bx}", "", ""},
		{"/caf%C3%A9", "http://a.example/café", "http://a.example/cafe"},
		{"/é", "http://a.example/%C3%A9 http://a.example/%c3%a9", ""},
	} {
		var mux crawler.Mux
		fitted := false
		if c.pattern == "/%7Bx}" {
			c.pattern, c.fits = "/%7Bx%7D", "http://a.example/{x}"
		}
		mux.On(c.pattern, func(context.Context, *crawler.Visit) error { fitted = true; return nil })
		for want, urls := range map[bool]string{true: c.fits, false: c.not} {
			for _, u := range strings.Fields(urls) {
				fitted = false
				if err := mux.Handle(t.Context(), visitOf(t, u)); err != nil || fitted != want {
					t.Errorf("%q, %s: %v, want %v", c.pattern, u, fitted, want)
				}
			}
		}
	}
}

func TestMuxPanicsOnMalformedPatterns(t *testing.T) {
	for _, p := range []string{
		"/{", "/{}", "/{...}", "/x{y}", "/{x}y", "/{x", "/{x...}/y", "/{$}/y", "/{x}/{x}", "/a?b", "*/", "*example/", "a*b.example/",
		"http://a.example/x", "/a#b", "{host}/",
	} {
		t.Run(p, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			new(crawler.Mux).On(p, func(context.Context, *crawler.Visit) error { return nil })
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic without a handler")
		}
	}()
	new(crawler.Mux).On("/", nil)
}

func TestMuxConditions(t *testing.T) {
	page := func(o crawler.Outcome, status int, typ string) *crawler.Visit {
		v := visitOf(t, "http://a.example/")
		v.Outcome, v.Page.Status, v.Page.ContentType = o, status, typ
		return v
	}
	refused := visitOf(t, "http://a.example/")
	refused.Outcome, refused.Page = crawler.Refused, nil
	visits := map[string]*crawler.Visit{
		"html": page(crawler.Fetched, 200, "text/html"), "png": page(crawler.Fetched, 206, "image/png"),
		"gone": page(crawler.Fetched, 410, "text/html"), "moved": page(crawler.Redirected, 301, "text/html"), "refused": refused,
	}
	for name, c := range map[string]struct {
		when []crawler.Condition
		fits string
	}{
		"nothing":             {nil, "html png"},
		"type":                {[]crawler.Condition{crawler.OfType("text/html")}, "html"},
		"types":               {[]crawler.Condition{crawler.OfType("text/plain", "image/*")}, "png"},
		"status":              {[]crawler.Condition{crawler.WithStatus(410, 206)}, "gone png"},
		"class":               {[]crawler.Condition{crawler.WithStatus(3, 4)}, "gone moved"},
		"outcome":             {[]crawler.Condition{crawler.WithOutcome(crawler.Refused, crawler.Redirected)}, "moved refused"},
		"outcome and type":    {[]crawler.Condition{crawler.WithOutcome(crawler.Fetched), crawler.OfType("text/html")}, "gone html"},
		"kind":                {[]crawler.Condition{crawler.OfKind(frontier.KindSitemap)}, ""},
		"when":                {[]crawler.Condition{crawler.When(func(v *crawler.Visit) bool { return v.Status() == 206 })}, "png"},
		"when, and no answer": {[]crawler.Condition{crawler.WithStatus(0)}, ""},
	} {
		var mux crawler.Mux
		var fits, rest []string
		now := ""
		mux.On("", func(context.Context, *crawler.Visit) error { fits = append(fits, now); return nil }, c.when...)
		mux.Else(func(context.Context, *crawler.Visit) error { rest = append(rest, now); return nil })
		for _, now = range []string{"gone", "html", "moved", "png", "refused"} {
			if err := mux.Handle(t.Context(), visits[now]); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]bool{}
		for _, w := range strings.Fields(c.fits) {
			want[w] = true
		}
		for _, f := range fits {
			if !want[f] {
				t.Errorf("%s: %s fits", name, f)
			}
		}
		if len(fits) != len(want) || len(fits)+len(rest) != len(visits) {
			t.Errorf("%s: fits %v, rest %v", name, fits, rest)
		}
	}
}

func TestMuxFirstRouteWins(t *testing.T) {
	var mux, inner crawler.Mux
	var got []string
	note := func(s string) crawler.HandlerFunc {
		return func(_ context.Context, v *crawler.Visit) error {
			got = append(got, s+" "+v.PathValue("x")+" "+v.PathValue("y")+v.PathValue("none"))
			return nil
		}
	}
	inner.On("/a/{y}", note("inner"))
	mux.On("/a/b", note("first"))
	mux.On("/a/{x}", func(ctx context.Context, v *crawler.Visit) error {
		return errors.Join(inner.Handle(ctx, v), note("outer")(ctx, v))
	})
	mux.On("/a/b", note("never"))
	for _, u := range []string{"/a/b", "/a/%C3%A9%2F", "/z"} {
		v := visitOf(t, "http://a.example"+u)
		if err := mux.Handle(t.Context(), v); err != nil {
			t.Error(err)
		}
		if v.PathValue("x") != "" {
			t.Error("the visit still has the route's values")
		}
	}
	same(t, got, "first  ", "inner é/ é/", "outer é/ ")
}

// TestMuxInACrawl: an error of a route's handler becomes the Mux's error and fails the visit.
func TestMuxInACrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/item/1", "/item/2", "/gone"))
		s.Page("/item/1", "")
		s.Page("/item/2", "")
		s.Page("/gone", "").Status(410)
		var mux crawler.Mux
		mux.On("/item/2", func(context.Context, *crawler.Visit) error { return errors.New("no") })
		mux.On("/item/{id}", func(_ context.Context, v *crawler.Visit) error { return v.Emit(v.PathValue("id")) })
		mux.On("", func(_ context.Context, v *crawler.Visit) error { return v.Emit(v.Status()) }, crawler.WithStatus(4))
		_, got := run(t, w, crawler.Config{Handler: &mux, Concurrency: 1}, s.URL("/"))
		same(t, got, "/ fetched", `/item/1 fetched "1"`, "/item/2 failed handler_error", "/gone fetched 410")
	})
}

// FuzzMuxPattern compares the paths that a pattern matches, and its values, with net/http. It ignores patterns that
// either package rejects, and paths that net/http would redirect.
func FuzzMuxPattern(f *testing.F) {
	for _, s := range [][2]string{
		{"/", "/"}, {"/a/{x}", "/a/b"}, {"/a/{x...}", "/a/b/c"}, {"/{x}/b/{$}", "/%C3%A9/b/"}, {"/a/", "/a"}, {"/%61", "/a"},
		{"/{x}", "/a%2Fb"}, {"/{", "/"}, {"h/{x}", "/"}, {"/{x}/{y...}", "/a/"}, {"/a%2fb/", "/a%2Fb/c"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		u, err := weburl.Parse("http://a.example/" + strings.TrimPrefix(path, "/"))
		if err != nil || !strings.HasPrefix(pattern, "/") {
			return
		}
		req, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil || strings.Contains(u.Path(), "//") || strings.Contains(req.URL.Path, "/.") || strings.Contains(req.URL.Path, "//") {
			return
		}
		theirs, ok := muxOf(func(found func(value func(string) string)) {
			mux := http.NewServeMux()
			mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) { found(r.PathValue) })
			mux.ServeHTTP(httptest.NewRecorder(), req)
		})
		if !ok {
			return
		}
		ours, ok := muxOf(func(found func(value func(string) string)) {
			var mux crawler.Mux
			mux.On(pattern, func(_ context.Context, v *crawler.Visit) error { found(v.PathValue); return nil })
			if err := mux.Handle(t.Context(), visitOf(t, u.String())); err != nil {
				t.Error(err)
			}
		})
		if ok && ours != theirs {
			t.Errorf("%q, %s: %q, net/http has %q", pattern, u, ours, theirs)
		}
	})
}

// muxOf returns the match of a mux's route: "" for none, otherwise the values of x and y. ok is false if the pattern is
// rejected.
func muxOf(serve func(found func(value func(string) string))) (s string, ok bool) {
	defer func() {
		x := recover()
		if err, bug := x.(runtime.Error); bug {
			panic(err)
		}
		ok = x == nil
	}()
	serve(func(value func(string) string) { s = "found " + value("x") + " " + value("y") })
	return s, true
}
