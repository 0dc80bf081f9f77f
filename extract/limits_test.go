package extract

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMaxLinks(t *testing.T) {
	d := HTML([]byte(`<a href=1>one</a><a href=2>two</a><a href=3>three</a><area href=4>`), Options{MaxLinks: 2})
	if got, want := show(d), "anchor a.href <1> \"one\"\nanchor a.href <2> \"two\""; got != want || d.Dropped != 2 {
		t.Errorf("%d dropped, links %s", d.Dropped, got)
	}
	d = HTML([]byte(strings.Repeat("<a href=x>", 10_003)), Options{})
	if len(d.Links) != 10_000 || d.Dropped != 3 {
		t.Errorf("by default: %d links, %d dropped", len(d.Links), d.Dropped)
	}
}

func TestMaxAttrSkipsOnlyTheValue(t *testing.T) {
	page := `<a href=12345 rel=next>a</a><a href=123456 href=x>b</a><a href=c>c</a>`
	if got, want := show(HTML([]byte(page), Options{MaxAttr: 5})), "anchor a.href <12345> (next) \"a\"\nanchor a.href <c> \"c\""; got != want {
		t.Errorf("links %s", got)
	}
	d := HTML([]byte(`<a href="`+strings.Repeat("x", 64<<10)+`"><a href="`+strings.Repeat("x", 64<<10+1)+`">`), Options{})
	if len(d.Links) != 1 {
		t.Errorf("by default: %d links, want the one of 64 KiB", len(d.Links))
	}
}

func TestMaxTitleCutsAtACharacter(t *testing.T) {
	for limit, want := range map[int]string{1: "a", 2: "a", 3: "aé", 4: "aé", 5: "aé b", 6: "aé b"} {
		for _, title := range []string{"aé b c", "aé  b c", "a&eacute; b c"} {
			if got := HTML([]byte("<title>"+title+"</title>"), Options{MaxTitle: limit}).Title; limit < 6 && got != want {
				t.Errorf("%q cut to %d: %q, want %q", title, limit, got, want)
			}
		}
	}
	d := HTML([]byte("<title>"+strings.Repeat("é", 5000)), Options{})
	if len(d.Title) != 4<<10 || !utf8.ValidString(d.Title) {
		t.Errorf("by default: %d bytes", len(d.Title))
	}
}

func TestLinkTextIsCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("é ", 1000), strings.Repeat("<b>é</b> ", 1000), "&#32;" + strings.Repeat("é ", 1000)} {
		got := HTML([]byte("<a href=x>"+text+"</a>"), Options{}).Links[0].Text
		if want := strings.TrimSuffix(strings.Repeat("é ", 85), " "); got != want {
			t.Errorf("%.20q: %d bytes, want %d", text, len(got), len(want))
		}
	}
}

func TestMaxMetas(t *testing.T) {
	if d := HTML([]byte(strings.Repeat("<meta name=a content=b>", 1100)), Options{}); len(d.Metas) != 1000 {
		t.Errorf("%d metas", len(d.Metas))
	}
}

// If scripting is on, the content of noscript is ignored (HTML Standard section 4.12.2).
func TestNoscriptIsTextWithScripting(t *testing.T) {
	const page = `<noscript><a href=1></a><title>x</title><meta name=robots content=nofollow></noscript><a href=2></a>`
	d := HTML([]byte(page), Options{Scripting: true})
	if got := show(d); got != "anchor a.href <2>" || d.Title != "" || len(d.Metas) != 0 {
		t.Errorf("links %s, title %q, metas %v", got, d.Title, d.Metas)
	}
}

func TestOptionsAreNotChanged(t *testing.T) {
	o := Options{DataAttrs: []string{"data-a", "Data-B"}}
	HTML(nil, o)
	if o.DataAttrs[1] != "Data-B" {
		t.Errorf("DataAttrs became %q", o.DataAttrs)
	}
}

func TestDefaultIsNavigationOnly(t *testing.T) {
	const page = `<img src=1><script src=2></script><p style="a:url(3)"><style>@import "4"</style><form action=5><svg><use href=6><image href=7></svg>
		<video src=8 poster=9></video><object data=10></object><body background=11><link rel=stylesheet imagesrcset=12 href=13>`
	if got := show(HTML([]byte(page), Options{})); got != "link link.href <13> (stylesheet)" {
		t.Errorf("links %s", got)
	}
}

// hostile are inputs on which a parser that backtracks or buffers becomes slow or large. Each one is repeated.
var hostile = []string{
	"<", "<a", "</", "</a ", "<!", "<!--", "<!-->", "<!---", "--!", "-->", "<a href=", "<a href='", `<a href="`, "<a b", "<a =", " a", " a=b", "/", "=", "'", "<a href=x>",
	"<title>", "<script>", "<script", "<script><!--<script>", "<!--<script", "</script", "<style>", "</style", "<textarea>", "<xmp></xm", "<plaintext>", "<svg>",
	"<svg><desc>", "</svg>", "</math>", "<math><mi>", "<svg><![CDATA[", "<![CDATA[", "]]", "<template>", "</template>", "<base href=x>", "<meta name=a content=b>",
	"<meta http-equiv=refresh content=x>", "&", "&#", "&#x1", "&a", "&amp", "<a href=x>&", "<a href=x> ", "<a href=x>a<b>", "<a href='&amp;&notit;'>", "<link rel='a b c' href=x>",
	"<img srcset='a,b c,d (,'>", "<img srcset=',,,a'>", "<style>/*", "<style>url(", "<style>@import'", "<p style='url(a'>", "<p style=\"url('\\", "<area alt='a  b' href=x>",
	"\x00", "\r", "\xff", "é", "?a=b,", "a ", "\\", "<?", "<x ", "<item>", "<item><link>x</link>", "<entry><title>", "<feed xml:base='x'>", "<urlset><url><loc>", "<urlset>", "<loc>",
	"<title/>", "<title><![CDATA[", "<script><![CDATA[", "<?a>", "<!doctype [>", "<!doctype '>", "<!doctype <!-->", "<title>]]>",
	"{", `{"items":[`, `{"items":[{"url":"x"},`, `"a",`, `{"items":[{"attachments":[{},`, "<item><guid>http://x", "<entry xml:base='a/'>",
	"<!DOCTYPE [", "<!ENTITY a '&b;'>", "[", ",<a>;b=\"", ",<", "<a>;rel=b,", ";",
}

