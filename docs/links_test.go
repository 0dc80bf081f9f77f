package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var inlineLinks = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// TestLinksBetweenDocuments checks that every relative link leads to an existing file, and its fragment to a heading
// in it.
func TestLinksBetweenDocuments(t *testing.T) {
	docs := documents(t)
	anchors := map[string][]string{}
	for _, d := range docs {
		anchors[d.path] = d.anchors()
	}
	for _, d := range docs {
		for _, m := range inlineLinks.FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := d.path
			if file != "" {
				target = path.Join(path.Dir(d.path), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: %s: %v", d.path, m[1], err)
				continue
			}
			if fragment != "" && !slices.Contains(anchors[target], fragment) {
				t.Errorf("%s: %s: no such heading; there are %v", d.path, m[1], anchors[target])
			}
		}
	}
}

// TestEveryDocumentCanBeFound checks that each document in docs is linked from another one.
func TestEveryDocumentCanBeFound(t *testing.T) {
	docs := documents(t)
	linked := map[string]bool{"README.md": true}
	for _, d := range docs {
		for _, m := range inlineLinks.FindAllStringSubmatch(d.text, -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if to := path.Join(path.Dir(d.path), file); file != "" && to != d.path {
				linked[to] = true
			}
		}
	}
	for _, d := range docs {
		if !linked[d.path] {
			t.Errorf("no document links to %s", d.path)
		}
	}
}

// TestIndexHasEveryPage checks that docs/README.md, which gives an order for reading the documents, has each of them once, and each file of
// examples.
func TestIndexHasEveryPage(t *testing.T) {
	docs := documents(t)
	times := map[string]int{}
	for _, d := range docs {
		if d.path == "docs/README.md" {
			for _, m := range inlineLinks.FindAllStringSubmatch(d.text, -1) {
				times[path.Join("docs", m[1])]++
			}
		}
	}
	var want []string
	for _, d := range docs {
		if path.Dir(d.path) == "docs" && d.path != "docs/README.md" {
			want = append(want, d.path)
		}
	}
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, p); strings.HasSuffix(p, "_test.go") && strings.HasPrefix(filepath.Base(p), "example_") {
			want = append(want, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(want) < 40 {
		t.Fatalf("%v, only %d files", err, len(want))
	}
	for _, file := range want {
		if times[file] != 1 {
			t.Errorf("docs/README.md links to %s %d times", file, times[file])
		}
	}
}

// TestDecisionsAreNumbered checks that the decision records are numbered from 1 without gaps, each in its heading, and that the index lists
// them in this order: a reference such as "ADR 21" identifies one record.
func TestDecisionsAreNumbered(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("adr", "[0-9]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join("adr", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(index)
	for i, file := range files {
		name, number := filepath.Base(file), fmt.Sprintf("%04d", i+1)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, number+"-") || !strings.HasPrefix(string(text), "# "+number+": ") {
			t.Errorf("%s: its name and heading must begin with %s", name, number)
		}
		_, after, ok := strings.Cut(rest, "["+number+"]("+name+")")
		if !ok {
			t.Errorf("the index does not list %s, or not in order", name)
			continue
		}
		rest = after
	}
}
