package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// The documents for users of other crawlers show the same three programs, under the same headings. If two of them have a program in Go for
// a table, it is the same program.
func TestTheSameThreePrograms(t *testing.T) {
	tables := map[string]bool{}
	pages := []string{"docs/from-colly.md", "docs/from-scrapy.md", "docs/from-wget.md", "docs/from-httrack.md"}
	n := 0
	for _, d := range documents(t) {
		if !slices.Contains(pages, d.path) {
			continue
		}
		n++
		for _, want := range []string{"## All pages of a site", "## Items into a table", "## A crawl that is stopped and resumed"} {
			if !strings.Contains(d.text, "\n"+want+"\n") {
				t.Errorf("%s has no section %q", d.path, want)
			}
		}
		for _, b := range d.blocks {
			if b.lang == "go" && strings.Contains(b.code, `OpenCSV("products.csv"`) {
				tables[b.code] = true
			}
		}
	}
	if n != len(pages) || len(tables) != 1 {
		t.Errorf("%d pages, %d programs for a table", n, len(tables))
	}
}
