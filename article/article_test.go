package article

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/internal/long"
)

// news is a page with the usual things around its text: a menu, a sidebar, comments and others.
const news = `<!doctype html><html lang=en-GB><head><title>Herons return to the lake | Birds of the week</title>
<meta property="og:site_name" content="Birds of the week"><meta property="og:title" content="Herons return to the lake">
<meta property="article:modified_time" content="2026-11-20T09:30:00+0100">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"NewsArticle","headline":"Herons return to the lake",
"author":[{"@type":"Person","name":"Ada Bird"},{"@type":"Person","name":"Ben Fish"}],"datePublished":"2026-11-19T08:00:00Z"}]}</script></head><body>
<header><a href=/>Home</a> <a href=/birds>Birds</a> <a href=/fish>Fish</a></header>
<nav class=menu><ul><li><a href=/a>One menu entry</a><li><a href=/b>Another menu entry</a></ul></nav>
<div class=page><main class=article><h1>Herons return to the lake</h1><div class=byline>By Ada Bird and Ben Fish</div>
<div class="share social"><a href=/s>Share</a> <a href=/t>Post</a></div>
<div class=article-body>
<p>Three pairs of grey herons have been seen at the lake this week, for the first time since the winter of 2011, said the <a href=/society>bird society</a>.</p>
<figure><img src=/heron.jpg alt="A heron at the lake"></figure>
<p>The birds had left after the reeds were cut, and the society had asked the town, year after year, to let them grow again. "We had nearly given up," said its chairman.</p>
<h2>What they eat</h2>
<ul><li>Small fish, which they catch with patience in the shallow water.</li><li>Frogs and mice, if there are no fish to be had.</li></ul>
<p>Whoever wants to watch them should stay on the path, keep dogs on a lead, and come early in the morning, when the herons stand in the mist and wait.</p>
<table><tr><th>Year<th>Pairs</tr><tr><td>2011<td>4</tr><tr><td>2026<td>3</tr></table>
</div></main>
<aside class=sidebar><h3>Most read</h3><ul><li><a href=/1>Ten things that you did not know about ducks</a><li><a href=/2>Swans close the road again</a></ul></aside></div>
<div id=comments class=comments><h3>Comments</h3><div class=comment><p>I saw one of them yesterday, it stood beside my car and would not move, which was great fun for the children.</p></div>
<div class=comment><p>They eat all the fish in my pond, and nobody does anything about it, so I am not as happy as your paper is.</p></div></div>
<footer><p>© 2026 Birds of the week. <a rel=license href=https://creativecommons.org/licenses/by-sa/4.0/>CC BY-SA</a>. All rights that remain are reserved.</p></footer></body></html>`

func TestArticleOfNewsPage(t *testing.T) {
	a, err := Read([]byte(news), "https://birds.site.example/2026/herons")
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{
		"title": {a.Title, "Herons return to the lake"}, "byline": {a.Byline, "Ada Bird, Ben Fish"}, "published": {a.Published, "2026-11-19T08:00:00Z"},
		"modified": {a.Modified, "2026-11-20T09:30:00+01:00"}, "site": {a.Site, "Birds of the week"}, "licence": {a.Licence, "CC-BY-SA-4.0"}, "language": {a.Language, "en-GB"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s %q, want %q", what, pair[0], pair[1])
		}
	}
	md := a.Markdown()
	for _, want := range []string{"Three pairs of grey herons", "[bird society](https://birds.site.example/society)", "![A heron at the lake](https://birds.site.example/heron.jpg)", "## What they eat\n\n- Small fish", "stand in the mist", "| 2011 | 4 |"} {
		if !strings.Contains(md, want) {
			t.Errorf("the text has no %q:\n%s", want, md)
		}
	}
	for _, not := range []string{"menu entry", "Share", "Most read", "ducks", "beside my car", "pond", "All rights", "Home"} {
		if strings.Contains(md, not) || strings.Contains(a.Text(), not) {
			t.Errorf("the text has %q:\n%s", not, md)
		}
	}
	if a.Words != 119 {
		t.Errorf("%d words", a.Words)
	}
}

