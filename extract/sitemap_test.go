package extract

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readSitemap reads all entries, and returns the error at which reading ended, unless that is io.EOF.
func readSitemap(r io.Reader, o SitemapOptions) (entries []SitemapEntry, cut bool, err error) {
	s := Sitemap(r, o)
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return entries, s.Cut(), nil
		}
		if err != nil {
			return entries, s.Cut(), err
		}
		entries = append(entries, e)
	}
}

func showEntries(entries []SitemapEntry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s %s %g %t\n", e.Loc, e.LastMod, e.ChangeFreq, e.Priority, e.Sitemap)
	}
	return b.String()
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`

func TestSitemap(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"urlset", urlset + `<url><loc> http://x/ </loc><lastmod>2026-01-02</lastmod><changefreq>daily</changefreq><priority>0.8</priority></url>` +
			`<url><loc>http://x/b</loc></url></urlset>`, "http://x/ 2026-01-02 daily 0.8 false\nhttp://x/b   0.5 false\n"},
		{"index", `<sitemapindex><sitemap><loc>http://x/s.xml</loc><lastmod>2026</lastmod></sitemap></sitemapindex>`,
			"http://x/s.xml 2026  0.5 true\n"},
		{"prefixes", `<s:urlset xmlns:s="x"><s:url><s:loc>http://x/</s:loc></s:url></s:urlset>`, "http://x/   0.5 false\n"},
		{"byte order mark and blanks", "\ufeff \n" + urlset + `<url><loc>http://x/</loc></url>`, "http://x/   0.5 false\n"},
		{"references", urlset + `<url><loc>http://x/?a=1&amp;b=&#50;&copy=3&quot;</loc></url>`, "http://x/?a=1&b=2&copy=3\"   0.5 false\n"},
		{"cdata", urlset + `<url><loc><![CDATA[http://x/?a&amp;b]]></loc></url>`, "http://x/?a&amp;b   0.5 false\n"},
		{"images have their own loc", urlset + `<url><image:image><image:loc>http://x/i.png</image:loc></image:image><loc>http://x/</loc></url>`,
			"http://x/   0.5 false\n"},
		{"entities are not expanded", `<!DOCTYPE urlset [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY f "]>"><!-- ' -->]><urlset><url><loc>http://x/&e;&f;</loc></url></urlset>`,
			"http://x/&e;&f;   0.5 false\n"},
		{"document type with a subset", `<!DOCTYPE urlset PUBLIC 'a>b' "c" [ <!-- don't <urlset> --> <!ENTITY % e "<url><loc>http://no/</loc></url>"> %e; <?p <urlset> ?> ]><urlset><url><loc>http://x/</loc></url>`,
			"http://x/   0.5 false\n"},
		{"comments", `<!-- <urlset> --><urlset><!-- <url><loc>http://x/no</loc></url> ---><url><loc>http://<!-- -- -->x/</loc></url></urlset>`,
			"http://x/   0.5 false\n"},
		{"end tags missing", urlset + `<url><loc>http://x/a<url><loc>http://x/b</url>`, "http://x/a   0.5 false\nhttp://x/b   0.5 false\n"},
		{"entry without loc", urlset + `<url><lastmod>2026</lastmod></url><url><loc>http://x/</loc></url>`, "http://x/   0.5 false\n"},
		{"priority out of range", urlset + `<url><loc>http://x/</loc><priority>7</priority></url><url><loc>http://y/</loc><priority>NaN</priority></url>`,
			"http://x/   0.5 false\nhttp://y/   0.5 false\n"},
		{"RSS 2.0", `<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><link>http://x/</link><a:link rel="self" href="http://x/feed"/><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>` +
			`<image><url>http://x/i.png</url><link>http://x/</link></image><item><title>t</title><link> http://x/1?a&amp;b </link><pubDate>Tue, 02 Jan 2024 03:04:05 +0100</pubDate><enclosure url="http://x/1.mp3"/></item>` +
			`<item><guid>http://x/2</guid></item><item><link><![CDATA[http://x/3]]></link><source url="http://y/"><link>http://y/</link></source></item></channel></rss>`,
			"http://x/1?a&b Tue, 02 Jan 2024 03:04:05 +0100  0.5 false\nhttp://x/2   0.5 false\nhttp://x/3   0.5 false\n"},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="r" xmlns="s" xmlns:dc="d"><channel><link>http://x/</link></channel><item rdf:about="http://x/1"><link>http://x/1</link><dc:date>2024-01-02</dc:date></item></rdf:RDF>`,
			"http://x/1 2024-01-02  0.5 false\n"},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://x/b/"><updated>2020-01-01</updated><link href="http://x/"/><entry xml:base="e/"><link rel="edit" href="no"/><link href="1?a&amp;b"/><link href="no"/>` +
			`<updated>2024-01-02T03:04:05Z</updated><source><link href="no"/><updated>2000</updated></source></entry><entry><link rel="alternate" type="text/html" href="/2"/></entry><entry><id>tag:x</id></entry></feed>`,
			"http://x/b/e/1?a&b 2024-01-02T03:04:05Z  0.5 false\nhttp://x/2   0.5 false\n"},
		{"Atom 0.3", `<feed version="0.3"><entry><link rel="alternate" href="http://x/1"/><modified>2004-01-02</modified></entry></feed>`, "http://x/1 2004-01-02  0.5 false\n"},
		{"Atom with a prefix", `<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><link>http://no/</link><a:link href="http://x/1"/></a:entry></a:feed>`, "http://x/1   0.5 false\n"},
		{"text", "http://x/a\r\n\nnot an address\n  HTTPS://x/b \nhttp://x/c", "http://x/a   0.5 false\nHTTPS://x/b   0.5 false\nhttp://x/c   0.5 false\n"},
		{"text, long line", "http://x/a\nhttp://x/" + strings.Repeat("a", 100_000) + "\nhttp://x/c", "http://x/a   0.5 false\nhttp://x/c   0.5 false\n"},
		{"loc too long", urlset + `<url><loc>http://x/` + strings.Repeat("a", 100_000) + `</loc></url><url><loc>http://x/</loc></url>`, "http://x/   0.5 false\n"},
		{"attribute with >", urlset + `<url a=">" b='>'><loc>http://x/</loc></url>`, "http://x/   0.5 false\n"},
		{"tag longer than the buffer", urlset + `<url a="` + strings.Repeat(">", 100_000) + `"><loc>http://x/</loc></url>`, "http://x/   0.5 false\n"},
		{"empty", "", ""},
		{"empty urlset", urlset + "</urlset>", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries, cut, err := readSitemap(strings.NewReader(tt.body), SitemapOptions{})
			if got := showEntries(entries); got != tt.want || cut || err != nil {
				t.Errorf("got %q, cut %t, %v\nwant %q", got, cut, err, tt.want)
			}
			entries, cut, err = readSitemap(bytes.NewReader(gzipped(tt.body)), SitemapOptions{})
			if got := showEntries(entries); got != tt.want || cut || err != nil {
				t.Errorf("gzip: got %q, cut %t, %v\nwant %q", got, cut, err, tt.want)
			}
		})
	}
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.Bytes()
}

