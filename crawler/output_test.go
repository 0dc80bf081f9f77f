package crawler_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

func TestBodiesNobodyParsesAreReadWhenSomebodyLooks(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", strings.Repeat("x", 200_000)).Type("application/pdf")
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil || len(v.Page.Body) != 200_000 {
				t.Error(v, err)
			}
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", strings.Repeat("x", 200_000)).Type("application/pdf")
		var out bytes.Buffer
		cr, err := crawler.New(config(w, crawler.Config{Sinks: []sink.Sink{sink.NewJSONL(&out)}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil || !strings.Contains(out.String(), `"truncated":"unwanted"`) {
			t.Error(err, out.String())
		}
	})
}

func TestArchive(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /no\n").Forbids("/no*")
		s.Page("/", links("/moved", "/no", "/pdf"))
		s.Redirect("/moved", "/to")
		s.Page("/to", "here").Fault(crawltest.Fail(503).First(1))
		s.Page("/pdf", strings.Repeat("x", 100_000)).Type("application/pdf")
		dir := t.TempDir()
		arc, err := warc.Open(dir, warc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cr, err := crawler.New(config(w, crawler.Config{Sinks: []sink.Sink{arc, sink.NewJSONL(&out)}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		if err := arc.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		index, err := filepath.Glob(filepath.Join(dir, "*.cdxj"))
		if err != nil || len(index) != 1 {
			t.Fatal(index, err)
		}
		text, err := os.ReadFile(index[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"/robots.txt", "/moved", `"status": "503"`, "/pdf"} {
			if !strings.Contains(string(text), strings.TrimPrefix(want, "http://a.example")) && !strings.Contains(string(text), strings.ReplaceAll(want, ": ", ":")) {
				t.Errorf("no %s in the index:\n%s", want, text)
			}
		}
		if n := strings.Count(out.String(), `"warc":{"file":`); n != 4 {
			t.Errorf("%d visits name their place in the archive, want 4:\n%s", n, out.String())
		}
	})
}
