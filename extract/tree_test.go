package extract

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// The tree is that of a parser without scripting, so noscript contains elements.
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

// A page whose formatting elements are repeated in every paragraph is rejected, because 40 kB would need half a
// gigabyte. Pages that are only large or untidy are parsed.
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
		if tree, err := Tree([]byte(page)); !errors.Is(err, errTreeSize) {
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

func TestTreeBoundIsNoLessThanTreeSize(t *testing.T) {
	pieces := []string{
		"<p>", "x", "</p>", "<b>", "</b>", "<B >", "<font size=1>", "<font size='>' a b=2>", "</font>", "<a href=x/y z>", "</a>", "<a>", "<nobr>", "<i/>", "<em a=\"", "\"", "'",
		"<table>", "<td>", "</table>", "<script>", "</script>", "<!--", "-->", "<svg>", "<style>", "</style>", "</svg>", "<code x=1 y=2 z=3>", "<", ">", "<tt", "<noscript>", "<span>", "<br>", "</div>",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(40) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		page := []byte(b.String())
		if bound, size := treeBound(page), max(treeSize(page, false), treeSize(page, true)); bound < size {
			t.Fatalf("%q: %d, but treeSize is %d", page, bound, size)
		}
	}
}

func TestTreeBoundIsLinear(t *testing.T) {
	group := strings.Repeat("<b ", 1300) + ">"
	if n := treeBound([]byte(strings.Repeat(group, 100))); n <= maxTree {
		t.Errorf("%d of tags in tags, want more than %d: they are read again and again", n, maxTree)
	}
}
