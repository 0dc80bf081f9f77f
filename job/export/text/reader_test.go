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
	"github.com/amble-crawler/amble/job/export/text"
)

// Texts that are written during the crawl equal those of the export, except for fields that need the whole crawl. A page that was refused
// after its request has no text.
func TestTextsWhileCrawlingAreThoseOfTheExport(t *testing.T) {
	dir := crawled(t, func(site *crawltest.Site) {
		birds(site)
		site.Page("/", herons+`<a href=/paper>paper</a> <a href=/gone>gone</a>`)
		site.Page("/paper", "x").Header("Content-Type", "text/plain")
	}, func(c *job.Config) {
		c.Text, c.TextReader, c.Crawl.Politeness.Purposes = true, text.Reader(nil), []consent.Purpose{consent.TrainAI}
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
