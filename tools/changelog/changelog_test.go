package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnreleased checks the form of every file, and that they can be put into CHANGELOG.md.
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
	for _, c := range list {
		if !strings.Contains(text, c.item()) {
			t.Errorf("%s is not in the result", c.name)
		}
	}
	if _, err := release(text, "999.0.0", "2999-01-01"); err != nil {
		t.Error(err)
	}
}

// TestNoFolder checks that a checkout without changes since the last release has none: Git keeps no empty folder.
func TestNoFolder(t *testing.T) {
	if list, err := readAll(filepath.Join(t.TempDir(), "unreleased")); err != nil || len(list) > 0 {
		t.Errorf("%v, %v; want no changes and no error", list, err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"a-change", "Added: One thing. And\nanother one.\n", ""},
		{"A.md", "Added: One thing.\n", "want a name"},
		{"a", "New: One thing.\n", "begins with one of"},
		{"a", "Added:\n", "begins with one of"},
		{"a", "Fixed: One thing.\n\nAnother one.\n", "one paragraph"},
		{"a", "Fixed: no sentence\n", "one paragraph"},
		{"a", "Fixed: No sentence\n", "one paragraph"},
		{"a", "Fixed: no sentence.\n", "one paragraph"},
		{"a", "Fixed: " + strings.Repeat("Long ", 40) + "line.\n", "more than 130"},
	} {
		_, err := parse(c.name, c.text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q: %v, want %q", c.name, c.text, err, c.says)
		}
	}
}

func TestFold(t *testing.T) {
	const old = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Old.\n\n### Fixed\n\n- Bug.\n\n## 0.1.0\n\n### Added\n\n- First.\n"
	list := []change{{"a", "Added", "New,\nin two lines."}, {"b", "Changed", "Other."}, {"c", "Removed", "Gone."}, {"d", "Security", "Safe."}}
	got, err := fold(old, list)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = release(got, "0.2.0", "2026-12-01"); err != nil {
		t.Fatal(err)
	}
	const want = "# Changelog\n\n## [Unreleased]\n\n## 0.2.0 - 2026-12-01\n\n### Security\n\n- Safe.\n\n### Added\n\n- New,\n  in two lines.\n- Old.\n\n" +
		"### Changed\n\n- Other.\n\n### Fixed\n\n- Bug.\n\n### Removed\n\n- Gone.\n\n## 0.1.0\n\n### Added\n\n- First.\n"
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
