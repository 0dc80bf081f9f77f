package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// linkcheck runs the program on w and returns its exit code and what it printed.
func linkcheck(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-linkcheck", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

// checked runs it with -json and returns the report.
func checked(t *testing.T, w *crawltest.Web, args ...string) (int, report) {
	t.Helper()
	code, out, errs := linkcheck(t.Context(), w, append([]string{"-json"}, args...)...)
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s %s", err, out, errs)
	}
	return code, r
}

// reasons maps the URLs of problems to reason and number of places.
func reasons(list []problem) map[string]string {
	m := map[string]string{}
	for _, p := range list {
		m[strings.TrimPrefix(p.URL, "https://site.example")] = p.Reason
	}
	return m
}

func equal[K comparable, V comparable](t *testing.T, what string, got, want map[K]V) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v\nwant %v", what, got, want)
	}
}

func TestLinksOfTheSite(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		code, r := checked(t, w, "https://site.example/")
		equal(t, "broken", reasons(r.Broken), map[string]string{
			"/gone": "http_404", "/gone?from=deep": "http_404", "/moved-to-gone": "http_404", "/loop": "redirect_loop",
			"/broken-server": "http_500", "https://[bad/": "url_syntax",
		})
		equal(t, "unsure", reasons(r.Unsure), map[string]string{"/login": "http_401"})
		equal(t, "unchecked", r.Unchecked, map[string]int{"external": 4, "robots_disallow": 1, "nofollow": 1, "url_credentials": 1})
		if code != exitBroken || r.Pages != 3 || r.Good != 4 || r.Links != 18 || r.Finish != crawler.FinishDone {
			t.Errorf("exit %d, %+v", code, r)
		}
		for _, host := range []string{"other.example", "nowhere.example", "fonts.example"} {
			if got := w.Visited(host); len(got) != 0 {
				t.Errorf("requested %v", got)
			}
		}
		if got := w.Visited(""); slices.Contains(got, "https://site.example/linked-from-an-error-page") || slices.Contains(got, "https://site.example/lost.png") {
			t.Errorf("requested %v", got)
		}
	})
}

func TestEveryPlaceIsNamedOnce(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		_, r := checked(t, w, "https://site.example/")
		for _, p := range r.Broken {
			if p.URL != "https://site.example/gone" {
				continue
			}
			want := []place{{"https://site.example/", "a"}, {"https://site.example/", "area"}, {"https://site.example/good", "a"}}
			if !slices.Equal(p.On, want) {
				t.Errorf("/gone is on %v, want %v", p.On, want)
			}
		}
	})
}

func TestRedirectsAreJudgedByTheirEnd(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		_, r := checked(t, w, "https://site.example/")
		for _, p := range r.Broken {
			want := map[string][]string{
				"https://site.example/moved-to-gone": {"https://site.example/hop", "https://site.example/gone"},
				"https://site.example/loop":          {"https://site.example/loop2"}, // which leads back
			}[p.URL]
			if !slices.Equal(p.Redirects, want) {
				t.Errorf("%s: redirects %v, want %v", p.URL, p.Redirects, want)
			}
		}
	})
}

func TestExternalLinks(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		_, r := checked(t, w, "-external", "https://site.example/")
		got := reasons(r.Broken)
		if got["https://other.example/gone"] != "http_404" || got["https://nowhere.example/"] != "dns_not_found" || r.Unchecked["external"] != 0 {
			t.Errorf("broken %v, unchecked %v", got, r.Unchecked)
		}
		want := []string{"https://other.example/robots.txt", "https://other.example/", "https://other.example/gone"}
		if got := w.Visited("other.example"); !slices.Equal(got, want) {
			t.Errorf("requested %v, want %v: each once, and nothing they link to", got, want)
		}
		if got := w.Visited("fonts.example"); len(got) != 0 {
			t.Errorf("requested %v", got)
		}
	})
}

func TestExternalLinksThatRobotsForbids(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		o := w.Site("https://other.example")
		o.Robots("User-agent: *\nDisallow: /\n").Forbids("/*")
		s := w.Site("https://site.example")
		s.Page("/", `<a href="https://other.example/x">x</a>`)
		code, r := checked(t, w, "-external", s.URL("/"))
		equal(t, "unchecked", r.Unchecked, map[string]int{"robots_disallow": 1})
		if code != exitClean || r.Good != 1 {
			t.Errorf("exit %d, %+v", code, r)
		}
	})
}

func TestResources(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		_, r := checked(t, w, "-resources", "-nofollow", "https://site.example/")
		got := reasons(r.Broken)
		if got["/lost.png"] != "http_404" || got["/more.css"] != "http_404" || got["/ad"] != "http_410" || len(got) != 9 {
			t.Errorf("broken %v", got)
		}
		for _, p := range r.Broken {
			want := []place{{"https://site.example/", "img"}, {"https://site.example/style.css", "style"}}
			if p.URL == "https://site.example/lost.png" && !slices.Equal(p.On, want) {
				t.Errorf("%s is on %v, want %v", p.URL, p.On, want)
			}
		}
	})
}

