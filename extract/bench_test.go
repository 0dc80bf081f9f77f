package extract

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// benchPage returns an article page of 30 KB with 80 links: head, navigation, text with links, scripts, comments.
func benchPage() string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>An article &amp; its title</title>
<meta name="description" content="What the article says"><link rel="stylesheet" href="/static/site.css">
<link rel="canonical" href="https://www.example.com/articles/1"><script>var s = "<a href='/trap'>"; if (a < b) { c() }</script>
<style>body { margin: 0 } .nav > li { float: left }</style></head><body class="page">`)
	for i := range 30 {
		fmt.Fprintf(&b, `<li class="nav-item"><a class="nav-link" href="/section/%d/index.html">Section %d</a></li>`+"\n", i, i)
	}
	const words = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore. "
	for i := range 50 {
		fmt.Fprintf(&b, `<div class="row"><p id="p%d" class="text">%s<em>%s</em></p>`+"\n", i, words+words, words)
		href := []string{"/articles/%d.html", "https://www.example.com/a/%d?page=2&amp;sort=date", "../up/%d/", "#note-%d", "https://other.example/%d"}
		fmt.Fprintf(&b, `<!-- note --><a title="More of it" href="`+href[i%5]+`"><span class="icon"></span> Read more</a><br><img src="/img/%d.png" alt="Figure" width="20"></div>`+"\n", i, i)
	}
	b.WriteString("</body></html>")
	return b.String()
}

// BenchmarkLinks extracts the links of one page: with the scanner, with the same rules on x/net/html's tokenizer, with
// the tokenizer for the href of a elements alone, and with the tree.
func BenchmarkLinks(b *testing.B) {
	page := benchPage()
	body := []byte(page)
	for _, bb := range []struct {
		name string
		f    func() int
	}{
		{"Scanner", scanBench(page, Options{})},
		{"ScannerResources", scanBench(page, Options{Resources: true})},
		{"ScannerBytes", scanBytesBench(body)},
		{"HTML", func() int { return len(HTML(body, Options{}).Links) }},
		{"TokenizerSameRules", func() int { return len(reference(body, Options{}).Links) }},
		{"TokenizerHref", func() int { return hrefs(page) }},
		{"Parse", func() int { return anchors(page) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			links := 0
			for b.Loop() {
				links = bb.f()
			}
			b.ReportMetric(float64(links), "links/page")
		})
	}
}

func scanBench(page string, o Options) func() int {
	s := NewScanner(o)
	return func() int { return len(s.Scan(page).Links) }
}

func scanBytesBench(page []byte) func() int {
	s := NewScanner(Options{})
	return func() int { return len(s.ScanBytes(page).Links) }
}

// hrefs counts the a elements with href, using only the tokenizer.
func hrefs(page string) (n int) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return n
		case html.StartTagToken:
			name, more := z.TagName()
			if string(name) != "a" {
				continue
			}
			for more {
				var key []byte
				if key, _, more = z.TagAttr(); string(key) == "href" {
					n++
				}
			}
		}
	}
}

// anchors counts the a elements with href in the tree.
func anchors(page string) (n int) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return 0
	}
	for e := range root.Descendants() {
		if e.Data == "a" && e.Type == html.ElementNode {
			n++
		}
	}
	return n
}

func BenchmarkSitemap(b *testing.B) {
	var sb strings.Builder
	sb.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range 1000 {
		fmt.Fprintf(&sb, "<url><loc>https://www.example.com/a/%d?b=1&amp;c=2</loc><lastmod>2026-01-02</lastmod><priority>0.5</priority></url>\n", i)
	}
	sb.WriteString("</urlset>")
	b.SetBytes(int64(sb.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s := Sitemap(strings.NewReader(sb.String()), SitemapOptions{})
		for err := error(nil); err == nil; {
			_, err = s.Next()
		}
	}
}
