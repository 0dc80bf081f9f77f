package robots

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestLints compares the lints of each file NAME/robots.txt in the archive with NAME/lints.
func TestLints(t *testing.T) {
	path := filepath.Join("testdata", "lints.txtar")
	files := readTxtar(t, path)
	var out strings.Builder
	for i := 0; i < len(files); i++ {
		name, ok := strings.CutSuffix(files[i].name, "/robots.txt")
		if !ok {
			t.Fatalf("section %q", files[i].name)
		}
		want := ""
		body := files[i]
		if i+1 < len(files) && files[i+1].name == name+"/lints" {
			want = files[i+1].body
			i++
		}
		got := lintText([]byte(body.body))
		if got != want && !*update {
			t.Errorf("%s:\n got:\n%s\nwant:\n%s", name, got, want)
		}
		fmt.Fprintf(&out, "-- %s --\n%s-- %s/lints --\n%s", body.name, body.body, name, got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lintText(body []byte) string {
	var b strings.Builder
	for _, l := range Parse(body, WithOrigin("https://www.example.com")).Lints() {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// TestLintsOfOddBodies covers error pages and other files served with status 200.
func TestLintsOfOddBodies(t *testing.T) {
	for body, want := range map[string]LintCode{
		"<!DOCTYPE html><html>":                          lintHTML,
		"\ufeff \r\n<HTML><p>User-agent: *\nDisallow: /": lintHTML,
		"<?xml version='1.0'?>":                          lintHTML,
		"\x1f\x8b\x08\x00\x00":                           lintBinary,
		"\xff\xfeU\x00s\x00e\x00r\x00":                   lintBinary,
		"U\x00s\x00e\x00r\x00-\x00":                      lintBinary,
		"\x89PNG\r\n\x1a\n":                              lintBinary,
		"hello":                                          lintNoField,
		"# hello":                                        lintNoRules,
		"User-agent: *":                                  lintNoRules,
	} {
		ls := Parse([]byte(body)).Lints()
		if len(ls) == 0 || ls[0].Code != want {
			t.Errorf("%q: %v", body, ls)
		}
	}
	for _, body := range []string{"", "\n\n", "User-agent: *\nDisallow:\n", "User-agent: *\nAllow: /\n\n\n# end\n"} {
		if ls := Parse([]byte(body)).Lints(); len(ls) != 0 {
			t.Errorf("%q: %v", body, ls)
		}
	}
	if ls := Parse([]byte("User-agent: *\nDisallow: /\n" + strings.Repeat("#\n", MaxSize/2))).Lints(); len(ls) != 1 || ls[0].Code != lintTruncated {
		t.Errorf("%v", ls)
	}
}

// TestLintsAreBounded reads a file with an error in every line.
func TestLintsAreBounded(t *testing.T) {
	ls := Parse([]byte(strings.Repeat("x\n", MaxSize/2))).Lints()
	if len(ls) != maxLints || ls[maxLints-1].Code != lintTooMany {
		t.Errorf("%d lints, the last %v", len(ls), ls[len(ls)-1])
	}
}