func TestPreconnectIsNotALink(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		checked(t, w, "-resources", "-external", "https://site.example/")
		for _, l := range w.Lookups() {
			if l.Name == "fonts.example" {
				t.Error("fonts.example was looked up")
			}
		}
	})
}

func TestOnlyTheBeginningOfLargeFilesIsRead(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href="/film">x</a>`)
		s.Page("/film", strings.Repeat("film", 1<<20)).Type("video/mp4")
		_, r := checked(t, w, s.URL("/"))
		for _, q := range w.Requests() {
			if q.URL == s.URL("/film") && (q.Complete || q.Bytes > 1<<20) {
				t.Errorf("%d bytes of the film were sent", q.Bytes)
			}
		}
		if r.Good != 2 || len(r.Broken) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestText(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href="/old">x</a><a href="/login">x</a><a href="https://other.example/">x</a><a href="https://[&#27;/">x</a>`)
		s.Redirect("/old", "/gone")
		s.Page("/login", "").Status(403)
		code, out, errs := linkcheck(t.Context(), w, s.URL("/"))
		want := `"https://[\x1b/"
    url_syntax
    on https://site.example/ (a)

https://site.example/old
    redirects to https://site.example/gone
    404 Not Found
    on https://site.example/ (a)

Could not be decided:

https://site.example/login
    403 Forbidden
    on https://site.example/ (a)

pages 1, links 5: 1 good, 2 broken, 1 could not be decided; not checked: 1 external
`
		if out != want || errs != "" || code != exitBroken {
			t.Errorf("exit %d, said %q, wrote\n%s", code, errs, out)
		}
	})
}

func TestLongListsOfPlacesAreCut(t *testing.T) {
	p := problem{URL: "https://site.example/x", Reason: "http_404", Status: 404}
	for range 25 {
		p.On = append(p.On, place{"https://site.example/", "a"})
	}
	var b strings.Builder
	p.text(&b)
	if got := strings.Count(b.String(), "\n    on "); got != mostPlaces || !strings.Contains(b.String(), "and in 15 more places") {
		t.Errorf("wrote\n%s", b.String())
	}
}

func TestCleanSite(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href="/b#top">x</a>`)
		s.Page("/b", `<a href="/">x</a>`)
		code, out, _ := linkcheck(t.Context(), w, s.URL("/"))
		if want := "pages 2, links 2: 2 good, 0 broken, 0 could not be decided\n"; code != exitClean || out != want {
			t.Errorf("exit %d, wrote %q", code, out)
		}
	})
}

func TestUnfinishedChecks(t *testing.T) {
	for _, c := range []struct {
		name, says string
		code       int
		args       []string
		after      time.Duration
		build      func(s *crawltest.Site)
	}{
		{"limit", "not the whole site: ended by max_pages with 1 URLs left", exitBroken, []string{"-max-pages", "2"}, time.Hour, func(s *crawltest.Site) {
			s.Page("/", `<a href="/gone">x</a><a href="/b">x</a>`)
		}},
		{"interrupted", "context deadline exceeded", exitFailed, nil, 2500 * time.Millisecond, func(s *crawltest.Site) {
			s.Page("/", `<a href="/gone">x</a><a href="/b">x</a>`)
		}},
		{"forbidden", "no page of https://site.example could be read", exitFailed, nil, time.Hour, func(s *crawltest.Site) {
			s.Robots("User-agent: *\nDisallow: /\n").Forbids("/*")
		}},
		{"seed gone", "no page of https://site.example could be read", exitFailed, nil, time.Hour, func(*crawltest.Site) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("https://site.example")
				c.build(s)
				ctx, stop := context.WithTimeout(t.Context(), c.after)
				defer stop()
				code, out, errs := linkcheck(ctx, w, append(c.args, s.URL("/"))...)
				if code != c.code || !strings.Contains(out+errs, c.says) {
					t.Errorf("exit %d, said %s, wrote\n%s", code, errs, out)
				}
			})
		})
	}
}

// TestOurFailuresProveNothing checks that failures of this machine prove nothing about a link.
func TestOurFailuresProveNothing(t *testing.T) {
	for reason, want := range map[string]verdict{
		"no_resources": unsure, "panic": unsure, "canceled": unsure,
		"dns_not_found": broken, "tls_expired": broken, "connect_refused": broken, "redirect_limit": broken,
	} {
		if got := judge(&crawler.Visit{Outcome: crawler.Failed, Reason: reason}).verdict; got != want {
			t.Errorf("%s: verdict %d, want %d", reason, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                                 exitClean,
		"":                                      exitUsage,
		"https://a.example/ https://b.example/": exitUsage,
		"-no-such-flag https://a.example/":      exitUsage,
		"ftp://a.example/":                      exitUsage,
		"-max-pages 0 https://a.example/":       exitUsage,
		"-external -delay 200ms https://a.example/": exitUsage,
		"https://a.example/":                        exitFailed, // no contact
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
