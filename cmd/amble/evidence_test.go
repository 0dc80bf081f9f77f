package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line that a process did not live to write whole goes; every other octet stays.
func TestEvidenceIsCutBehindItsLastWholeLine(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct{ before, after string }{
		{"", ""}, {"a\n", "a\n"}, {"a\nb", "a\n"}, {"a\nb\n", "a\nb\n"}, {"torn", ""}, {"\n", "\n"},
		{"a\n" + long, "a\n"}, {long + "\n" + long, long + "\n"}, {long, ""}, {long + "\n", long + "\n"},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := openDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		f, err := d.openEvidence("f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("new\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got, err := os.ReadFile(path); err != nil || string(got) != c.after+"new\n" {
			t.Errorf("%.20q of %d octets became %d octets, want %d; %v", c.before, len(c.before), len(got), len(c.after)+4, err)
		}
	}
}

func TestRobotsIndexHasWholeLines(t *testing.T) {
	d, err := openDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	dir := d.path(robotsName)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, indexName), []byte("{\"url\":1}\n{\"url\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := newRobotsKeeper(d)
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
	if got, err := os.ReadFile(filepath.Join(dir, indexName)); err != nil || string(got) != "{\"url\":1}\n" {
		t.Errorf("%q, %v", got, err)
	}
}
