package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job/export/corpus"
)

const contact = "https://lab.university.edu/crawl"

// made runs the program on a site with these pages, by path, and returns its exit code and the URLs and texts of the corpus.
func made(t *testing.T, set func(s *crawltest.Site)) (code int, texts map[string]string) {
	dir := filepath.Join(t.TempDir(), "birds")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		set(w.Site("https://site.example"))
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-corpus", Contact: contact})
		var base crawler.Config
		w.Apply(&base)
		var out, errs bytes.Buffer
		code = run(t.Context(), []string{"-contact", contact, "-o", dir, "https://site.example/"}, &out, &errs, base)
		if out.String() != dir+"-corpus\n" || errs.Len() > 0 {
			t.Errorf("wrote %q, said %q", &out, &errs)
		}
	})
	if v, err := corpus.Verify(dir + "-corpus"); err != nil || len(v.Differ) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	f, err := os.Open(filepath.Join(dir+"-corpus", "part-00000.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	texts = map[string]string{}
	for d := json.NewDecoder(z); d.More(); {
		var row struct{ URL, Text string }
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(row.URL, "https://site.example")] = row.Text
	}
	return code, texts
}

// A page that must not be used for training is in no corpus, whether robots.txt, a header or the page says so.
func TestPagesThatDisallowTrainingAreLeftOut(t *testing.T) {
	page := func(name string) string {
		return "<title>" + name + "</title><article><h1>" + name + "</h1><p>" + strings.Repeat("The text of the page "+name+" goes on. ", 8) + "</p></article>"
	}
	code, texts := made(t, func(s *crawltest.Site) {
		s.Robots("User-agent: *\nContent-Signal: /signal ai-train=no\nContent-Usage: /usage train-ai=n\nDisallow: /private\n").Forbids("/private")
		s.Page("/", page("home")+`<a href=/plain>1</a> <a href=/private>1</a> <a href=/signal>1</a> <a href=/usage>1</a> <a href=/header>1</a> <a href=/noai>1</a> <a href=/tdm>1</a> <a href=/search>1</a>`)
		for _, name := range []string{"plain", "private", "signal", "usage"} {
			s.Page("/"+name, page(name))
		}
		s.Page("/header", page("header")).Header("Content-Usage", "train-ai=n")
		s.Page("/noai", `<meta name=robots content=noai>`+page("noai"))
		s.Page("/tdm", page("tdm")).Header("Tdm-Reservation", "1")
		s.Page("/search", page("search")).Header("Content-Signal", "search=no")
	})
	var got []string
	for path, text := range texts {
		if got = append(got, path); !strings.Contains(text, "goes on.") {
			t.Errorf("%s: %q", path, text)
		}
	}
	if slices.Sort(got); code != 0 || !slices.Equal(got, []string{"/", "/plain", "/search"}) {
		t.Errorf("exit %d, the corpus has %q", code, got)
	}
}

func TestUsage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	for args, code := range map[string]int{
		"-help":             0,
		"":                  2,
		"-o " + dir:         2,
		"https://a.example": 2,
		"-max-pages 0 -o " + dir + " https://a.example": 2,
		"-o " + dir + " https://a.example":              1, // the contact is missing
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
