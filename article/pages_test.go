package article

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestMarkdownOfPages compares the main text of whole pages with what a careful writer would write. Each file in testdata/pages has a
// page, with its menus and footers, in the HTML of another kind of site, and the reference, which was written by hand.
func TestMarkdownOfPages(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/*.txtar")
	if err != nil || len(files) != 40 {
		t.Errorf("%d pages, want 40 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("%s has not a page and a reference (%v)", file, err)
			}
			a, err := Read(archive.Files[0].Data, "https://docs.site.example/guide/page")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := a.Markdown()+"\n", strings.ReplaceAll(string(archive.Files[1].Data), "\u00a0", " "); got != want {
				t.Errorf("is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// ownPages returns the pages in testdata/pages as samples to learn from, because the benchmarks have little documentation.
func ownPages(t testing.TB) (all []*sample) {
	files, err := filepath.Glob("testdata/pages/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(string(archive.Files[1].Data), "]")
		all = append(all, &sample{id: file, host: file, address: "https://docs.site.example/guide/page", body: archive.Files[0].Data, truth: text})
	}
	return prepare(t, all)
}