var hostileSize = flag.Int("hostile", 256, "KiB of each hostile input")

// TestHostileInput passes many copies of each input to every parser, alone and inside markup that changes their
// meaning, and measures the memory. It has no clock: with -hostile 16384, nonlinear code takes hours instead of
// milliseconds, beyond go test's time limit.
func TestHostileInput(t *testing.T) {
	prefixes := []string{"<a href=x>", "<rss><channel>", "<urlset>", "<a ", "<style>", "<img srcset='", "<script><!--", "<!DOCTYPE a ["}
	for _, piece := range hostile {
		body := strings.Repeat(piece, *hostileSize<<10/len(piece))
		for name, read := range readers {
			if used := allocated(func() { read([]byte(body)) }); used > 8<<20+4*uint64(len(body)) {
				t.Errorf("%s of %q...: %d KiB allocated for %d KiB", name, piece, used>>10, len(body)>>10)
			}
		}
		for _, prefix := range prefixes {
			swallow([]byte(prefix + body[:len(body)/16]))
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// readers are all functions that parse a body.
var readers = map[string]func(body []byte){
	"HTML":  func(body []byte) { HTML(body, Options{}) },
	"XHTML": func(body []byte) { HTML(body, Options{Resources: true, XML: true}) },
	"HTML with resources": func(body []byte) {
		HTML(body, Options{Resources: true, Forms: true, Scripting: true, DataAttrs: []string{"b"}})
	},
	"CSS":         func(body []byte) { CSS(body) },
	"Feed":        func(body []byte) { Feed(body) },
	"Sitemap":     func(body []byte) { _, _, _ = readSitemap(bytes.NewReader(body), SitemapOptions{}) },
	"MetaRefresh": func(body []byte) { MetaRefresh(string(body)) },
	"parseRel":    func(body []byte) { parseRel(string(body)) },
	"LinkHeader": func(body []byte) {
		LinkHeader([]string{string(body[:min(len(body), 256<<10)])}) // the maximum size of a header
	},
}

// swallow parses body with all readers.
func swallow(body []byte) {
	for _, read := range readers {
		read(body)
	}
}

func FuzzHTML(f *testing.F) {
	for _, piece := range hostile {
		f.Add([]byte(piece))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := HTML(body, everything)
		for _, l := range d.Links {
			if l.Offset < 0 || l.Offset >= len(body) || body[l.Offset] != '<' || len(l.Text) > maxText || l.Tag == "" {
				t.Errorf("%+v", l)
			}
		}
		if got := scribbled(NewScanner(everything), string(body)); !same(d, got) {
			t.Errorf("%+v, want %+v", got, d)
		}
		swallow(body)
	})
}

func TestScannerAllocatesNothing(t *testing.T) {
	page := strings.ReplaceAll(benchPage(), "&amp;", ";")
	for _, o := range []Options{{}, {Resources: true}} {
		s := NewScanner(o)
		if n := testing.AllocsPerRun(10, func() { s.Scan(page) }); n > 0 {
			t.Errorf("%+v: %v allocations a page", o, n)
		}
	}
}

func TestScannerKeepsNoStateBetweenPages(t *testing.T) {
	s := NewScanner(everything)
	pages := append([]string{benchPage(), "<svg><template><base href=x><a href=y>"}, agreeSeeds...)
	for range 2 {
		for _, page := range pages {
			if got, want := dump(s.Scan(page)), dump(HTML([]byte(page), everything)); emptied(got) != emptied(want) {
				t.Fatalf("%q\nreused: %s\nnew: %s", page, got, want)
			}
		}
		s.Reset()
	}
}

// emptied makes nil and empty slices print the same.
func emptied(s string) string {
	return strings.NewReplacer("(nil)", "{}").Replace(s)
}

func TestScannerResetReleasesThePage(t *testing.T) {
	s := NewScanner(everything)
	s.Scan(`<meta name=a content=b><a href=x>y`)
	s.Reset()
	for _, left := range []string{fmt.Sprint(s.doc.Links[:cap(s.doc.Links)][0]), fmt.Sprint(s.doc.Metas[:cap(s.doc.Metas)][0]), s.page, s.c.linkText.first.s, s.t.name} {
		if strings.ContainsAny(left, "xyb") {
			t.Errorf("kept %s", left)
		}
	}
}

func TestDocumentsStringsStayValid(t *testing.T) {
	s := NewScanner(Options{})
	ref := s.Scan(`<a href="a&amp;b">c <b>d`).Links[0]
	for range 1000 {
		s.Scan(`<a href="x&amp;y">z <b>w`)
	}
	if ref.Ref != "a&b" || ref.Text != "c d" {
		t.Errorf("became %+v", ref)
	}
}
