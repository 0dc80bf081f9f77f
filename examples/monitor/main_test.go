package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

const contact = "https://lab.university.edu/crawl"

// monitored runs the program on w and returns its exit code and what it printed.
func monitored(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-monitor", Contact: contact, AllowRepeats: true})
	time.Sleep(time.Minute) // virtual, between two runs: a new process does not know the pace of the previous one
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

const (
	seed = "https://site.example/"
	turn = time.Hour // time after which the site changes
)

// changing is a site whose content changes after an hour.
func changing(w *crawltest.Web) {
	s := w.Site("https://site.example")
	s.Page("/", `<title>Home</title><a href=/same>s</a> <a href=/text>t</a> <a href=/title>t</a> <a href=/gone>g</a> <a href=/unlinked>u</a> <a href=/moves>m</a> <a href=/ill>i</a> <a href=/missing>x</a>`)
	s.Page("/", `<title>Home</title><a href=/same>s</a> <a href=/text>t</a> <a href=/title>t</a> <a href=/gone>g</a> <a href=/born>b</a> <a href=/moves>m</a> <a href=/ill>i</a> <a href=/missing>x</a>`).At(turn)
	s.Page("/same", `<title>Same</title>`)
	s.Page("/text", `<title>Text</title>a`)
	s.Page("/text", `<title>Text</title>abc`).At(turn)
	s.Page("/title", `<title>Old</title>`)
	s.Page("/title", `<title>New</title>`).At(turn)
	s.Page("/gone", `here`)
	s.Page("/gone", ``).Status(410).At(turn)
	s.Page("/unlinked", `<title>Unlinked</title>`)
	s.Page("/moves", `<title>Here</title>`)
	s.Redirect("/moves", "/same").At(turn)
	s.Page("/ill", `<title>Ill</title>`).Fault(crawltest.Fail(500).From(turn).Until(2 * turn))
	s.Page("/born", `<title>Born</title>`).At(turn)
}

const differences = `changed     https://site.example/ (-4 bytes)
new         https://site.example/born "Born"
gone        https://site.example/gone (status 410)
unsure      https://site.example/ill (status 500)
moved       https://site.example/moves (to https://site.example/same)
changed     https://site.example/text (+2 bytes)
changed     https://site.example/title (title "New", was "Old")
gone        https://site.example/unlinked (no page links to it any more)
`

// wait lets the simulated web's time pass until d after its start.
func wait(w *crawltest.Web, d time.Duration) { time.Sleep(time.Until(w.Start().Add(d))) }

func TestWhatChanged(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		changing(w)
		file := filepath.Join(t.TempDir(), "state.jsonl")
		if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out != "" || errs != "first run: 9 pages\n" {
			t.Fatalf("exit %d, wrote %s, said %s", code, out, errs)
		}
		if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out+errs != "" {
			t.Errorf("nothing changed: exit %d, wrote %s, said %s", code, out, errs)
		}
		wait(w, turn)
		if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitChanged || out != differences || errs != "" {
			t.Errorf("exit %d, wrote\n%ssaid %s", code, out, errs)
		}
		wait(w, 2*turn)
		if code, out, _ := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out != "" {
			t.Errorf("a page that was ill and is back: exit %d, wrote\n%s", code, out)
		}
	})
}

// tagged answers like a server that supports ETags: with 304 if the client has the current version.
func tagged(tag, page string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}
}

// TestUnchangedPagesAreNotSentAgain checks that pages are requested conditionally, and that pages to which only unsent pages link are still
// compared.
func TestUnchangedPagesAreNotSentAgain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Handle("/", tagged(`"1"`, `<title>Home</title><a href=/list>l</a> <a href=/plain>p</a>`))
		s.Handle("/list", tagged(`"2"`, `<title>List</title><a href=/a>a</a> <a href=/b>b</a>`))
		s.Handle("/list", tagged(`"3"`, `<title>List</title><a href=/a>a</a> <a href=/c>c</a>`)).At(turn)
		s.Handle("/a", tagged(`"4"`, `<title>A</title>`))
		s.Handle("/b", tagged(`"5"`, `<title>B</title>`))
		s.Page("/c", `<title>C</title>`)
		s.Page("/plain", `<title>Plain</title>`)
		file := filepath.Join(t.TempDir(), "state.jsonl")
		statuses := func() (list string) {
			for _, r := range w.Requests() {
				list += fmt.Sprintf("%s %d\n", strings.TrimPrefix(r.URL, "https://site.example"), r.Status)
			}
			return list
		}
		monitored(t.Context(), w, "-state", file, seed)
		first := statuses()
		for range 2 { // robots.txt is still fresh; the state of a run with only 304 responses also serves the next run
			before := statuses()
			if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out+errs != "" {
				t.Errorf("nothing changed: exit %d, wrote %s, said %s", code, out, errs)
			}
			want := "/ 304\n/list 304\n/plain 200\n/a 304\n/b 304\n"
			if got := strings.TrimPrefix(statuses(), before); got != want {
				t.Errorf("requested\n%swant\n%s(first\n%s)", got, want, first)
			}
		}
		wait(w, turn)
		want := `gone        https://site.example/b (no page links to it any more)
new         https://site.example/c "C"
changed     https://site.example/list (+0 bytes)
`
		if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitChanged || out != want {
			t.Errorf("exit %d, wrote\n%ssaid %s", code, out, errs)
		}
	})
}

