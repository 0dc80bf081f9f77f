package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
)

const contact = "https://lab.university.edu/crawl"

// sitemap runs the program on w and returns its exit code and what it printed.
func sitemap(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-sitemap", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

func TestWhichPagesAreListed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		code, out, errs := sitemap(t.Context(), w, "-o", "-", "https://site.example/")
		want := urlsetHead + `<url><loc>https://site.example/</loc><lastmod>2000-01-01T00:00:00Z</lastmod></url>
<url><loc>https://site.example/copy</loc></url>
<url><loc>https://site.example/fresh</loc></url>
<url><loc>https://site.example/old?b=2&amp;a=1</loc><lastmod>1999-12-31T23:59:59Z</lastmod></url>
<url><loc>https://site.example/sub/page</loc></url>
<url><loc>https://site.example/target</loc></url>
` + urlsetFoot
		if out != want || code != 0 {
			t.Errorf("exit %d, wrote\n%s", code, out)
		}
		wantErrs := `6 pages listed
left out: 2 canonical elsewhere, 2 noindex, 1 not HTML, 1 not below https://site.example/, 1 redirected, 1 robots_disallow, 1 status 404
`
		if errs != wantErrs {
			t.Errorf("said\n%s", errs)
		}
		valid(t, []byte(out))
		if other := w.Visited("elsewhere.example"); len(other) != 0 {
			t.Errorf("asked another site for %v", other)
		}
	})
}

func TestLongURLsAreLeftOut(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		fits, long := s.URL("/"+strings.Repeat("a", 2047-len(s.URL("/")))), s.URL("/"+strings.Repeat("b", 2048-len(s.URL("/"))))
		s.Page("/", fmt.Sprintf("<a href=%q>x</a> <a href=%q>x</a>", fits, long))
		s.Page(strings.TrimPrefix(fits, "https://site.example"), "")
		s.Page(strings.TrimPrefix(long, "https://site.example"), "")
		_, out, errs := sitemap(t.Context(), w, "-o", "-", s.URL("/"))
		if got := valid(t, []byte(out)); len(got) != 2 || got[1] != fits || !strings.Contains(errs, "1 URL too long") {
			t.Errorf("listed %v, said %s", got, errs)
		}
	})
}

func TestBaseLimitsTheList(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		_, out, _ := sitemap(t.Context(), w, "-o", "-", "-base", "https://site.example/sub/", "https://site.example/")
		if got := valid(t, []byte(out)); !slices.Equal(got, []string{"https://site.example/sub/page"}) {
			t.Errorf("listed %v", got)
		}
	})
}

func TestSeedThatMovesToHTTPS(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("http://www.site.example").Redirect("/", "https://site.example/")
		w.LoadFile("testdata/site.txtar")
		_, out, _ := sitemap(t.Context(), w, "-o", "-", "http://www.site.example/")
		if got := valid(t, []byte(out)); len(got) != 6 || got[0] != "https://site.example/" {
			t.Errorf("listed %v", got)
		}
	})
}

func TestNothingIsWritten(t *testing.T) {
	for _, c := range []struct {
		name, seed, says string
		build            func(w *crawltest.Web)
	}{
		{"the seed leads to another site", "https://site.example/", "give https://elsewhere.example/", func(w *crawltest.Web) {
			w.Site("https://site.example").Redirect("/", "https://elsewhere.example/")
			w.Site("https://elsewhere.example").Page("/", "not ours")
		}},
		{"robots.txt forbids it", "https://site.example/", "robots_disallow", func(w *crawltest.Web) {
			w.Site("https://site.example").Robots("User-agent: *\nDisallow: /\n").Forbids("/*")
		}},
		{"no page may be indexed", "https://site.example/", "no page can be listed", func(w *crawltest.Web) {
			w.Site("https://site.example").Page("/", `<meta name=robots content=none>`)
		}},
		{"there is no such host", "https://nowhere.example/", "dns_not_found", func(*crawltest.Web) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				c.build(w)
				out := filepath.Join(t.TempDir(), "sitemap.xml")
				code, _, errs := sitemap(t.Context(), w, "-o", out, c.seed)
				if code != 1 || !strings.Contains(errs, c.says) {
					t.Errorf("exit %d, said %s", code, errs)
				}
				if _, err := os.Stat(out); err == nil {
					t.Error("a file was written")
				}
			})
		})
	}
}

func TestInterruptedCrawlReplacesNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		out := filepath.Join(t.TempDir(), "sitemap.xml")
		if err := os.WriteFile(out, []byte("the old one"), 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer stop()
		if code, _, errs := sitemap(ctx, w, "-o", out, "https://site.example/"); code != 1 || !strings.Contains(errs, "nothing written") {
			t.Errorf("exit %d, said %s", code, errs)
		}
		if b, err := os.ReadFile(out); string(b) != "the old one" {
			t.Errorf("the file holds %q (%v)", b, err)
		}
	})
}

