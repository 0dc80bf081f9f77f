package extract

import (
	"fmt"
	"strings"
	"testing"
)

func TestFeedLinks(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"RSS 2.0", `<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Feed</title><link>http://x/</link>
<atom:link rel="self" href="http://x/feed" type="application/rss+xml"/><image><url>http://x/i.png</url><title>I</title><link>http://x/img</link></image>
<item><title>One &amp; only</title><link> http://x/1?a=1&amp;b </link><guid>http://x/g1</guid><enclosure url="http://x/1.mp3" length="1" type="audio/mpeg"/></item>
<item><link>http://x/2</link><title><![CDATA[Two & <b>]]></title><media:content url="http://x/2.mp4"/><source url="http://y/"><title>no</title></source></item></channel></rss>`,
			`link link <http://x/> (alternate)
link link.href <http://x/feed> (self) application/rss+xml
image url <http://x/i.png>
entry link <http://x/1?a=1&b> "One & only"
media enclosure.url <http://x/1.mp3> audio/mpeg
entry link <http://x/2> "Two & <b>"
media media:content.url <http://x/2.mp4>`},
		{"RSS guid", `<rss><channel><item><guid>http://x/1</guid></item><item><guid isPermaLink="false">http://x/2</guid></item><item><guid>tag:3</guid></item></channel></rss>`,
			`entry guid <http://x/1>`},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="r" xmlns="s"><channel rdf:about="http://x/"><title>Feed</title><link>http://x/</link><image rdf:resource="i"/></channel>
<item rdf:about="http://x/1"><title>One</title><link>http://x/1</link></item></rdf:RDF>`,
			"link link <http://x/> (alternate)\nentry link <http://x/1> \"One\""},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/b/"><title>Feed</title><link href="."/><link rel="next" href="?p=2"/>
<entry xml:base="http://x/e/"><title>One</title><link href="1"/><link rel="enclosure" type="a/b" href="1.mp3"/><link rel="edit" href="/edit"/><source><link href="no"/><title>no</title></source></entry>
<entry><link rel="alternate" type="text/html" href="2"/><title>Two</title></entry></feed>`,
			`link link.href <.> (alternate)
link link.href <?p=2> (next)
entry link.href <http://x/e/1> (alternate) "One"
media link.href <http://x/e/1.mp3> (other) a/b
link link.href <http://x/edit> (other)
entry link.href <2> (alternate) "Two" text/html`},
		{"a base inside a base", `<feed xml:base="http://x/b/"><entry xml:base="e/"><link href="1"/></entry><entry xml:base="/e/"><link href="2"/></entry></feed>`,
			"entry link.href <http://x/b/e/1> (alternate)\nentry link.href <http://x/e/2> (alternate)"},
		{"a relative base", `<feed><entry xml:base="e/"><link href="1?a"/><link href="/2"/><link href="http://y/3"/><link href="?4"/></entry></feed>`,
			"entry link.href <e/1?a> (alternate)\nentry link.href </2> (alternate)\nentry link.href <http://y/3> (alternate)\nentry link.href <e/?4> (alternate)"},
		{"Atom with a prefix", `<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><title>no</title><a:title>One</a:title><a:link href="1"/></a:entry></a:feed>`,
			`entry link.href <1> (alternate) "One"`},
		{"attribute with >", `<rss><item><enclosure url="a>b" type='c>d'/>`, "media enclosure.url <a>b> c>d"},
		{"end tags missing", `<rss><channel><item><title>One<link>1<item><title>Two<link>2`, "entry link <1> \"One\""},
		{"not a feed", `<html><link href=x><item><link>y</link></item></html>`, `no feed`},
		{"JSON of another kind", `{"items": [{"url": "http://x/"}]}`, `no feed`},
		{"JSON of another version", `{"version": "https://example.org/1", "items": [{"url": "http://x/"}]}`, `no feed`},
		{"neither XML nor JSON", `http://x/`, `no feed`},
		{"empty", ``, `no feed`},
		{"blank", "\ufeff \n", `no feed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := "no feed"
			if d := Feed([]byte(tt.body)); d != nil {
				got = show(d)
			}
			if got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFeedHead(t *testing.T) {
	for _, body := range []string{
		"\ufeff<feed xml:lang='de' xml:base='http://x/'><title> A\n <!-- c -->B </title><subtitle>S</subtitle><entry><title>C</title></entry></feed>",
		"<rss xml:base='http://x/'><channel><media:title>M</media:title><title>A B</title><language>de</language></channel></rss>",
	} {
		d := Feed([]byte(body))
		if got := fmt.Sprintf("%s|%s|%s", d.Title, d.Lang, d.Base); got != "A B|de|http://x/" {
			t.Errorf("%s\ngot %s", body, got)
		}
	}
}

func TestFeedOffset(t *testing.T) {
	const body = `<rss><channel><item><link>http://x/</link><enclosure url="y"/>`
	d := Feed([]byte(body))
	for i, want := range []string{"<link", "<enclosure"} {
		if got := d.Links[i].Offset; got != strings.Index(body, want) {
			t.Errorf("%s at %d", want, got)
		}
	}
}

func TestFeedMaxLinks(t *testing.T) {
	d := Feed([]byte("<feed>" + strings.Repeat("<link href='x'/>", defaultMaxLinks+5)))
	if len(d.Links) != defaultMaxLinks || d.Dropped != 5 {
		t.Errorf("%d links, %d dropped", len(d.Links), d.Dropped)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(`<rss><channel><link>x</link><item><title>a</title><guid isPermaLink='true'>http://b</guid><enclosure url="c"/></item>`))
	f.Add([]byte(`<feed xml:base="a"><entry xml:base="b:c%"><link href="&#10;d" rel=enclosure/><title><![CDATA[ e ]]></title></entry>`))
	f.Add([]byte(`<rdf:RDF><item><link>a<image><url>b`))
	f.Add([]byte(`{"version": "https://jsonfeed.org/version/1", "items": [{"title": "a", "id": "http://b", "attachments": [{"url": "c", "mime_type": "d/e"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Feed(body)
		if d == nil {
			return
		}
		for _, l := range d.Links {
			if l.Ref == "" || l.Offset < 0 || l.Offset >= len(body) || len(l.Text) > maxText {
				t.Errorf("%+v", l)
			}
		}
	})
}
