package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

func TestTreeOfADeepPageIsAnErrorAndItsLinksAreNot(t *testing.T) {
	page := []byte(strings.Repeat("<div>", 10_000) + "<a href=x>")
	if _, err := Tree(page); err == nil || !strings.HasPrefix(err.Error(), "extract: tree: ") {
		t.Errorf("error %v", err)
	}
	if d := HTML(page, Options{}); len(d.Links) != 1 {
		t.Errorf("%d links, want 1", len(d.Links))
	}
}

// The tree contains what HTML reads: no script runs, so noscript contains elements.
func TestTreeOfNoscript(t *testing.T) {
	tree, err := Tree([]byte(`<noscript><a href=x>x</a></noscript>`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		if n.DataAtom == atom.A {
			return
		}
	}
	t.Error("no a element")
}

// A page whose formatting elements repeat in every paragraph is not parsed: 40 kB would take half a gigabyte. One that is
// only large, or untidy, is.
func TestTreeIsBounded(t *testing.T) {
	var fonts strings.Builder
	for i := range 400 {
		fmt.Fprintf(&fonts, "<font size=%d>", i)
	}
	bomb := "<p>" + fonts.String() + strings.Repeat("<p>x", 10_000)
	for name, page := range map[string]string{
		"formatting":       bomb,
		"ended in a table": "<p>" + fonts.String() + "<table>" + strings.Repeat("</font>", 400) + "</table>" + strings.Repeat("<p>x", 10_000),
		"inside SVG style": "<svg><style></svg>" + bomb,
		"inside SvG style": "<p>x</p><SvG><style></svg>" + bomb,
		"elements":         strings.Repeat("<p>x", maxTree),
		"in a quote":       `<script>a<b c="</script>` + bomb,
		"distinct":         fonts.String() + strings.Repeat("</div><div>x", 10_000),
	} {
		if tree, err := Tree([]byte(page)); !errors.Is(err, ErrTreeSize) {
			n := 0
			if tree != nil {
				for range tree.Descendants() {
					n++
				}
			}
			t.Errorf("%s: %d kB, %d nodes, error %v", name, len(page)>>10, n, err)
		}
	}
	for name, page := range map[string]string{
		"long":    strings.Repeat(`<div class=c><p>text <b>bold</b> <a href="/x">link</a></p></div>`, 30_000),
		"untidy":  strings.Repeat(`<table><tr><td><font color=red><b>x<td><a name=y>z</table>`, 10_000),
		"links":   strings.Repeat(`<a href="/1"><div>card</div></a>`, 50_000),
		"scripts": strings.Repeat(`<script>if (a<b) document.write("<b>"+'<font size=')</script><p>x`, 5_000),
	} {
		if _, err := Tree([]byte(page)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
