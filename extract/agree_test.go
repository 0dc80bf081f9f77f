package extract

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The scanner must agree with the tokenizer of x/net/html, byte for byte: both feed a collector, and the Documents
// must be equal. Where the tokenizer deviates from the HTML Standard, the scanner follows the Standard and counts
// the place in Scanner.departed, and the Documents are not compared:
//
// 	input                    tokenizer                    Standard
// 	<script><!-- < …         "<" and a blank (or anything  section 13.2.5.23: still escaped, a
// 	                         but "/" and a letter) ends    "<script>…</script>" that follows is
// 	                         the escaped part              script text
// 	<svg b b=/>              a repeated attribute that     section 13.2.5.38: the "/" is the
// 	                         ends in "/" closes the        value's, the element stays open
// 	                         element
//
// The reference corrects a third deviation: the tokenizer decodes character references in CDATA sections, but the
// Standard (section 13.2.5.69) does not.

// variants are the options used to test agreement.
var variants = []Options{
	{},
	everything,
	{Scripting: true, Forms: true, MaxLinks: 3, MaxTitle: 10},
	{DataAttrs: []string{"data-a", "class"}, Resources: true},
}

// disagreement describes how the scanner and the reference differ on a page. It is "" if they agree.
func disagreement(s *Scanner, page string, o Options) string {
	got := s.Scan(page)
	if s.departed > 0 {
		return ""
	}
	want := reference([]byte(page), o)
	if len(got.Links) == 0 && len(want.Links) == 0 {
		got.Links = want.Links
	}
	if len(got.Metas) == 0 && len(want.Metas) == 0 {
		got.Metas = want.Metas
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	return "scanner:\n" + dump(got) + "\ntokenizer:\n" + dump(want)
}

func FuzzAgree(f *testing.F) {
	for _, seed := range agreeSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		for _, o := range variants {
			if d := disagreement(NewScanner(o), page, o); d != "" {
				t.Fatalf("%q with %+v\n%s", page, o, d)
			}
		}
	})
}

// TestAgreeShuffled combines pieces of markup at random.
func TestAgreeShuffled(t *testing.T) {
	pieces := strings.Split("< > / = \" ' ! - -- --> <!-- --!> <a <A </a <b> </b> <svg <svg> </svg> <math> <mi> </mi> <desc> </desc>"+
		" <title> </title> <title </title <script> </script> <script </script <style> </style> <textarea> </textarea <xmp> </xmp>"+
		" <noscript> </noscript> <template> </template> <plaintext <iframe </iframe> <![CDATA[ ]]> ] ]] <? <! <!doctype </ href href=x"+
		" href='y' HREF=\"z\" xlink:href=v src=u class=t data-a=s style=url(r) srcset=q,p content=1;url=o http-equiv=refresh"+
		" rel=canonical <base <link <meta <img <area <html lang=n &amp; &amp &copy= &notit; &#65; &#x1F600 &nGt; & # ; x\x00 \r\n \r url( @import"+
		" shadowrootmode=open encoding=text/html <annotation-xml <foreignObject> </foreignObject> <font face <p> </p> /> <form action=m \\ é", " ")
	pieces = append(pieces, " ", " ", "\n", ">", ">", ">")
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(40) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		o := variants[r.IntN(len(variants))]
		if d := disagreement(NewScanner(o), b.String(), o); d != "" {
			t.Fatalf("%q with %+v\n%s", b.String(), o, d)
		}
	}
}

// agreeSeeds covers the corner cases of the tokenizer's state machine.
var agreeSeeds = []string{
	`<a href=x>t</a>`, `<A HREF="x&amp;y" href=z>a <b>b</b>c`, "<a href='\x00\r\n&#0;&#x80;&#1114112;'>", `<a/href=x/>`,
	`<a =href=x>`, `<a href = "x"class=y>`, `<a href=>b`, `<a href=x`, `<a href="x`, `<a href="x"`, `<a<a href=x>`, `<<a href=x>`,
	`<!--><a href=1>--><!---><a href=2><!-- --!><a href=3><!--x--!-><a href=4>--><a href=5><!-->`, `<!-x><a href=1>`,
	`<!doctype html "><a href=1>"><a href=2>`, `<?php "><a href=1>" ?>`, `</><a href=1></ ><a href=2></!--><a href=3>`, `</! a='><a href=1>'>`,
	`<script><!--<script></script><a href=1>--></script><a href=2>`, `<script></scripty></script ><a href=1>`,
	`<script><!--></script><a href=1>`, `<script><!-- </script><a href=1>`, `<script><!--<script>--></script><a href=1>`,
	`<title>a &lt; <b></titlex></title/><a href=1>`, `<textarea></textarea<a href=1></textarea ><a href=2>`,
	`<style></style><a href=1>`, `<xmp><a href=1></xmp><iframe src=2><a href=3></iframe><noembed></noembed>`,
	`<noscript><a href=1></noscript><a href=2>`, `<plaintext><a href=1>`, `<svg><title><a href=1></title></svg>`,
	`<svg><![CDATA[<a href=1>]]><a href=2><![CDATA[`, `<svg/><![CDATA[<a href=1>]]>`, `<math><mi><![CDATA[<p>]]><b><![CDATA[<a href=1>]]>`,
	`<svg><foreignObject><title><a href=1></title></foreignObject><style><a href=2></style>`, `<svg><p><style><a href=1></style>`,
	`<svg><font face=x><title><a href=1></title>`, `<math><annotation-xml encoding=text/HTML><style><a href=1></style>`,
	`<base href=" data:x"><base href=y><base>`, `<template><a href=1></template><a href=2>`, `<template shadowrootmode=open><a href=1>`,
	`<meta http-equiv=refresh content="1;url=x"><meta name=A content="b&amp;">`, `<html lang=" en "><title> a
	b &notit; </title><title>c</title>`, `<a href="&copy=1&copy;2&copy3&copy&nGt;&notit;&not;&#38;&#x26&amp">`, `<a href=1>&copy=&copy1&notit;&semi;&am<!---->p;`,
	`<img src=a srcset="b 1x, c (d,e) 2x,f"><p style="a:url(b);c:url('d\65')" class=e data-a=f>`, "<style>@import 'a';\x00b{c:url(d\\\r\ne)}</style>",
	`<svg><style>@import "&amp;";<![CDATA[a{b:url(&amp;)}]]></style>`, `<link rel="a canonical" href=1 imagesrcset=2>`, `<a href=1>a<area href=2 alt=" b "><img alt="c
	d" src=e>f`, `<svg a="b"/><title><a href=1></title>`, `<input type=image src=1><body background=2><form action=3>`, "<style>a{b:url(\\\x00", `<a`, `<`, `</`, `</a`, `<!`, `<!-`, `<!--`, `<!--a-`, `<a href=1>b</`, `<meta http-equiv="refres&#104;" content="1;x">`,
	`<form method="pos&#116;" action=x>`, `<input type="im&#97;ge" src=x>`, `<template shadowrootmode="o&#112;en"><a href=x>`, `<math><annotation-xml encoding="text&#47;html"><style><a href=x>`,
}