func TestDocumentsThatAreNotSitemaps(t *testing.T) {
	for _, body := range []string{"<html><a href=x></a>", "just text\n", "<!-- x -->", "<opml><outline><link>http://x/</link>"} {
		if entries, _, err := readSitemap(strings.NewReader(body), SitemapOptions{}); !errors.Is(err, ErrNotSitemap) || len(entries) > 0 {
			t.Errorf("%q: %v, %v; want ErrNotSitemap", body, entries, err)
		}
	}
}

func TestSitemapMaxEntries(t *testing.T) {
	for _, sep := range []string{"\n", "<url><loc>"} {
		two := sep + "http://x/a" + sep + "http://x/b"
		if sep != "\n" {
			two = urlset + two + "</loc></url>"
		}
		for limit, cut := range map[int]bool{1: true, 2: false, 3: false} {
			entries, gotCut, err := readSitemap(strings.NewReader(two), SitemapOptions{MaxEntries: limit})
			if len(entries) != min(limit, 2) || gotCut != cut || err != nil {
				t.Errorf("limit %d: %d entries, cut %t, %v", limit, len(entries), gotCut, err)
			}
		}
	}
}

func TestSitemapMaxBytesAfterDecompression(t *testing.T) {
	body := urlset + "<url><loc>http://x/a</loc></url>" + strings.Repeat(" ", 1000)
	tail := "<url><loc>http://x/b</loc></url>"
	for _, r := range []io.Reader{strings.NewReader(body + tail), bytes.NewReader(gzipped(body + tail))} {
		entries, cut, err := readSitemap(r, SitemapOptions{MaxBytes: int64(len(body))})
		if len(entries) != 1 || !cut || err != nil {
			t.Errorf("%d entries, cut %t, %v; want 1, true", len(entries), cut, err)
		}
	}
	if entries, cut, err := readSitemap(strings.NewReader(body), SitemapOptions{MaxBytes: int64(len(body))}); len(entries) != 1 || cut || err != nil {
		t.Errorf("at the limit: %d entries, cut %t, %v; want 1, false", len(entries), cut, err)
	}
}

