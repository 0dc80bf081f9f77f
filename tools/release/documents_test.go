package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocuments checks that every link in the documents of a release archive leads to a file of the archive or to a web site.
func TestDocuments(t *testing.T) {
	files, err := documents(root)
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool { return slices.ContainsFunc(files, func(f file) bool { return f.name == name }) }
	for _, name := range []string{"LICENSE", "README.md", "docs/README.md", "docs/getting-started.md", "docs/terminal.svg"} {
		if !has(name) {
			t.Errorf("there is no %s", name)
		}
	}
	inside, outside := 0, 0
	for _, f := range files {
		if strings.HasSuffix(f.name, ".go") {
			t.Errorf("%s is no document", f.name)
		}
		if path.Ext(f.name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(f.data), -1) {
			if m[1] == "" {
				continue // links in code do not count
			}
			switch to := m[1]; {
			case strings.HasPrefix(to, source+"/tree/v"), strings.HasPrefix(to, source+"/blob/v"):
				outside++
			case strings.Contains(to, "://"), strings.HasPrefix(to, "mailto:"):
			case !has(path.Join(path.Dir(f.name), to)):
				t.Errorf("%s links to %s, which is not in the archive", f.name, to)
			default:
				inside++
			}
		}
	}
	if inside < 50 || outside < 50 {
		t.Errorf("%d links to files of the archive and %d to the source: are documents read as they are written?", inside, outside)
	}
}

func TestRetarget(t *testing.T) {
	b, err := retarget(root, "docs/x.md", []byte("[a](../README.md#b) ![c](d.png) [e](../crawler) [f](../go.mod#L1) [g](https://h.example/i) [j](#k) `T[l](m)`"), []string{"README.md", "docs/d.png"})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(b), source, "SOURCE")
	got = regexp.MustCompile(`/v[0-9a-z.-]+/`).ReplaceAllString(got, "/VERSION/")
	if want := "[a](../README.md#b) ![c](d.png) [e](SOURCE/tree/VERSION/crawler) [f](SOURCE/blob/VERSION/go.mod#L1) [g](https://h.example/i) [j](#k) `T[l](m)`"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if _, err := retarget(root, "docs/x.md", []byte("[a](../../other) and [b](nothing.md)"), nil); err == nil || strings.Count(err.Error(), "not there") != 2 {
		t.Errorf("links to nothing: %v", err)
	}
}