func TestLimitIsReported(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		code, out, errs := sitemap(t.Context(), w, "-o", "-", "-max-pages", "2", "https://site.example/")
		if code != 0 || !strings.Contains(errs, "not the whole site: ended by max_pages") {
			t.Errorf("exit %d, said %s", code, errs)
		}
		if got := valid(t, []byte(out)); len(got) != 2 {
			t.Errorf("listed %v", got)
		}
	})
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                                    0,
		"":                                         2,
		"https://a.example/ https://b.example/":    2,
		"-no-such-flag https://a.example/":         2,
		"ftp://a.example/":                         2,
		"-max-pages 0 https://a.example/":          2,
		"-base https://a.example/x https://a.b/":   2,
		"-base /relative/ https://a.example/":      2,
		"https://a.example/":                       1, // the contact is missing
		"-contact https://a.test/ http://a.other/": 1, // the contact is a placeholder
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}

// many returns n entries.
func many(n int) []entry {
	list := make([]entry, n)
	for i := range list {
		list[i] = entry{loc: fmt.Sprintf("https://site.example/%07d?a=1&b=2", i), modified: time.Unix(int64(i), 0).UTC()}
	}
	return list
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		n     int
		most  limits
		files int
	}{
		{1, protocol, 1},
		{50, limits{50, 1 << 20}, 1},
		{51, limits{50, 1 << 20}, 2},
		{150, limits{50, 1 << 20}, 3},
		{100, limits{1000, 1200}, 10},
	} {
		list := many(c.n)
		docs := split(list, c.most)
		var got []string
		for _, d := range docs {
			locs := valid(t, d)
			if len(locs) > c.most.entries || len(d) > c.most.bytes {
				t.Errorf("a file of %d entries and %d bytes, more than %+v", len(locs), len(d), c.most)
			}
			got = append(got, locs...)
		}
		if len(docs) != c.files || len(got) != c.n {
			t.Fatalf("%d entries: %d files of %d entries in all, want %d files", c.n, len(docs), len(got), c.files)
		}
		for i, e := range list {
			if got[i] != e.loc {
				t.Errorf("entry %d is %s, want %s", i, got[i], e.loc)
			}
		}
	}
}

// TestProtocolsLimits checks the limits of the protocol: 50,000 addresses and 52,428,800 bytes (sitemaps.org, "Using
// sitemap index files").
func TestProtocolsLimits(t *testing.T) {
	docs := split(many(50_001), protocol)
	if len(docs) != 2 || bytes.Count(docs[0], []byte("<url>")) != 50_000 || bytes.Count(docs[1], []byte("<url>")) != 1 {
		t.Errorf("50,001 entries made %d files", len(docs))
	}
	long := many(30_000)
	for i := range long {
		long[i].loc += strings.Repeat("x", 2000)
	}
	if docs = split(long, protocol); len(docs) != 2 || len(docs[0]) > 52_428_800 || len(docs[0]) < 52_428_800-3000 {
		t.Errorf("60 MB of entries made %d files, the first of %d bytes", len(docs), len(docs[0]))
	}
}

func TestIndexNamesEveryFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "my map.xml")
	all := files(out, "https://site.example/", split(many(25), limits{10, 1 << 20}))
	if err := save(out, nil, all); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := indexHead + `<sitemap><loc>https://site.example/my%20map-1.xml</loc></sitemap>
<sitemap><loc>https://site.example/my%20map-2.xml</loc></sitemap>
<sitemap><loc>https://site.example/my%20map-3.xml</loc></sitemap>
` + indexFoot
	if string(index) != want {
		t.Errorf("the index is\n%s", index)
	}
	total := 0
	for i := range 3 {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("my map-%d.xml", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		total += len(valid(t, b))
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); total != 25 || len(names) != 4 {
		t.Errorf("%d entries in %v", total, names)
	}
	if err := save("-", nil, all); err == nil {
		t.Error("several files went to standard output")
	}
}

// valid checks a document by the rules of sitemaps.org and returns its addresses.
func valid(t *testing.T, doc []byte) []string {
	t.Helper()
	var set struct {
		XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URLs    []struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(doc, &set); err != nil {
		t.Fatalf("not a sitemap: %v\n%s", err, doc[:min(len(doc), 500)])
	}
	locs := make([]string, len(set.URLs))
	for i, u := range set.URLs {
		locs[i] = u.Loc
		if len(u.Loc) >= maxLoc {
			t.Errorf("%s is too long", u.Loc)
		}
		if _, err := time.Parse(time.RFC3339, u.LastMod); u.LastMod != "" && err != nil {
			t.Errorf("%s: lastmod: %v", u.Loc, err)
		}
	}
	if len(locs) == 0 {
		t.Error("a sitemap without entries")
	}
	var read []string
	r := extract.Sitemap(bytes.NewReader(doc), extract.SitemapOptions{})
	e, err := r.Next()
	for ; err == nil; e, err = r.Next() {
		read = append(read, e.Loc)
	}
	if !errors.Is(err, io.EOF) || !slices.Equal(read, locs) {
		t.Errorf("read back as %d entries (%v), wrote %d", len(read), err, len(locs))
	}
	return locs
}