func TestUnchangedSite(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("https://site.example").Handle("/", tagged(`"1"`, `<title>Home</title>`))
		file := filepath.Join(t.TempDir(), "state.jsonl")
		monitored(t.Context(), w, "-state", file, seed)
		if code, out, errs := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out+errs != "" {
			t.Errorf("exit %d, wrote %s, said %s", code, out, errs)
		}
	})
}

func TestJSON(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		changing(w)
		file := filepath.Join(t.TempDir(), "state.jsonl")
		monitored(t.Context(), w, "-state", file, seed)
		wait(w, turn)
		_, out, _ := monitored(t.Context(), w, "-json", "-state", file, seed)
		if want := `{"kind":"new","url":"https://site.example/born","detail":"Born"}` + "\n"; strings.Count(out, "\n") != 8 || !strings.Contains(out, want) {
			t.Errorf("wrote\n%s", out)
		}
	})
}

func TestUnreachedPagesAreNotGone(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		changing(w)
		file := filepath.Join(t.TempDir(), "state.jsonl")
		monitored(t.Context(), w, "-state", file, seed)
		code, out, errs := monitored(t.Context(), w, "-state", file, "-max-pages", "2", seed)
		if code != exitSame || strings.Contains(out, "gone  ") || strings.Count(out, "not_reached") != 6 || !strings.Contains(errs, "max_pages") {
			t.Errorf("exit %d, wrote\n%ssaid %s", code, out, errs)
		}
		if code, out, _ := monitored(t.Context(), w, "-state", file, seed); code != exitSame || out != "" {
			t.Errorf("after it: exit %d, wrote\n%s", code, out)
		}
	})
}

func TestFailedRunKeepsTheState(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		changing(w)
		file := filepath.Join(t.TempDir(), "state.jsonl")
		monitored(t.Context(), w, "-state", file, seed)
		before, err := os.ReadFile(file)
		if err != nil || len(before) == 0 {
			t.Fatal(err)
		}
		wait(w, turn)
		ctx, stop := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer stop()
		if code, out, _ := monitored(ctx, w, "-state", file, seed); code != exitFailed || out != "" {
			t.Errorf("interrupted: exit %d, wrote %s", code, out)
		}
		if code, _, errs := monitored(t.Context(), w, "-state", file, "https://nowhere.example/"); code != exitFailed || !strings.Contains(errs, "no page of") {
			t.Errorf("another site: exit %d, said %s", code, errs)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the state changed (%v)", err)
		}
	})
}

func TestInvalidState(t *testing.T) {
	for _, text := range []string{"no JSON", `{"schema":"other/1","url":"https://site.example/"}`} {
		file := filepath.Join(t.TempDir(), "state.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"-contact", contact, "-state", file, seed}, &out, &errs, crawler.Config{}); code != exitFailed || !strings.Contains(errs.String(), file) {
			t.Errorf("%s: exit %d, said %s", text, code, &errs)
		}
	}
}

func TestUsage(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for args, code := range map[string]int{
		"-help":                         exitSame,
		"-state x":                      exitUsage,
		seed:                            exitUsage,
		"-state x -max-pages 0 " + seed: exitUsage,
		"-state x ftp://a.example/":     exitUsage,
		"-state x https://a.example/ https://b.b/": exitUsage,
		"-state " + none + " " + seed:              exitFailed, // the contact is missing
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}

// TestRunIsKept stores a run as a job, whose record can be verified.
func TestRunIsKept(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		changing(w)
		file, dir := filepath.Join(t.TempDir(), "state.jsonl"), filepath.Join(t.TempDir(), "run")
		if code, out, errs := monitored(t.Context(), w, "-state", file, "-o", dir, seed); code != exitSame || out != "" || errs != "first run: 9 pages\n" {
			t.Fatalf("exit %d, wrote %s, said %s", code, out, errs)
		}
		r, err := job.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		v, err := r.Verify()
		if err != nil || len(v.Violations) > 0 || v.Damaged() > 0 || v.Matching.Fault() != "" || v.Matching.Visits < 9 {
			t.Errorf("%+v, %v", v, err)
		}
		if code, _, errs := monitored(t.Context(), w, "-state", file, "-o", dir, seed); code != exitFailed || !strings.Contains(errs, "is not empty") {
			t.Errorf("exit %d, said %s", code, errs)
		}
	})
}
