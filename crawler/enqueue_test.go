package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// repeats makes the auditor accept repeated requests that the handler asked for.
func repeats(w *crawltest.Web) {
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
}

func TestEnqueue(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
		s.Page("/dir/", `<base href="/other/">`+links("/link"))
		for _, p := range []string{"/link", "/other/low", "/other/high", "/next"} {
			s.Page(p, "")
		}
		var got []string
		h := func(_ context.Context, v *crawler.Visit) error {
			got = append(got, fmt.Sprintf("%s depth %d via %q meta %q", v.URL.Path(), v.Depth, v.Via.Path(), v.Meta))
			if v.Depth > 0 || v.Via != v.URL && !v.Via.IsZero() {
				return nil
			}
			meta := []byte("of low")
			err := errors.Join(
				v.Enqueue(crawler.Request{URL: "low", Priority: -1, Meta: meta}),
				v.Enqueue(crawler.Request{URL: "high", Priority: 9}),
				v.Enqueue(crawler.Request{URL: "/private/x"}),
				v.Enqueue(crawler.Request{URL: "/link", Meta: []byte("a link as well")}),
				v.Enqueue(crawler.Request{URL: s.URL("/next"), SameDepth: true, Priority: 1}),
				v.Enqueue(crawler.Request{URL: s.URL("/dir/")}), // the URL is already known, so nothing happens
			)
			copy(meta, "changed")
			return err
		}
		rep, _ := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Concurrency: 1}, s.URL("/dir/"))
		same(t, got,
			`/dir/ depth 0 via "" meta ""`,
			`/other/high depth 1 via "/dir/" meta ""`,
			`/next depth 0 via "/dir/" meta ""`,
			`/private/x depth 1 via "/dir/" meta ""`,
			`/link depth 1 via "/dir/" meta "a link as well"`,
			`/other/low depth 1 via "/dir/" meta "of low"`,
		)
		if rep.Pages != 5 || rep.Reasons["robots_disallow"] != 1 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestEnqueueIsJudged(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/deep", "/nofollow"))
		s.Page("/deep", "")
		s.Page("/nofollow", `<meta name=robots content=nofollow>`)
		s.Page("/x?q=1", "")
		s.Page("/y", "")
		fates := map[string]crawler.Fate{}
		h := func(_ context.Context, v *crawler.Visit) error {
			ask := func(ref string) {
				err := v.Enqueue(crawler.Request{URL: ref})
				var e *crawler.EnqueueError
				switch {
				case errors.As(err, &e):
					fates[v.URL.Path()+" "+ref] = e.Fate
					if e.Ref != ref || e.Rule == "" || (e.Fate == crawler.FateInvalid) != e.URL.IsZero() {
						t.Errorf("%+v", e)
					}
				case err != nil:
					t.Error(err)
				}
			}
			switch v.URL.Path() {
			case "/":
				for _, ref := range []string{"http://b.example/", "mailto:x@y.example", "/a/a/a/a", "/x?q=1", "/x?q=2", "/y", "/z"} {
					ask(ref)
				}
			case "/deep", "/nofollow":
				ask("/y?")
			}
			return nil
		}
		run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Limits: crawler.Limits{Depth: 1, LinksPerPage: 2}, Traps: crawler.Traps{Queries: 1}}, s.URL("/"))
		want := map[string]crawler.Fate{
			"/ http://b.example/": crawler.FateScope, "/ mailto:x@y.example": crawler.FateInvalid, "/ /a/a/a/a": crawler.FateTrap,
			"/ /x?q=2": crawler.FateTrap, "/ /z": crawler.FateLimit, "/deep /y?": crawler.FateDepth, "/nofollow /y?": crawler.FateNoFollow,
		}
		if fmt.Sprint(fates) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", fates, want)
		}
	})
}

// TestMetaArrives: a URL's metadata arrives with its visit, even after a wait, a redirect or a retry by the handler.
func TestMetaArrives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		s.Redirect("/moved", "/moved-again")
		s.Redirect("/moved-again", "/target")
		s.Page("/target", "").Fault(crawltest.RetryAfter(503, time.Second).First(1))
		s.Page("/seed", "")
		metas := map[string]string{}
		again := true
		h := func(_ context.Context, v *crawler.Visit) error {
			metas[v.URL.Path()] = string(v.Meta)
			switch v.URL.Path() {
			case "/":
				return v.Enqueue(crawler.Request{URL: "/moved", Meta: []byte("M")})
			case "/target":
				if again {
					again = false
					return crawler.Retry(nil)
				}
			}
			return nil
		}
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(h), Seeds: []crawler.Request{{URL: s.URL("/seed"), Meta: []byte("S")}},
		})
		repeats(w)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/"), s.URL("/seed")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"/": "", "/seed": "S", "/moved": "M", "/moved-again": "M", "/target": "M"}
		if fmt.Sprint(metas) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", metas, want)
		}
	})
}
