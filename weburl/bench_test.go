package weburl

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/purell"
	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"
)

// benchLinks are typical references in pages, in about the usual proportions.
var benchLinks = []string{
	"/en/products/widgets/blue-widget-large",
	"/static/css/main.4f3a2b1c.css",
	"article-2026-11-20.html",
	"../archive/2025/index.html",
	"https://www.example.com/blog/how-to-crawl-politely?page=2",
	"https://other.example.org/news/",
	"?page=3&sort=price",
	"#comments",
	"//cdn.example.net/lib/jquery.min.js",
	"/search?q=polite+crawler&lang=en",
}

const benchBase = "https://www.example.com/en/products/index.html?ref=home"

func BenchmarkResolve(b *testing.B) {
	b.Run("Resolver", benchResolver)
	b.Run("URL", benchURL)
	b.Run("neturl", benchNetURL)
	b.Run("neturl+purell", benchPurell)
	b.Run("whatwg-url", benchWhatwg)
}

// benchResolver resolves a reference with a Resolver and computes its key, without keeping the URL.
func benchResolver(b *testing.B) {
	r := NewResolver(mustParse(b, benchBase), Safe)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v, err := r.Resolve(benchLinks[i%len(benchLinks)])
		if err != nil {
			b.Fatal(err)
		}
		v.Key()
	}
}

// benchURL resolves a reference to a URL and computes its key.
func benchURL(b *testing.B) {
	base := mustParse(b, benchBase)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u, err := base.Resolve(benchLinks[i%len(benchLinks)])
		if err != nil {
			b.Fatal(err)
		}
		u.Key()
	}
}

func benchNetURL(b *testing.B) {
	base, err := url.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u, err := base.Parse(benchLinks[i%len(benchLinks)])
		if err != nil {
			b.Fatal(err)
		}
		_ = u.String()
	}
}

func benchPurell(b *testing.B) {
	base, err := url.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u, err := base.Parse(benchLinks[i%len(benchLinks)])
		if err != nil {
			b.Fatal(err)
		}
		_ = purell.NormalizeURL(u, purell.FlagsSafe|purell.FlagRemoveFragment)
	}
}

func benchWhatwg(b *testing.B) {
	base, err := whatwg.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u, err := base.Parse(benchLinks[i%len(benchLinks)])
		if err != nil {
			b.Fatal(err)
		}
		_ = u.Href(true)
	}
}

// BenchmarkKey measures only the key, for a URL in normal form and for another one.
func BenchmarkKey(b *testing.B) {
	for _, p := range profiles {
		for _, s := range []string{"https://www.example.com/search/index.html?q=polite&lang=en", "https://www.example.com/%e6%97%a5?q=%7e"} {
			u := mustParse(b, s)
			b.Run(p.String()+"/"+u.Path(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Key(u)
				}
			})
		}
	}
}

// BenchmarkHostile measures the most expensive references: a page may be full of them.
func BenchmarkHostile(b *testing.B) {
	distinct := ""
	for r := rune(0x4e00); len(distinct) < maxHostLen-3; r++ {
		distinct += string(r)
	}
	base := mustParse(b, "http://a/b")
	for name, ref := range map[string]string{
		"slashes": strings.Repeat("/a", MaxLen/2), "dots": strings.Repeat("a/../", MaxLen/5), "ats": "//" + strings.Repeat("a@", MaxLen/2-1),
		"encoding": strings.Repeat("é", MaxLen/6-2), "punycode": "//" + distinct, "percent": strings.Repeat("%", MaxLen-20),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if u, err := base.Resolve(ref); err == nil {
					u.Key()
				}
			}
		})
	}
}

func mustParse(t rapid.TB, s string) URL {
	t.Helper()
	u, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
