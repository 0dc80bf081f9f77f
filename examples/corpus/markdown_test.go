package main

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/extract"
)

func TestMarkdown(t *testing.T) {
	for page, want := range map[string]string{
		`a<p>b<p>c`:                                             "a\n\nb\n\nc",
		`<h1>A <b>b</b><br>c</h1><h6>d</h6>`:                    "# A **b** c\n\n###### d",
		`b<i>ir</i>ds <em> x </em>y <b></b>z`:                   "b*ir*ds *x* y z",
		`<em>a <b>b</b></em><i>c <em>d</em></i>`:                "*a **b****c d*",
		`<b>a<p>b</p>c</b> d`:                                   "**a**\n\nb\n\nc d",
		`<em>a<div>b</div></em> c`:                              "*a*\n\nb\n\nc",
		`<ul><li>a<li>b<ol><li>c<li>d</ol></ul>e`:               "- a\n- b\n  1. c\n  2. d\n\ne",
		`<ul><li><p>a<p>b</ul>`:                                 "- a\n\n  b",
		`<ol><li><ul><li>x</ul></ol>`:                           "1. - x",
		`<blockquote>a<p>b<ul><li>c</ul></blockquote>d`:         "> a\n>\n> b\n>\n> - c\n\nd",
		"<pre>\n a\n\n```` b</pre>":                             "`````\n a\n\n```` b\n`````",
		`<ul><li>x<pre>y</pre></ul>`:                            "- x\n\n  ```\n  y\n  ```",
		`a<br>b`:                                                "a\\\nb",
		`<table><tr><th>a<th>b<tr><td>1<td>2</table>`:           "a | b\\\n1 | 2",
		`1. a<p># b<p>- c<p>-d<p>> e<p>+<p>2026) x<p>1.5<p>===`: "1\\. a\n\n\\# b\n\n\\- c\n\n-d\n\n\\> e\n\n\\+\n\n2026\\) x\n\n1.5\n\n\\===",
		"2*3 _x_ a_b `c` [d] &lt;e> \\":                         "2\\*3 \\_x\\_ a_b \\`c\\` \\[d] \\<e> \\\\",
		"a\x1b[31mb":                                            "a\\[31mb",
		`<dl><dt>a<dd>b</dl>`:                                   "a\n\nb",
	} {
		tree, err := extract.Tree([]byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := markdown(content(tree)); got != want {
			t.Errorf("%s\nis   %q\nwant %q", page, got, want)
		}
	}
}

func TestMarkdownCountsWords(t *testing.T) {
	tree, err := extract.Tree([]byte(`<h1>One two</h1><ul><li>th<b>re</b>e <i>four</i><li>five</ul><pre>six - seven</pre>- <br>nine`))
	if err != nil {
		t.Fatal(err)
	}
	if _, n := markdown(content(tree)); n != 10 { // the two dashes count
		t.Errorf("%d words", n)
	}
}

// TestMarkdownIsNotMuchLongerThanThePage checks that nesting does not multiply the text.
func TestMarkdownIsNotMuchLongerThanThePage(t *testing.T) {
	page := strings.Repeat("<blockquote><ol><li>", 150) + strings.Repeat("x<br>", 10_000)
	tree, err := extract.Tree([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := markdown(content(tree)); len(text) > 6*len(page) {
		t.Errorf("%d bytes of a page of %d", len(text), len(page))
	}
}
