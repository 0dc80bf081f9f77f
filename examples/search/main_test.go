package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const (
	contact = "https://lab.university.edu/crawl"
	seed    = "https://site.example/"
)

// indexed runs "search index" on w and returns its exit code and messages.
func indexed(ctx context.Context, w *crawltest.Web, args ...string) (code int, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-search", Contact: contact, AllowRepeats: true})
	time.Sleep(time.Minute) // virtual, between two runs: a new process does not know the pauses of the previous one
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"index", "-contact", contact}, args...), &out, &errs, cfg)
	return code, errs.String()
}

// query runs "search query" and returns the exit code and what it printed.
func query(t *testing.T, args ...string) (code int, stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"query"}, args...), &out, &errs, crawler.Config{})
	if code > exitNothing {
		t.Errorf("query %q: exit %d, said %s", args, code, &errs)
	}
	return code, out.String()
}

// urls returns the addresses of the pages that contain the words, in order.
func urls(t *testing.T, args ...string) string {
	t.Helper()
	_, out := query(t, append([]string{"-json"}, args...)...)
	var list []string
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r result
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimPrefix(r.URL, seed))
	}
	return strings.Join(list, " ")
}

const turn = time.Hour // time after which the site changes

func site(w *crawltest.Web) {
	s := w.Site("https://site.example")
	s.Robots("User-agent: *\nContent-Signal: /unsearched search=no\nDisallow: /private\n").Forbids("/private")
	s.Page("/", `<title>Home</title><nav>everywhere</nav><a href=/herons>h</a> <a href=/ponds>p</a> <a href=/copy>c</a> <a href=/hidden>h</a> <a href=/private>p</a> <a href=/unsearched>u</a> <a href=/header>h</a> <a href=/gone>g</a> <a href=/list.txt>l</a>`)
	s.Page("/herons", `<title>Herons</title><script>var everywhere</script><p>Grey b<i>ir</i>ds that stand still.<p> A heron eats <b>fish</b>, frogs and voles.</p>`)
	s.Page("/ponds", `<title>Ponds</title><p>Many frogs, some fish, and now and then a heron. Café by the water.`)
	s.Page("/copy", `<title>Ponds</title><p>Many frogs, some fish, and now and then a heron. Café by the water.`)
	s.Page("/hidden", `<title>Hidden</title><meta name=robots content=noindex><p>heron`)
	s.Page("/unsearched", `<title>Unsearched</title><p>heron`)
	s.Page("/header", `<title>Header</title><p>heron`).Header("Content-Signal", "search=no")
	s.Page("/private", `heron`)
	s.Page("/gone", `<title>Gone</title><p>newts`)
	s.Page("/gone", ``).Status(http.StatusGone).At(turn)
	s.Page("/list.txt", `heron`).Type("text/plain")
	s.Page("/ponds", `<title>Ponds</title><p>Dry since June.`).At(turn)
	s.Page("/herons", `<title>Herons</title><p>fish, frogs`).Header("Content-Signal", "search=no").At(turn)
	s.Page("/copy", `<title>Ponds</title><p>Dry since June.`).At(turn)
}

func TestPagesAreFound(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "index")
		if code, errs := indexed(t.Context(), w, dir, seed); code != exitOK || !strings.Contains(errs, "4 put into the index") || !strings.Contains(errs, "the index has 4") {
			t.Fatalf("exit %d, said %s", code, errs)
		}
		for words, want := range map[string]string{
			"heron":       "herons ponds", // the words of the title count
			"FROGS":       "herons ponds",
			"frogs voles": "herons",
			"cafe":        "ponds",
			"bird*":       "herons",
			"her*":        "herons ponds",
			"bird":        "",
			"everywhere":  "", // navigation and scripts do not count
			"newts":       "gone",
		} {
			got := urls(t, append([]string{dir}, strings.Fields(words)...)...)
			if !sameSet(got, want) {
				t.Errorf("%s: %q, want %q", words, got, want)
			}
		}
		if got := urls(t, dir, "heron eats"); got != "herons" {
			t.Errorf("the phrase is on %q", got)
		}
		if got := urls(t, dir, "herons OR newts"); got != "" {
			t.Errorf("an operator in a phrase: %q", got)
		}
	})
}

