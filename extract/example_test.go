package extract_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/extract"
)

func ExampleHTML() {
	d := extract.HTML([]byte(`<title>A page</title>
		<base href="/docs/">
		<a href="intro.html?a=1&amp;b=2">The <b>intro</b></a>
		<a href="https://other.example/" rel="nofollow">Elsewhere</a>
		<!-- <a href="old.html">old</a> -->
		<script>document.write("<a href='no.html'>")</script>`), extract.Options{})
	fmt.Println(d.Title, d.Base)
	for _, l := range d.Links {
		fmt.Println(l.Kind, l.Ref, l.Rel, l.Text)
	}
	// Output:
	// A page /docs/
	// anchor intro.html?a=1&b=2  The intro
	// anchor https://other.example/ nofollow Elsewhere
}

func ExampleScanner() {
	s := extract.NewScanner(extract.Options{Resources: true})
	for _, page := range []string{`<img src=a.png>`, `<p style="background: url('b.png')">`} {
		for _, l := range s.Scan(page).Links {
			fmt.Println(l.Kind, l.Ref, l.Resource())
		}
	}
	// Output:
	// image a.png true
	// style b.png true
}

func ExampleMetaRefresh() {
	fmt.Println(extract.MetaRefresh("5; url='/next.html'"))
	fmt.Println(extract.MetaRefresh("soon"))
	// Output:
	// /next.html true
	//  false
}

func ExampleLinkHeader() {
	for _, l := range extract.LinkHeader([]string{`</page/2>; rel="next", </style.css>; rel=preload`}) {
		fmt.Println(l.Ref, l.Rel)
	}
	// Output:
	// /page/2 next
	// /style.css preload
}

func ExampleSitemap() {
	s := extract.Sitemap(strings.NewReader(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<url><loc>https://www.example.com/?a=1&amp;b=2</loc><lastmod>2026-01-02</lastmod></url>
		<url><loc>https://www.example.com/old</loc><priority>0.1</priority></url>
		</urlset>`), extract.SitemapOptions{})
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Loc, e.LastMod, e.Priority)
	}
	fmt.Println("cut:", s.Cut())
	// Output:
	// https://www.example.com/?a=1&b=2 2026-01-02 0.5
	// https://www.example.com/old  0.1
	// cut: false
}

func ExampleFeed() {
	d := extract.Feed([]byte(`<rss version="2.0"><channel><title>News</title><link>https://www.example.com/</link>
		<item><title>First</title><link>https://www.example.com/1</link></item></channel></rss>`))
	fmt.Println(d.Title)
	for _, l := range d.Links {
		fmt.Printf("%v %s %q\n", l.Kind, l.Ref, l.Text)
	}
	// Output:
	// News
	// link https://www.example.com/ ""
	// entry https://www.example.com/1 "First"
}

func ExampleCSS() {
	for _, l := range extract.CSS([]byte(`@import "base.css"; h1 { background: url(i/h1.png) }`)).Links {
		fmt.Println(l.Kind, l.Ref)
	}
	// Output:
	// import base.css
	// style i/h1.png
}

func ExampleTree() {
	root, err := extract.Tree([]byte(`<ul><li>One<li>Two</ul>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range root.Descendants() {
		if n.Data == "li" {
			fmt.Println(n.FirstChild.Data)
		}
	}
	// Output:
	// One
	// Two
}
