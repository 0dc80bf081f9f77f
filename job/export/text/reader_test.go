package text_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
)

// Texts that are written while pages are crawled are those of the export, without what needs the whole crawl. A page that the crawl is
// refused has none.
func TestTextsWhileCrawlingAreThoseOfTheExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site := w.Site("https://birds.example")
		birds(site)
		site.Page("/", herons+`<a href=/paper>paper</a> <a href=/gone>gone</a>`)
		site.Page("/paper", "x").Header("Content-Type", "text/plain")
		config := job.Config{Archive: true, Text: true, TextReader: text.Reader(nil)}
		config.Crawl.Contact, config.Crawl.Politeness.Purposes = exporttest.Contact, []consent.Purpose{consent.TrainAI}
		w.Apply(&config.Crawl)
		j, err := job.Create(dir, config, "https://birds.example/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
	raw, err := os.ReadFile(filepath.Join(dir, job.TextName))
	if err != nil {
		t.Fatal(err)
	}
	got := rowsOf(t, raw)
	slices.SortFunc(got, func(a, b text.Row) int { return cmp.Compare(a.URL, b.URL) })
	exported, _ := exported(t, text.Text(text.Options{}), dir)
	want := rowsOf(t, exported)
	if len(got) != 2 || len(want) != 2 || bytes.Contains(raw, []byte("duplicate_of")) {
		t.Fatalf("%s\nexported\n%s", raw, exported)
	}
	for i, g := range got {
		if g.Markdown == "" {
			t.Errorf("%s has no Markdown", g.URL)
		}
		a, b := g, want[i]
		a.Markdown, b.DuplicateOf = "", ""
		lineA, _ := text.Line(&a)
		lineB, _ := text.Line(&b)
		if !bytes.Equal(lineA, lineB) {
			t.Errorf("%s\nexported\n%s", lineA, lineB)
		}
	}
}