// sameSet reports whether two lists hold the same words.
func sameSet(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	in := map[string]int{}
	for _, w := range x {
		in[w]++
	}
	for _, w := range y {
		in[w]--
	}
	for _, n := range in {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestTheTitleCountsForMore(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<title>Home</title><a href=/a>a</a> <a href=/b>b</a>`)
		s.Page("/a", `<title>Ponds</title><p>newts and newts and newts`)
		s.Page("/b", `<title>Newts</title><p>there are some in the water`)
		dir := t.TempDir()
		indexed(t.Context(), w, dir, seed)
		if got := urls(t, dir, "newts"); got != "b a" {
			t.Errorf("%q, want the one with the title first", got)
		}
	})
}

// TestPagesThatExcludeSearchAreLeftOut checks the ways in which a site can exclude search: by robots.txt, which prevents the request for
// the page, by a header, and by noindex.
func TestPagesThatExcludeSearchAreLeftOut(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := t.TempDir()
		indexed(t.Context(), w, dir, seed)
		for _, word := range []string{"hidden", "unsearched", "header"} {
			if got := urls(t, dir, word); got != "" {
				t.Errorf("found %q", got)
			}
		}
		w.MustNotRequest(seed+"unsearched", seed+"private")
		w.MustRequest(seed+"hidden", seed+"header")
	})
}

func TestAnIndexFollowsItsSite(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := t.TempDir()
		indexed(t.Context(), w, dir, seed)
		time.Sleep(time.Until(w.Start().Add(turn)))
		if code, errs := indexed(t.Context(), w, dir, seed); code != exitOK || !strings.Contains(errs, "2 taken out") || !strings.Contains(errs, "the index has 2") {
			t.Fatalf("exit %d, said %s", code, errs)
		}
		if got := urls(t, dir, "newts"); got != "" {
			t.Errorf("a page that is gone is found: %q", got)
		}
		if got := urls(t, dir, "frogs"); got != "" {
			t.Errorf("an old text, or what is not for search any more, is found: %q", got)
		}
		if got := urls(t, dir, "june"); got != "ponds" {
			t.Errorf("the new text is on %q", got)
		}
	})
}

func TestInterruptedIndexKeepsWhatWasRead(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := t.TempDir()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+2500*time.Millisecond)
		defer stop()
		if code, errs := indexed(ctx, w, dir, seed); code != exitNothing || !strings.Contains(errs, "drained") {
			t.Errorf("exit %d, said %s", code, errs)
		}
		if got := urls(t, dir, "fish"); got != "herons" {
			t.Errorf("found %q", got)
		}
	})
}

func TestResultsForAPerson(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", "<title>Esc\x1b]0;ape</title><p>One word and another \x07word")
		dir := t.TempDir()
		indexed(t.Context(), w, dir, seed)
		code, out := query(t, dir, "word")
		if want := "1. Esc ]0;ape\n   https://site.example/\n   One [word] and another  [word]\n"; code != exitOK || out != want {
			t.Errorf("exit %d, printed %q, want %q", code, out, want)
		}
	})
}

func TestUsage(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for args, code := range map[string]int{
		"":                                  exitUsage,
		"-help":                             exitOK,
		"index -help":                       exitOK,
		"query -help":                       exitOK,
		"find x":                            exitUsage,
		"index " + none:                     exitUsage,
		"index -max-pages 0 " + none + " x": exitUsage,
		"index " + none + " " + seed:        exitFailed, // the contact is missing
		"query " + none:                     exitUsage,
		"query -n 0 " + none + " x":         exitUsage,
		"query " + none + "2 word":          exitFailed,
		"query " + none + " ***":            exitFailed,
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
