package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnreleased checks the form of every file for the next release, and that releasing moves all of them to CHANGELOG.md, with the
// highlights first and the upgrade notes last.
func TestUnreleased(t *testing.T) {
	list, err := readAll("../../" + folder)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../" + target)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fold(string(b), list)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = release(text, "999.0.0", "2999-01-01"); err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "\n## 999.0.0 - 2999-01-01\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, c := range list {
		if !strings.Contains(text, c.page) {
			t.Errorf("%s is not in the result", c.name)
		}
		for _, i := range c.items {
			if !strings.Contains(text, i.String()) {
				t.Errorf("%s: %q is not in the result", c.name, i)
			}
		}
	}
	headings := regexp.MustCompile(`(?m)^### .*$`).FindAllString(text, -1)
	if n := len(headings); n > 0 && (headings[0] != "### Highlights" || headings[n-1] != "### Upgrade notes") {
		t.Errorf("headings %q; want highlights first and upgrade notes last", headings)
	}
}

// TestNoFolder checks that a checkout without changes since the last release is accepted: Git keeps no empty folders.
func TestNoFolder(t *testing.T) {
	if list, err := readAll(filepath.Join(t.TempDir(), "unreleased")); err != nil || len(list) > 0 {
		t.Errorf("%v, %v; want no changes and no error", list, err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"job-change", "Added: One thing. And\nanother one.\n", ""},
		{"cluster", "Added: One thing.\nFixed: Another one.\n", ""},
		{"highlights", "- As it is\n", ""},
		{"a-change", "Added: One thing.\n", "want a name"},
		{"Job", "Added: One thing.\n", "want a name"},
		{"job.md", "Added: One thing.\n", "want a name"},
		{"highlights-two", "Added: One thing.\n", "want a name"},
		{"job", "New: One thing.\n", "begins with one of"},
		{"job", "Added:\n", "begins with one of"},
		{"job", "Fixed: One thing.\n\nAnother one.\n", "one paragraph"},
		{"job", "Fixed: No sentence\nAdded: One thing.\n", "one paragraph"},
		{"job", "Fixed: no sentence.\n", "one paragraph"},
		{"job", "Fixed: " + strings.Repeat("Long ", 40) + "line.\n", "more than 130"},
		{"upgrade", strings.Repeat("Long ", 40) + "line.\n", "more than 130"},
	} {
		_, err := parse(c.name, c.text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q: %v, want %q", c.name, c.text, err, c.says)
		}
	}
}

func TestFold(t *testing.T) {
	const old = "# Changelog\n\n## [Unreleased]\n\n## 0.1.0\n\n### Added\n\n- First.\n"
	var list []change
	for _, f := range [][2]string{
		{"cluster-a", "Fixed: Bug.\nAdded: New,\nin two lines."}, {"cluster-b", "Added: Other."}, {"highlights", "- Best.\n\n"},
		{"job-a", "Removed: Gone."}, {"upgrade", "#### Go\n\n- Do it."},
	} {
		c, err := parse(f[0], f[1])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	got, err := fold(old, list)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = release(got, "0.2.0", "2026-12-01"); err != nil {
		t.Fatal(err)
	}
	const want = "# Changelog\n\n## [Unreleased]\n\n## 0.2.0 - 2026-12-01\n\n### Highlights\n\n- Best.\n\n" +
		"### Jobs and their files: `job`, `sink`, `stores`\n\n- Removed: Gone.\n\n" +
		"### Clusters: `cluster`\n\n- Added: New,\n  in two lines.\n- Added: Other.\n- Fixed: Bug.\n\n" +
		"### Upgrade notes\n\n#### Go\n\n- Do it.\n\n## 0.1.0\n\n### Added\n\n- First.\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := fold("# Changelog\n", nil); err == nil {
		t.Error("a file without the section is accepted")
	}
	for _, bad := range []string{"0.2", "v0.2.0", "0.1.0"} {
		if _, err := release(old, bad, "2026-12-01"); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
