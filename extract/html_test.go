package extract

import (
	"fmt"
	"strings"
	"testing"
)

// show formats the links of a document, one per line: kind, tag and attribute, reference, and other fields.
func show(d *Document) string {
	var b strings.Builder
	for _, l := range d.Links {
		fmt.Fprintf(&b, "%v %s", l.Kind, l.Tag)
		if l.Attr != "" {
			b.WriteString("." + l.Attr)
		}
		fmt.Fprintf(&b, " <%s>", l.Ref)
		if l.Rel != 0 {
			fmt.Fprintf(&b, " (%v)", l.Rel)
		}
		if l.Text != "" {
			fmt.Fprintf(&b, " %q", l.Text)
		}
		if l.Type != "" {
			b.WriteString(" " + l.Type)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// everything is the set of options that finds all links.
var everything = Options{Resources: true, Forms: true, DataAttrs: []string{"Data-Href"}}

func TestHTMLLinks(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a", `<a href=/x>Text</a>`, `anchor a.href </x> "Text"`},
		{"a without href", `<a name=x>Text</a>`, ``},
		{"a empty href", `<a href>Top</a>`, `anchor a.href <> "Top"`},
		{"a upper case", `<A HREF='/x'>Text</A>`, `anchor a.href </x> "Text"`},
		{"blanks around", "<a href=' \t\n/x\x01 '>Text</a>", `anchor a.href </x> "Text"`},
		{"text over elements", "<a href=/x> <b>One</b>\n two<i>three</i>  </a> four", `anchor a.href </x> "One twothree"`},
		{"text with references", "<a href=/x>a &amp; b&nbsp;c&notit;</a>", "anchor a.href </x> \"a & b\\u00a0c¬it;\""},
		{"a inside a ends it", "<a href=/x>One<a href=/y>Two</a>", "anchor a.href </x> \"One\"\nanchor a.href </y> \"Two\""},
		{"rel", `<a rel="NoFollow  ugc,x sponsored" href=/x></a>`, `anchor a.href </x> (nofollow sponsored other)`},
		{"area", `<area href=/x alt="The  alt">`, `area area.href </x> "The alt"`},
		{"frames", `<iframe src=/x></iframe><frame src=/y>`, "frame iframe.src </x>\nframe frame.src </y>"},
		{"iframe empty", `<iframe src=""></iframe>`, ``},
		{"link", `<link rel="alternate" type=application/rss+xml href=/feed>`, `link link.href </feed> (alternate) application/rss+xml`},
		{"link without rel", `<link href=/x>`, ``},
		{"refresh", `<meta http-equiv=Refresh content="5; URL='/x'">`, `refresh meta.content </x>`},
		{"refresh once", `<meta http-equiv=refresh content="bad"><meta http-equiv=refresh content="1;a"><meta http-equiv=refresh content="1;b">`, `refresh meta.content <a>`},
		{"form", `<form action=/x></form><form method=POST action=/y></form><form method=dialog action=/z></form>`, `form form.action </x>`},
		{"data attribute", `<div DATA-href=/x></div>`, `data div.data-href </x>`},
		{"comment", `<!-- <a href=/x> --><a href=/y></a>`, `anchor a.href </y>`},
		{"script", `<script>"<a href=/x>"</script><a href=/y></a>`, `anchor a.href </y>`},
		{"textarea", `<textarea><a href=/x></textarea><a href=/y></a>`, `anchor a.href </y>`},
		{"title", `<title><a href=/x></title><a href=/y></a>`, `anchor a.href </y>`},
		{"noscript", `<noscript><a href=/x></a></noscript><a href=/y></a>`, "anchor a.href </x>\nanchor a.href </y>"},
		{"noscript in the head", `<head><noscript><meta http-equiv=refresh content="0;/x"><link rel=stylesheet href=/c></noscript></head>`, "refresh meta.content </x>\nlink link.href </c> (stylesheet)"},
		{"noscript that nothing ends", `<noscript><a href=/x></a>`, `anchor a.href </x>`},
		{"plaintext", `<plaintext><a href=/x></plaintext><a href=/y></a>`, ``},
		{"template", `<template><a href=/x><template></template><a href=/y></template><a href=/z></a>`, `anchor a.href </z>`},
		{"shadow root", `<template shadowrootmode=open><a href=/x></a></template><a href=/z></a>`, "anchor a.href </x>\nanchor a.href </z>"},
		{"unfinished tag", `<a href=/x></a><a href=/y`, `anchor a.href </x>`},
		{"first of two attributes", `<a href=/x HREF=/y></a>`, `anchor a.href </x>`},
		{"references in attributes", `<a href="?a=1&amp;b=2&copy=3&lt4&lt;&#x41;&copy"></a>`, `anchor a.href <?a=1&b=2&copy=3&lt4<A©>`},
		{"svg a", `<svg><a xlink:href=/x>T</a><a href=/y xlink:href=/z></a></svg>`, "anchor a.xlink:href </x> \"T\"\nanchor a.href </y>"},
		{"svg title is markup", `<svg><title><a href=/x></a></title></svg>`, "anchor a.href </x>"},
		{"svg resources", `<svg><image href=/i /><use xlink:href="/s#a"/><use href="#b"/><script href=/j /></svg>`, "image image.href </i>\nobject use.xlink:href </s#a>\nscript script.href </j>"},
		{"svg style", `<svg><style>a{fill:url(/x)}</style></svg>`, "style style </x>"},
		{"cdata in svg is text", `<svg><![CDATA[><a href=/x></a>]]></svg><a href=/y></a>`, `anchor a.href </y>`},
		{"cdata in an svg title is text", `<svg><title><![CDATA[><a href=/x></a>]]></title></svg>`, ``},
		{"cdata in html is a comment", `<![CDATA[><a href=/x></a>]]>`, `anchor a.href </x>`},
		{"html ends svg", `<svg><p><![CDATA[><a href=/x></a>]]>`, `anchor a.href </x>`},
		{"an end tag ends svg", `<svg></p><![CDATA[><a href=/x></a>]]>`, `anchor a.href </x>`},
		{"a slash of a value closes no svg", `<svg b=c/><title><a href=/x></title>`, `anchor a.href </x>`},
		{"html in svg", `<svg><foreignObject><p><title><a href=/x></a></title></foreignObject><title><a href=/y></a></title>`, `anchor a.href </y>`},
		{"html in mathml", `<math><mtext><style><a href=/x></a></style></mtext><style><a href=/y></a></style>`, `anchor a.href </y>`},
		{"images", `<img src=/a alt=A srcset="/b 1x, /c,d 2x , /e"><picture><source srcset=/f></picture><input type=image src=/g><input type=text src=/h>`,
			"image img.src </a> \"A\"\nimage img.srcset </b> \"A\"\nimage img.srcset </c,d> \"A\"\nimage img.srcset </e> \"A\"\nimage source.srcset </f>\nimage input.src </g>"},
		{"media", `<video src=/a poster=/b><track src=/c></video><audio src=/d><source src=/e type=audio/ogg></audio>`,
			"media video.src </a>\nimage video.poster </b>\nmedia track.src </c>\nmedia audio.src </d>\nmedia source.src </e> audio/ogg"},
		{"objects", `<object data=/a type=x/y></object><embed src=/b>`, "object object.data </a> x/y\nobject embed.src </b>"},
		{"script src", `<script src=/a type=module></script>`, "script script.src </a> module"},
		{"data: and fragments are in the page", `<img src="data:,x"><img src="#x"><img src="">`, ``},
		{"style element", `<style>@import "/a"; b{background:url(/b)}</style>`, "import style </a>\nstyle style </b>"},
		{"style attribute", `<p style="background: url(&quot;/a&quot;)">`, "style p.style </a>"},
		{"background", `<body background=/a>`, "image body.background </a>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(HTML([]byte(tt.body), everything)); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

// TestHTMLBase follows the HTML Standard, section 4.2.3: set the frozen base URL.
func TestHTMLBase(t *testing.T) {
	for page, want := range map[string]string{
		`<base href=" /x "><base href=/y>`:        "/x",
		`<a href=z><p><base href=/x>`:             "/x",
		`<base href=""><base href=/y>`:            "",
		`<base href="data:,x"><base href=/y>`:     "",
		`<base href="JavaScript:x">`:              "",
		`<template><base href=/x></template>`:     "",
		`<svg><base href=/x></svg><base href=/y>`: "/y",
	} {
		if got := HTML([]byte(page), Options{}).Base; got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

func TestHTMLOffset(t *testing.T) {
	const body = "<!DOCTYPE html>\r\n<p>é</p><a href=x></a>"
	d := HTML([]byte(body), Options{})
	if want := strings.Index(body, "<a"); len(d.Links) != 1 || d.Links[0].Offset != want {
		t.Errorf("links %v, want one at %d", d.Links, want)
	}
}

func TestHTMLHead(t *testing.T) {
	d := HTML([]byte(`<html lang=de><head><title> A &amp;
		B </title><title>C</title><base target=x><base href="/b/"><base href="/c/">
		<meta name=Robots content="noindex"><meta http-equiv=Content-Language content=de><meta name=x>
		<link rel=canonical href=/canon><link rel=canonical href=/second>`), Options{})
	got := fmt.Sprintf("%q %q %q %q %q", d.Lang, d.Title, d.Base, d.Canonical, d.Metas)
	want := `"de" "A & B" "/b/" "/canon" [{"robots" "noindex"} {"content-language" "de"}]`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestMetaRefresh follows the HTML Standard, section 4.2.5.3: shared declarative refresh steps.
func TestMetaRefresh(t *testing.T) {
	for _, tt := range []struct {
		content, ref string
		ok           bool
	}{
		{"5; url=/x", "/x", true},
		{"5;URL = '/x' ; y", "/x", true},
		{`0;url="/x`, "/x", true},
		{"5 /x", "/x", true},
		{"5,/x", "/x", true},
		{"  5.5.5;/x", "/x", true},
		{".5;/x", "/x", true},
		{"5", "", true},
		{"5;", "", true},
		{"5; url=", "", true},
		{"5; 'a'b", "a", true},
		{"5;urn:x", "urn:x", true},
		{"5;urlx", "urlx", true},
		{"5;url x", "url x", true},
		{"5;url=url=x", "url=x", true},
		{"5;;x", ";x", true},
		{"", "", false},
		{"x", "", false},
		{"-5;x", "", false},
		{"5x", "", false},
		{"url=/x", "", false},
	} {
		if ref, ok := MetaRefresh(tt.content); ref != tt.ref || ok != tt.ok {
			t.Errorf("%q: %q, %t; want %q, %t", tt.content, ref, ok, tt.ref, tt.ok)
		}
	}
}
