package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

const contact = "https://lab.university.edu/crawl"

// archived runs the program on w and returns its exit code and what it printed.
func archived(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-archive", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

const (
	seed   = "https://site.example/"
	robots = "User-agent: *\nDisallow: /private/\n"
)

// site makes a site with pages, an image, a redirect, a missing page and a forbidden one.
func site(w *crawltest.Web) {
	s := w.Site("https://site.example")
	s.Robots(robots).Forbids("/private/*")
	s.Page("/", `<title>Home</title><img src=/logo.png><a href=/a>a</a> <a href=/old>o</a> <a href=/missing>m</a> <a href=/private/x>p</a> <a href=https://other.example/>x</a>`)
	s.Page("/a", `<title>A</title>the same words`)
	s.Page("/copy", `<title>A</title>the same words`)
	s.Redirect("/old", "/copy")
	s.Page("/logo.png", "\x89PNG\r\n\x1a\nnot much of a picture").Type("image/png")
	w.Site("https://other.example").Page("/", "not ours")
}

// read returns the manifest of an archive.
func read(t *testing.T, dir string) *job.Manifest {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestArchiveHasAllAnswers reads the archive with an independent reader, and checks every digest and index line.
func TestArchiveHasAllAnswers(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		if code, out, errs := archived(t.Context(), w, "-o", dir, seed); code != exitWhole || !strings.Contains(out, "5 pages in 7 requests, 0 URLs left (done)") || errs != "" {
			t.Fatalf("exit %d, wrote %s, said %s", code, out, errs)
		}
		records, err := warctest.Read(filepath.Join(dir, "warc"))
		if err != nil {
			t.Fatal(err)
		}
		got := warctest.Answers(records)
		slices.Sort(got)
		want := []string{seed, seed + "a", seed + "copy", seed + "logo.png", seed + "missing", seed + "old", seed + "robots.txt"}
		if !slices.Equal(got, want) {
			t.Errorf("answers of %q, want %q", got, want)
		}
		for _, r := range records {
			switch uri := r.Get("WARC-Target-URI"); {
			case uri == seed+"logo.png" && r.Type() == "response" && string(r.Payload()) != "\x89PNG\r\n\x1a\nnot much of a picture":
				t.Errorf("the picture is %q", r.Payload())
			case uri == seed+"robots.txt" && r.Type() == "response" && string(r.Payload()) != robots:
				t.Errorf("robots.txt is %q", r.Payload())
			}
		}
		if other := w.Visited("other.example"); len(other) != 0 {
			t.Errorf("asked another host for %s", strings.Join(other, " "))
		}
	})
}

// TestVisitsNameTheirPlace checks that each visit's line names the place of its response in the archive.
func TestVisitsNameTheirPlace(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		archived(t.Context(), w, "-o", dir, seed)
		records, err := warctest.Read(filepath.Join(dir, "warc"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "visits.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
			var v sink.Record
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			if v.Outcome == "refused" {
				if v.WARC != nil {
					t.Errorf("%s was refused and is in the archive", v.URL)
				}
				continue
			}
			stored++
			if !slices.ContainsFunc(records, func(r *warctest.Record) bool {
				return v.WARC != nil && r.IsAnswer() && r.File == v.WARC.File && r.Offset == v.WARC.Offset && r.Get("WARC-Target-URI") == v.URL
			}) {
				t.Errorf("%s is not at %+v", v.URL, v.WARC)
			}
		}
		if stored != 6 {
			t.Errorf("%d visits have an answer, want 6", stored)
		}
	})
}