// dump formats a Document for reading.
func dump(d *Document) string {
	return strings.ReplaceAll(fmt.Sprintf("%#v", *d), "extract.Link", "\n")
}

var trees = flag.String("trees", "", "directories of pages that the scanner, the tokenizer and the tree must agree on, separated by colons: "+
	"*.html, and html5lib's *.dat and *.test")

func TestTrees(t *testing.T) {
	if *trees == "" {
		t.Skip("no -trees")
	}
	pages, links, departed := 0, 0, 0
	for _, dir := range filepath.SplitList(*trees) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			for _, page := range pagesOf(path) {
				pages++
				for _, o := range variants {
					s := NewScanner(o)
					if d := disagreement(s, page, o); d != "" {
						t.Errorf("%s: %.200q\n%.1000s", path, page, d)
					}
					links += len(s.doc.Links)
					departed += s.departed
				}
				if d := treeDisagreement(page); d != "" {
					t.Errorf("%s: %.500q\n%s", path, page, d)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages, %d links, %d departures", pages, links, departed)
}

// pagesOf returns the pages in a file.
func pagesOf(path string) []string {
	ext := filepath.Ext(path)
	if ext != ".html" && ext != ".htm" && ext != ".dat" && ext != ".test" {
		return nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil // a dangling link
	}
	switch ext {
	case ".dat":
		return datPages(string(body))
	case ".test":
		return testPages(body)
	}
	return []string{string(body)}
}

// datPages returns the inputs of html5lib's tests for tree construction.
func datPages(file string) (pages []string) {
	for test := range strings.SplitSeq("\n"+file, "\n#data\n") {
		page, _, ok := strings.Cut(test, "\n#errors")
		if ok {
			pages = append(pages, page)
		}
	}
	return pages
}

// testPages returns the inputs of html5lib's tokenizer tests, as pages and as attribute values.
func testPages(file []byte) (pages []string) {
	var suite struct {
		Tests []struct{ Input string }
	}
	if json.Unmarshal(file, &suite) != nil {
		return nil
	}
	for _, test := range suite.Tests {
		pages = append(pages, test.Input, "<a href='"+test.Input+"'>"+test.Input+"</a>")
	}
	return pages
}

// treeDisagreement compares the targets of a elements in the tree with the anchors found. Their number does not matter:
// the parser repeats an open a element in the next block or table cell (HTML Standard section 13.2.4.3), although the
// page has it only once.
func treeDisagreement(page string) string {
	root, err := Tree([]byte(page))
	if err != nil {
		return ""
	}
	inTree, found := make(map[string]bool), make(map[string]bool)
	anchorsBelow(root, inTree)
	for _, l := range HTML([]byte(page), Options{MaxLinks: 1 << 20}).Links {
		if l.Kind == Anchor {
			found[l.Ref] = true
		}
	}
	if maps.Equal(inTree, found) {
		return ""
	}
	return fmt.Sprintf("in the tree: %q\nfound: %q", slices.Sorted(maps.Keys(inTree)), slices.Sorted(maps.Keys(found)))
}

// anchorsBelow collects the targets of the a elements below n. Elements in a template do not count.
func anchorsBelow(n *html.Node, refs map[string]bool) {
	for c := range n.ChildNodes() {
		if c.Data == "template" && c.Namespace == "" {
			continue
		}
		if c.Type == html.ElementNode && c.Data == "a" && c.Namespace != "math" {
			i := slices.IndexFunc(c.Attr, func(a html.Attribute) bool { return a.Key == "href" })
			if i >= 0 {
				refs[trimRef(c.Attr[i].Val)] = true
			}
		}
		anchorsBelow(c, refs)
	}
}
