package article

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/extract"
)

// whole returns an article that consists of the whole page.
func whole(t testing.TB, page string) *Article {
	t.Helper()
	tree, err := extract.Tree([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return &Article{Tree: tree}
}

// TestMarkdownReferences compares the Markdown of single elements with references; the references of whole pages are in testdata/pages.
func TestMarkdownReferences(t *testing.T) {
	for page, want := range map[string]string{
		// tables
		`<table><thead><tr><td>a<td>b</thead><tbody><tr><td>1<td>2<tfoot><tr><td>s<td>3</table>`: "| a | b |\n| --- | --- |\n| 1 | 2 |\n| s | 3 |",
		`<table><tr><td>1<td>2<tr><td>3</table>`:                                                 "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |",
		`<table><tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3</table>`:                             "| a |  | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
		`<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table>`:                         "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |",
		`<table><tr><th>x|y<th><code>a|b</code><tr><td>1<br>2<td><p>3</p></table>`:               "| x\\|y | `a\\|b` |\n| --- | --- |\n| 1 2 | 3 |",
		`<table><tr><th><b>a</b><th><a href=/x>b</a><tr><td><td>2</table>`:                       "| **a** | [b](/x) |\n| --- | --- |\n|  | 2 |",
		`<table><tr><td>menu<td><ul><li>a<li>b</ul></table>`:                                     "menu\n\n- a\n- b",
		`<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table><td>x</table>`:                "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nx",
		`<ul><li>x<table><tr><th>a<th>b<tr><td>1<td>2</table></ul>`:                              "- x\n\n  | a | b |\n  | --- | --- |\n  | 1 | 2 |",
		`<blockquote><table><tr><th>a<th>b<tr><td>1<td>2</table></blockquote>`:                   "> | a | b |\n> | --- | --- |\n> | 1 | 2 |",
		`<table><tr><th>a<th>b<tr><td><div>1</div><div>2</div><td>3</table>`:                     "| a | b |\n| --- | --- |\n| 1 2 | 3 |",
		`<table><tr><th>r<td>1<tr><th>s<td>2</table>`:                                            "|  |  |\n| --- | --- |\n| r | 1 |\n| s | 2 |",
		// code
		"<pre>\n a\n\n```` b</pre>": "`````\n a\n\n```` b\n`````",
		`<pre><code class="language-go">x := 1
</code></pre>`: "```go\nx := 1\n```",
		`<pre class="lang-c++ hljs">int <span class=k>x</span>;</pre>`: "```c++\nint x;\n```",
		`a <code>b  c</code> d <kbd>e</kbd>`:                           "a `b c` d `e`",
		"<code>a`b</code> <code>`</code> <code>*x*</code>":             "``a`b`` `` ` `` `*x*`",
		`<ul><li>x<pre>y
 z</pre></ul>`: "- x\n\n  ```\n  y\n   z\n  ```",
		`<p>x<pre> </pre><p>y`: "x\n\ny",
		// lists
		`<ol start=9><li>a<li>b<ul><li>c<ul><li>d</ul></ul></ol>`: "9. a\n10. b\n    - c\n      - d",
		`<ul><li><p>a<p>b<li><p>c</ul>`:                           "- a\n\n  b\n\n- c",
		`<ol><li><ul><li>x</ul></ol>`:                             "1. - x",
		`<ul><li>a<blockquote>b</blockquote></ul>`:                "- a\n\n  > b",
		`<ul><ul><li>a</ul><li>b</ul>`:                            "- a\n\n- b",
		`<dl><dt>a<dd>b<dt>c<dd>d</dl>`:                           "**a**\n\nb\n\n**c**\n\nd",
		`<ul><li><h3>a</h3>b</ul>`:                                "- ### a\n\n  b",
		`<ul><li>1. a<li># b</ul>`:                                "- 1\\. a\n- \\# b",
		// other elements
		`<h1>A <b>b</b><br>c</h1><h6>d</h6>`:                 "# A **b** c\n\n###### d",
		`b<i>ir</i>ds <em> x </em>y <b></b>z <del>no</del>`:  "b*ir*ds *x* y z ~~no~~",
		`<em>a <b>b</b></em><i>c <em>d</em></i>`:             "*a **b**c d*",
		`<em>a</em><em>b</em> <b>c</b><b><i>d</i></b>`:       "*ab* **c*d***",
		`<em>a</em><b>b</b><a href=/x>c</a><a href=/y>d</a>`: "*a***b**[c](/x)[d](/y)",
		`<b>a<p>b</p>c</b> d`:                                "**a**\n\nb\n\nc d",
		`<blockquote>a<p>b<ul><li>c</ul></blockquote>d`:      "> a\n>\n> b\n>\n> - c\n\nd",
		`a<br>b<hr>c<hr>`:                                    "a\\\nb\n\n---\n\nc",
		`see <a href="/x y(1)">a <b>b</b> </a>c, <a href="#top">top</a>, <a href="javascript:x">j</a>`: "see [a **b**](/x%20y\\(1\\)) c, top, j",
		`<a href=/x><h2>a</h2><p>b</p></a><a href=/y> </a>`:                                            "## a\n\nb",
		`<figure><img src=/h.jpg alt="a [heron]"><figcaption>Still.</figcaption></figure>`:             "![a \\[heron\\]](/h.jpg)\n\nStill.",
		`<a href=/big><img src="data:x" data-src=/h.jpg alt=a></a><img src=/i.jpg>`:                    "[![a](/h.jpg)](/big)",
		`1. a<p># b<p>- c<p>-d<p>> e<p>+<p>2026) x<p>1.5<p>===`:                                        "1\\. a\n\n\\# b\n\n\\- c\n\n-d\n\n\\> e\n\n\\+\n\n2026\\) x\n\n1.5\n\n\\===",
		"2*3 _x_ a_b `c` [d] &lt;e> \\ &amp;lt; a & b":                                                 "2\\*3 \\_x\\_ a_b \\`c\\` \\[d\\] \\<e> \\\\ \\&lt; a & b",
		"a\x1b[31mb\u200bc": "a\\[31mbc",
	} {
		if got := whole(t, page).Markdown(); got != want {
			t.Errorf("%s\nis   %q\nwant %q", page, got, want)
		}
	}
}

func TestPlainText(t *testing.T) {
	for page, want := range map[string]string{
		`<h1>A</h1><p>b <i>c</i><br>d<ul><li>e<li>f<ul><li>g</ul></ul>h`: "A\n\nb c\nd\n\ne\nf\n\ng\n\nh",
		"<p>x<pre>a\n  b</pre>y": "x\n\na\n  b\n\ny",
		`<table><tr><td>1<td><p>2 3</p><tr><td>4<td><div>5</div></table>`: "1\t2 3\n4\t5",
		"<p>a\u00a0b\u200bc\x07": "a bc",
		`<p>日本<b>語</b></p>`:      "日本語",
	} {
		if got := whole(t, page).Text(); got != want {
			t.Errorf("%s\nis   %q\nwant %q", page, got, want)
		}
	}
	if got := countWords("It's 5 o'clock — 東京 สวัสดี"); got != 11 {
		t.Errorf("%d words", got)
	}
}

// TestMarkdownIsNotMuchLongerThanThePage checks that nesting does not multiply the length of the text.
func TestMarkdownIsNotMuchLongerThanThePage(t *testing.T) {
	for _, page := range []string{
		strings.Repeat("<blockquote><ol><li>", 150) + strings.Repeat("x<br>", 10_000),
		"<table><tr>" + strings.Repeat("<td>", 64) + strings.Repeat("<tr><td>x", 10_000) + "</table>",
		"<p>" + strings.Repeat("<a href=/x>y</a> ", 20_000),
	} {
		if text := whole(t, page).Markdown(); len(text) > 20*len(page) {
			t.Errorf("%d bytes of a page of %d", len(text), len(page))
		}
	}
}