func TestManifestSaysHowItWasMade(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		archived(t.Context(), w, "-o", dir, "-name", "Autumn", "-operator", "A Library", seed)
		m := read(t, dir)
		if m.Settings["contact"] != contact || !slices.Equal(m.Seeds, []string{seed}) || m.Finish != "done" || m.Last().Requests != 7 || m.Created.IsZero() || m.Settings["delay"] != "1s" {
			t.Errorf("%+v", m)
		}
		bodies, err := filepath.Glob(filepath.Join(dir, "robots", "*.txt"))
		if err != nil || len(bodies) != 1 {
			t.Fatalf("robots %q (%v)", bodies, err)
		}
		if kept, err := os.ReadFile(bodies[0]); err != nil || string(kept) != robots {
			t.Errorf("kept %q (%v)", kept, err)
		}
		for _, want := range []string{"ledger.jsonl", "visits.jsonl", "robots/index.jsonl"} {
			if m.Outputs[want].SHA256 == "" {
				t.Errorf("%s is not listed in %v", want, m.Outputs)
			}
		}
		archives, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
		if err != nil || len(archives) == 0 {
			t.Fatal(archives, err)
		}
		records, err := warctest.Read(filepath.Join(dir, "warc"))
		if err != nil || !strings.Contains(string(records[0].Payload()), "isPartOf: Autumn") || !strings.Contains(string(records[0].Payload()), "operator: A Library") {
			t.Errorf("%s, %v", records[0].Payload(), err)
		}
	})
}

func TestCheckFindsDifferences(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		archived(t.Context(), w, "-o", dir, seed)
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"-check", dir}, &out, &errs, crawler.Config{}); code != exitWhole || !strings.Contains(out.String(), " 0 damaged; 7 requests, 0 violations") {
			t.Errorf("exit %d, wrote %s, said %s", code, &out, &errs)
		}
		if err := os.WriteFile(filepath.Join(dir, "visits.jsonl"), []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if code := run(t.Context(), []string{"-check", dir}, &out, &errs, crawler.Config{}); code != exitPart || !strings.Contains(out.String(), `damaged "visits.jsonl": it ends at byte 3`) {
			t.Errorf("exit %d, wrote %s", code, &out)
		}
	})
}

// TestCheckFindsRequestsThatCameTooSoon claims a longer delay than the crawl kept: check must report the requests that came too soon.
func TestCheckFindsRequestsThatCameTooSoon(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		archived(t.Context(), w, "-o", dir, seed)
		if err := os.WriteFile(filepath.Join(dir, "politeness.json"), []byte(`{"product":"amble-archive","user_agent":"amble-archive (+https://lab.university.edu/crawl)","delay_s":30}`), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"-check", dir}, &out, &errs, crawler.Config{}); code != exitPart || !strings.Contains(out.String(), "impolite: ") {
			t.Errorf("exit %d, wrote %s, said %s", code, &out, &errs)
		}
	})
}

func TestPartOfASiteSaysSo(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		if code, out, _ := archived(t.Context(), w, "-o", dir, "-max-pages", "2", seed); code != exitPart || !strings.Contains(out, "(max_pages)") {
			t.Errorf("exit %d, wrote %s", code, out)
		}
		if m := read(t, dir); m.Last().Left == 0 || m.Finish != "max_pages" {
			t.Errorf("%+v", m)
		}
	})
}

func TestInterruptedArchiveIsClosed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site(w)
		dir := filepath.Join(t.TempDir(), "site")
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		if code, out, errs := archived(ctx, w, "-o", dir, seed); code != exitPart || errs != "" {
			t.Errorf("exit %d, wrote %s, said %s", code, out, errs)
		}
		if _, err := warctest.Read(filepath.Join(dir, "warc")); err != nil {
			t.Error(err)
		}
		if m := read(t, dir); m.Finish != "drained" || m.Last().Left == 0 {
			t.Errorf("%+v", m)
		}
	})
}

func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-contact", contact, "-o", dir, seed}, &out, &errs, crawler.Config{}); code != exitFailed || !strings.Contains(errs.String(), dir) {
		t.Errorf("exit %d, said %s", code, &errs)
	}
}

func TestWithoutContactNothingIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-o", dir, seed}, &out, &errs, crawler.Config{}); code != exitFailed || !strings.Contains(errs.String(), "contact is empty") {
		t.Errorf("exit %d, said %s", code, &errs)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s was made", dir)
	}
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                     exitWhole,
		seed:                        exitUsage,
		"-o x":                      exitUsage,
		"-check x " + seed:          exitUsage,
		"-o x -max-pages 0 " + seed: exitUsage,
		"-o x ftp://a.example/":     exitUsage,
		"-check /none":              exitFailed,
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
