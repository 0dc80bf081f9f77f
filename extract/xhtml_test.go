package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// XML 1.0 (fifth edition): an element may be empty, a CDATA section is text, and a processing instruction ends with
// "?>".
func TestXHTML(t *testing.T) {
	all := everything
	all.XML = true
	for _, tt := range []struct{ name, body, want string }{
		{"empty script", `<script src="/s.js"/><a href="/x">x</a>`, "script script.src </s.js>\nanchor a.href </x> \"x\""},
		{"empty title", `<title/><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"empty iframe", `<iframe src="/f"/><a href="/x">x</a>`, "frame iframe.src </f>\nanchor a.href </x> \"x\""},
		{"empty textarea, style, xmp, noframes, noembed", `<textarea/><style/><xmp/><noframes/><noembed /><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"empty template", `<template/><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"empty a", `<a href="/x"/>not its text<a href="/y">y</a>`, "anchor a.href </x>\nanchor a.href </y> \"y\""},
		{"plaintext is nothing special", `<plaintext><a href="/x">x</a></plaintext>`, `anchor a.href </x> "x"`},
		{"script that is not empty", `<script>document.write("<a href='/no'>no</a>")</script><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"script in CDATA", `<script><![CDATA[ "</script><a href='/no'>" ]]></script><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"script in CDATA of both worlds", "<script>//<![CDATA[\n'<a href=/no>'\n//]]></script><a href='/x'>x</a>", `anchor a.href </x> "x"`},
		{"style in CDATA", `<style><![CDATA[ @import "/a.css"; b{background:url(/b.png)} ]]></style><style>c{background:url(/c?a&amp;b)}</style>`,
			"import style </a.css>\nstyle style </b.png>\nstyle style </c?a&b>"},
		{"CDATA in text", `<p><![CDATA[<a href="/no">]]></p><a href="/x"><![CDATA[<x> &amp;]]></a>`, `anchor a.href </x> "<x> &amp;"`},
		{"processing instruction", `<?php echo ">", "<a href='/no'>no</a>" ?><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"document type with a subset", `<!DOCTYPE html [<!ENTITY e ">"> <!ENTITY f "<a href='/no'>]></a>"> <!-- ]> <a href="/no"> ' --> ]><a href="/x">&amp;&#x41;</a>`, `anchor a.href </x> "&A"`},
		{"template that is not empty", `<template><p/><a href="/no"/></template><a href="/x"/>`, `anchor a.href </x>`},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"><title/><script href="/s"/><a xlink:href="/x"/><style/></svg><a href="/y"/>`,
			"script script.href </s>\nanchor a.xlink:href </x>\nanchor a.href </y>"},

		// Documents that are not well-formed are read anyway.
		{"end tags missing", `<p><a href="/x">x<p><a href="/y">y`, "anchor a.href </x> \"x\"\nanchor a.href </y> \"y\""},
		{"no quotes, upper case", `<A HREF=/x>x</A>`, `anchor a.href </x> "x"`},
		{"script that nothing ends", `<script><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"title that nothing ends", `<title>t<a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"CDATA that nothing ends", `<a href="/x">x</a><![CDATA[<a href="/no">`, `anchor a.href </x> "x"`},
		{"script with CDATA that nothing ends", `<script><![CDATA[</script><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"processing instruction that nothing ends", `<?php><a href="/x">x</a>`, `anchor a.href </x> "x"`},
		{"document type that nothing ends", `<!DOCTYPE html [><a href="/x">x</a>`, `anchor a.href </x> "x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(HTML([]byte(tt.body), all)); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

func TestXHTMLTitle(t *testing.T) {
	for page, want := range map[string]string{
		`<title>a &amp; b</title>`:                            "a & b",
		`<title><![CDATA[a &amp; ]]>b &lt;</title>`:           "a &amp; b <",
		`<title/><title>b</title>`:                            "",
		`<svg><title>a</title></svg><title>b</title><p/>`:     "b",
		`<title><![CDATA[</title>]]></title><title>b</title>`: "</title>",
	} {
		if got := HTML([]byte(page), Options{XML: true}).Title; got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// In text/html a slash does not close an element.
func TestHTMLIgnoresEmptyElementSyntax(t *testing.T) {
	if d := HTML([]byte(`<script src="/s.js"/><a href="/x">x</a>`), Options{}); len(d.Links) != 0 {
		t.Errorf("links %s", show(d))
	}
}

// well returns a random well-formed document of n elements.
func well(r *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e "<x>">]><html xmlns="http://www.w3.org/1999/xhtml">`)
	var open []string
	for i := range n {
		name := []string{"a", "p", "div", "script", "title", "iframe", "style", "textarea", "span", "noscript"}[r.IntN(10)]
		fmt.Fprintf(&b, "<%s href='%d' src=\"%d\"", name, i, i)
		switch r.IntN(3) {
		case 0:
			b.WriteString("/>")
		case 1:
			fmt.Fprintf(&b, "><![CDATA[</%s><a href='no'> &amp;]]>&amp;</%s>", name, name)
		default:
			b.WriteString(" >")
			if rawElement(name) {
				fmt.Fprintf(&b, "text &lt;</%s>", name)
			} else {
				open = append(open, name)
			}
		}
		b.WriteString([]string{"", "text", "<!-- <a href='no'> -->", "<?p <a href='no'> ?>", "<![CDATA[<a href='no'>]]>", "\n"}[r.IntN(6)])
		for len(open) > 0 && r.IntN(2) == 0 {
			fmt.Fprintf(&b, "</%s >", open[len(open)-1])
			open = open[:len(open)-1]
		}
	}
	for _, name := range slices.Backward(open) {
		fmt.Fprintf(&b, "</%s>", name)
	}
	return b.String() + "</html>"
}

func rawElement(name string) bool { return elementOf(name).rawText() && name != "noscript" }

// xmlAnchors returns the references of a elements found by encoding/xml, and its error.
func xmlAnchors(page string) (refs []string, err error) {
	for d := xml.NewDecoder(bytes.NewReader([]byte(page))); ; {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return refs, nil
		}
		if err != nil {
			return refs, err
		}
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "a" {
			for _, a := range e.Attr {
				if a.Name.Local == "href" {
					refs = append(refs, a.Value)
				}
			}
		}
	}
}

// In well-formed documents, the anchors match those found by encoding/xml.
func TestXHTMLAgreesWithXML(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 3000 {
		page := well(r, 1+r.IntN(20))
		want, err := xmlAnchors(page)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		var got []string
		for _, l := range HTML([]byte(page), Options{XML: true}).Links {
			if l.Kind == Anchor {
				got = append(got, l.Ref)
			}
		}
		if found += len(want); !slices.Equal(got, want) {
			t.Fatalf("%s\nanchors %q, want %q", page, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d anchors", found)
	}
}