// The text of a page that is nothing but a list of links is the list, without what is around it.
func TestPageWithoutArticleGivesItsLists(t *testing.T) {
	const (
		menu = `<title>Archive</title><nav><a href=/>Home</a> <a href=/birds>Birds</a></nav>`
		list = `<h1>Archive</h1><ul><li><a href=/1>Herons at the lake</a><li><a href=/2>Ten ducks</a><li><a href=/3>Weather</a></ul>`
		foot = `<footer><p>Copyright 2026 Birds of the week. All rights reserved.</p></footer>`
	)
	const want = "Herons at the lake\nTen ducks\nWeather"
	for page, want := range map[string]string{
		menu + `<main>` + list + `</main><p>Another line of the page</p>` + foot: want,
		menu + `<div>` + list + `</div>` + foot:                                  want,
		menu + `<div>` + list + `<div class=sidebar>Ducks again</div></div>`:     want,
		menu: "Home Birds",
	} {
		a, err := Read([]byte(page), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(a.Text()); got != want {
			t.Errorf("%s\nis   %q\nwant %q", page, got, want)
		}
	}
}

func TestStatementsInOtherPlaces(t *testing.T) {
	for page, want := range map[string][7]string{ // title, byline, published, modified, site, licence, language
		`<title>A - B</title><meta name=author content=" C  D "><meta name=date content=2026-01-02><meta http-equiv=content-language content=de><meta name=dcterms.license content="https://creativecommons.org/publicdomain/zero/1.0/">`:                                {"A - B", "C D", "2026-01-02", "", "", "CC0-1.0", "de"},
		`<title>A - B</title><meta property=og:site_name content=b><meta property=og:locale content=pt_BR><h2 class=byline>Von C</h2><time datetime="2026-01-02 03:04">x</time><a rel=license href="/terms">t</a>`:                                                       {"A", "C", "2026-01-02", "", "b", "/terms", "pt-BR"},
		`<meta name=dc.title content=A><meta name=DC.creator content=C><meta name=dc.date content="January 2, 2026"><meta property=article:author content=https://x.example/c><meta name=dc.rights content="CC BY-NC 4.0">`:                                              {"A", "C", "2026-01-02", "", "", "CC-BY-NC-4.0", ""},
		`<div itemscope itemtype=http://schema.org/BlogPosting><h1 itemprop=headline>A</h1><b itemprop=author itemscope><i itemprop=name>C</i></b><time itemprop=datePublished datetime=2026-01-02T03:04:05Z></time><meta itemprop=dateModified content=20260103></div>`: {"A", "C", "2026-01-02T03:04:05Z", "2026-01-03", "", "", ""},
		`<link rel=license href="https://creativecommons.org/licenses/by/3.0/de/"><meta name=date content=tomorrow>`:                                                                                                                                                     {"", "", "", "", "", "https://creativecommons.org/licenses/by/3.0/de/", ""},
	} {
		a, err := Read([]byte(page), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := [7]string{a.Title, a.Byline, a.Published, a.Modified, a.Site, a.Licence, a.Language}; got != want {
			t.Errorf("%s\nis   %q\nwant %q", page, got, want)
		}
	}
}

// TestRepeatedTextIsWrittenOnce reads a page that contains its text twice, for wide and narrow screens.
func TestRepeatedTextIsWrittenOnce(t *testing.T) {
	from, to := strings.Index(news, "<div class=article-body>"), strings.Index(news, "</main>")
	a, err := Read([]byte(news[:to]+news[from:to]+news[to:]), "")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(a.Text(), "Three pairs of grey herons"); n != 1 {
		t.Errorf("the text is there %d times:\n%s", n, a.Text())
	}
}

// TestCommentsAreNeverText reads a page with more comments than text.
func TestCommentsAreNeverText(t *testing.T) {
	from, to := strings.Index(news, "<div class=comment>"), strings.Index(news, "<footer>")
	comment := strings.TrimSuffix(strings.TrimSpace(news[from:to]), "</div>")
	a, err := Read([]byte(news[:from]+strings.Repeat(comment, 30)+news[from:]), "")
	if err != nil {
		t.Fatal(err)
	}
	if text := a.Text(); strings.Contains(text, "beside my car") || !strings.Contains(text, "Three pairs") {
		t.Errorf("%s", text)
	}
}

// TestSameBytesGiveSameText reads pages several times, also with other pages in between.
func TestSameBytesGiveSameText(t *testing.T) {
	for _, page := range []string{news, "", "<p>x", strings.Repeat("<p>The same sentence, again and again, in all of the paragraphs of this page.</p>", 50)} {
		var first []byte
		for range 5 {
			a, err := Read([]byte(page), "https://site.example/")
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			b.WriteString(a.Title + a.Byline + a.Markdown() + a.Text())
			if a.Tree != nil {
				if err := html.Render(&b, a.Tree); err != nil {
					t.Fatal(err)
				}
			}
			if first == nil {
				first = b.Bytes()
			} else if !bytes.Equal(first, b.Bytes()) {
				t.Fatalf("%q\nand\n%q", first, b.Bytes())
			}
		}
	}
}

func TestModelIsReadAsWritten(t *testing.T) {
	m, err := parseModel(modelText)
	if err != nil || len(m[0].trees) == 0 || len(m[1].trees) == 0 {
		t.Fatalf("%d and %d trees (%v)", len(m[0].trees), len(m[1].trees), err)
	}
	if m.String() != modelText {
		t.Error("the model is written in another way than it is read")
	}
	a, err := Read([]byte(news), "")
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := html.Parse(strings.NewReader(news))
	p := newPage(tree, a.Data)
	inner := p.features(nil, 0)
	outer := len(p.context(inner, 0, make([]float32, len(p.blocks)), p.means(make([]float32, len(p.blocks)))))
	for stage, count := range []int{len(inner), outer} {
		for _, tr := range m[stage].trees {
			for _, f := range tr.feature {
				if int(f) >= count || count > 256 {
					t.Fatalf("stage %d uses feature %d of %d", stage, f, count)
				}
			}
		}
	}
}

// hostile are pages that would take a careless reader very long, or all of its memory.
func hostile() map[string]string {
	times := func(s string, n int) string { return strings.Repeat(s, long.N(n/8, n)) }
	return map[string]string{
		"deep":          times("<div><ul><li>", 160) + "text",
		"too deep":      times("<div>", 100_000) + "text",
		"tags":          times("<p></p>", 10<<20/7),
		"blocks":        times("<p>Some words, and more of them.", 100_000),
		"inline":        "<p>" + times("<i>a</i>", 200_000),
		"formatting":    times("<b><i><u><p>x", 20_000),
		"classes":       times(`<div class="`+times("a-b ", 200)+`">x</div>`, 5_000),
		"one class":     `<div class="` + times("comment-", 1<<20) + `">x</div>`,
		"links":         times("<a href=/x>y</a> ", 200_000),
		"nested links":  times("<a href=/x><table><tr><td>", 100) + "x",
		"images":        times("<img src=x alt=y>", 200_000),
		"cells":         "<table>" + times("<tr>"+times("<td rowspan=1000 colspan=1000>x", 50), 2_000),
		"nested tables": times("<table><tr><td>", 120) + times("<p>x", 20_000),
		"quotes":        times("<blockquote>", 450) + times("x<br>", 100_000),
		"marks":         times("*_`[#&~", 200_000),
		"backticks":     "<pre>" + times("`", 1<<20) + "</pre>" + times("<code>`</code>", 50_000),
		"one text":      times("x", 2<<20),
		"repeats":       times("<p>This is the same long sentence again, with its many words, of which there are enough to be a repetition, I think.", 30_000),
		"metas":         times("<meta name=author content=x><meta property=og:title content=y><link rel=license href=z>", 50_000),
		"stated":        `<script type="application/ld+json">{"@type":"Article","articleBody":"` + times("a b c d ", 1<<18) + `"}</script>` + times("<p>a b c d", 50_000),
		"headings":      times("<h1 class=byline>x</h1>", 100_000),
		"zero bytes":    times("\x00<\x00p>", 100_000),
		"no UTF-8":      times("<p>\xff\xfe words \x80", 50_000),
	}
}

// TestHostilePages checks that reading takes linear time: with quadratic time, one of these pages would take hours.
func TestHostilePages(t *testing.T) {
	for name, page := range hostile() {
		a, err := Read([]byte(page), "https://site.example/")
		if err != nil {
			continue // the tree would be too large; package extract tests that limit
		}
		if n := len(a.Markdown()); n > 25*len(page)+1000 {
			t.Errorf("%s: Markdown of %d bytes from %d", name, n, len(page))
		}
		if n := len(a.Text()); n > 2*len(page)+1000 {
			t.Errorf("%s: text of %d bytes from %d", name, n, len(page))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(news)
	f.Add("<table><tr><td rowspan=3>a<td colspan=2>b<tr><td><img alt=x src=y><pre>`</pre><ul><ol start=3><li>a<br><br>b")
	f.Fuzz(func(t *testing.T, page string) {
		a, err := Read([]byte(page), "https://site.example/x")
		if err != nil {
			return
		}
		b, err := Read([]byte(page), "https://site.example/x")
		if err != nil || a.Markdown() != b.Markdown() || a.Text() != b.Text() || a.Byline != b.Byline {
			t.Fatalf("%q and %q (%v)", a.Markdown(), b.Markdown(), err)
		}
	})
}

// The cells of a table stay together: a table after the last paragraph is complete, and a table of links is left out.
func TestTablesAreWhole(t *testing.T) {
	page := `<html lang=en><title>Herons</title><article><h1>Herons</h1>
<p>Three pairs of grey herons have been seen at the lake this week, for the first time since the winter of 2011, said the bird society.</p>
<p>The birds had left after the reeds were cut, and the society had asked the town, year after year, to let them grow <b>again</b>.</p>
<table><tr><th colspan=2>Birds<th>n<tr><td>grey<td>heron<td>3</table></article>
<aside><table><tr><th>More<th>texts<tr><td><a href=/a>Swans are back</a><td><a href=/b>Geese fly</a></table></aside>`
	a, err := Read([]byte(page), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Markdown(); !strings.HasSuffix(got, "**again**.\n\n| Birds |  | n |\n| --- | --- | --- |\n| grey | heron | 3 |") {
		t.Errorf("%s", got)
	}
}
