package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// watched runs the program on w and returns its exit code and what it printed.
func watched(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-feed-watcher", Contact: contact, AllowRepeats: true})
	time.Sleep(time.Minute) // virtual, between two runs
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

// rss returns a feed with these entries.
func rss(names ...string) string {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>Feed</title>`)
	for _, n := range names {
		fmt.Fprintf(&b, "<item><title>%s</title><link>https://site.example/%s</link></item>", strings.ToUpper(n), n)
	}
	return b.String() + "</channel></rss>"
}

const seed = "https://site.example/"

// blog returns a site with a feed that gets a new entry after an hour.
func blog(w *crawltest.Web) *crawltest.Site {
	s := w.Site("https://site.example")
	s.Robots("User-agent: *\nDisallow: /secret\n").Forbids("/secret")
	s.Page("/", `<link rel=alternate type="application/rss+xml" href=/feed><link rel=alternate hreflang=de href=/de> <a href=/a>a</a>`)
	s.Page("/feed", rss("b", "a")).Type("application/rss+xml")
	s.Page("/feed", rss("c", "b")).Type("application/rss+xml").At(time.Hour)
	s.Page("/feed", rss("d", "c", "a")).Type("application/rss+xml").At(2 * time.Hour)
	return s
}

func TestNewEntries(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		blog(w)
		file := filepath.Join(t.TempDir(), "feeds.json")
		for i, want := range []string{"", "https://site.example/c \"C\"\n", "https://site.example/d \"D\"\n"} {
			time.Sleep(time.Until(w.Start().Add(time.Duration(i) * time.Hour)))
			for _, want := range []string{want, ""} {
				if code, out, errs := watched(t.Context(), w, "-state", file, seed); code != 0 || out != want || errs != "" {
					t.Errorf("hour %d: exit %d, wrote %q, want %q, said %s", i, code, out, want, errs)
				}
			}
		}
		w.MustNotRequest("https://site.example/a", "https://site.example/c", "https://site.example/de")
	})
}

func TestAllOfANewFeed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		blog(w)
		_, out, _ := watched(t.Context(), w, "-all", "-json", "-state", filepath.Join(t.TempDir(), "feeds.json"), "https://site.example/feed")
		var first item
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&first); err != nil || strings.Count(out, "\n") != 2 ||
			first != (item{"https://site.example/feed", "https://site.example/b", "B"}) {
			t.Errorf("%v: %s", err, out)
		}
	})
}

func TestUnchangedFeedIsNotSentAgain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var conditions []string
		w.Site("https://site.example").Handle("/feed", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			conditions = append(conditions, r.Header.Get("If-None-Match"))
			rw.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			rw.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(rw, rss("a"))
		}))
		file := filepath.Join(t.TempDir(), "feeds.json")
		for range 3 {
			if code, out, errs := watched(t.Context(), w, "-state", file, "https://site.example/feed"); code != 0 || out+errs != "" {
				t.Errorf("exit %d, wrote %s, said %s", code, out, errs)
			}
		}
		if got := fmt.Sprint(conditions); got != `[ "1" "1"]` {
			t.Errorf("asked with %s", got)
		}
	})
}

func TestFeedThatFailsKeepsItsState(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := blog(w)
		file := filepath.Join(t.TempDir(), "feeds.json")
		watched(t.Context(), w, "-state", file, seed)
		s.Page("/feed", "").Status(404)
		if code, _, errs := watched(t.Context(), w, "-state", file, seed); code != 1 || !strings.Contains(errs, "/feed: status 404") {
			t.Errorf("exit %d, said %s", code, errs)
		}
		s.Page("/feed", rss("x", "b")).Type("text/xml")
		if code, out, _ := watched(t.Context(), w, "-state", file, seed); code != 0 || out != "https://site.example/x \"X\"\n" {
			t.Errorf("exit %d, wrote %s", code, out)
		}
	})
}

func TestPagesThatAreNotFeeds(t *testing.T) {
	for path, says := range map[string]string{"/secret": "robots_disallow", "/text": "neither a page nor a feed", "/xml": "neither a page nor a feed"} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := blog(w)
			s.Page("/text", "text").Type("text/plain")
			s.Page("/xml", "<x/>").Type("text/xml")
			code, _, errs := watched(t.Context(), w, "-state", filepath.Join(t.TempDir(), "s"), "https://site.example"+path)
			if code != 1 || !strings.Contains(errs, says) {
				t.Errorf("%s: exit %d, said %s", path, code, errs)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                         0,
		"-state x":                      2,
		seed:                            2,
		"-state x ftp://a.example/":     2,
		"-state x -max-pages 0 " + seed: 2,
		"-state /no/such/file " + seed:  1, // the contact is missing
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