func TestSitemapKeepsEntriesBeforeAnError(t *testing.T) {
	body := gzipped(urlset + strings.Repeat("<url><loc>http://x/a</loc></url>", 10_000))
	entries, _, err := readSitemap(bytes.NewReader(body[:len(body)-10]), SitemapOptions{})
	if len(entries) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d entries, %v; want some and io.ErrUnexpectedEOF", len(entries), err)
	}
}

func TestSitemapModified(t *testing.T) {
	for _, tt := range []struct {
		lastMod string
		want    time.Time
	}{
		{"2026", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-03", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-03-04", time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)},
		{"2026-03-04T05:06+00:00", time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)},
		{"2026-03-04T05:06:07.5Z", time.Date(2026, 3, 4, 5, 6, 7, 5e8, time.UTC)},
		{"2026-03-04T05:06:07+01:00", time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC)},
		{"2026-03-04T05:06:07", time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
		{"Tue, 03 Mar 2026 05:06:07 +0100", time.Date(2026, 3, 3, 4, 6, 7, 0, time.UTC)},
		{"3 Mar 2026 05:06:07 GMT", time.Date(2026, 3, 3, 5, 6, 7, 0, time.UTC)},
		{"yesterday", time.Time{}},
	} {
		got, ok := SitemapEntry{LastMod: tt.lastMod}.Modified()
		if !got.Equal(tt.want) || ok == tt.want.IsZero() {
			t.Errorf("%q: %v, %t; want %v", tt.lastMod, got, ok, tt.want)
		}
	}
}

// FuzzSitemap reads a sitemap byte by byte and all at once. The entries are the same, and within the limits.
func FuzzSitemap(f *testing.F) {
	f.Add([]byte(urlset + `<url a=">"><loc>http://x/&amp;</loc><!-- --><![CDATA[]]></url>`))
	f.Add([]byte("<!DOCTYPE a [<!ENTITY b 'c'>]><s:sitemapindex><s:sitemap/><s:sitemap><s:loc>x</s:loc>"))
	f.Add([]byte("\ufeffhttp://x/\nhttps://y/\r\n"))
	f.Add([]byte("<rss><item><guid>http://x/</guid><pubDate>1</pubDate><item><link>http://y/<entry><link href='z'/>"))
	f.Add([]byte("<a:feed xml:base='http://x/'><a:entry xml:base='y/'><a:link rel=alternate href='z'/></a:entry>"))
	f.Add(gzipped("http://x/"))
	f.Add([]byte("<urlset><url><loc>a < b</loc></url><?x ?>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := SitemapOptions{MaxEntries: 5, MaxBytes: 10_000}
		entries, cut, err := readSitemap(bytes.NewReader(body), o)
		if len(entries) > 5 {
			t.Fatal(len(entries), "entries")
		}
		entries2, cut2, err2 := readSitemap(iotest.OneByteReader(bytes.NewReader(body)), o)
		if !reflect.DeepEqual(entries, entries2) || cut != cut2 || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%v %t %v\nbyte by byte: %v %t %v", entries, cut, err, entries2, cut2, err2)
		}
	})
}
