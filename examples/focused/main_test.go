package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// focused runs the program on w and returns its exit code and what it printed.
func focused(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-focused", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

// library returns a site with many pages off the topic and a few, deeper down, on it.
func library(w *crawltest.Web) {
	s := w.Site("https://site.example")
	s.Robots("User-agent: *\nDisallow: /solar/secret\n").Forbids("/solar/secret")
	s.Page("/", `<title>Home</title><a href="/news">News</a> <a href="/sport">Sport</a> <a href="/shop">Shop</a> <a href="/energy">Energy</a> <a href="/x1">Solar power</a>`)
	s.Page("/news", `<title>News</title>`)
	s.Page("/sport", `<title>Sport</title>`)
	s.Page("/shop", `<title>Shop</title>`)
	s.Page("/energy", `<title>Energy</title>`)
	s.Page("/x1", `<title>Solar cells</title> Solar solar solar <a href="/deep">more</a> <a href="/solar/secret">solar</a>`)
	s.Page("/deep", `<title>Deep</title><a href="/solar/roof">Roof</a> <a href="/solar/field">Field</a>`)
	s.Page("/solar/roof", `<title>Roof</title><script>solar solar</script>`)
	s.Page("/solar/field", `<title>Solar field</title>A field.`)
}

func TestBestFirst(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		library(w)
		code, out, errs := focused(t.Context(), w, "-words", "solar", "-max-pages", "5", "https://site.example/")
		want := []string{"/robots.txt", "/", "/x1", "/deep", "/solar/roof", "/solar/field"}
		for i := range want {
			want[i] = "https://site.example" + want[i]
		}
		if got := w.Visited(""); !slices.Equal(got, want) {
			t.Errorf("requested %v", got)
		}
		wantOut := `5.3  https://site.example/x1           Solar cells
5.0  https://site.example/solar/field  Solar field
2.0  https://site.example/solar/roof   Roof
1.0  https://site.example/             Home
`
		if code != 0 || out != wantOut || errs != "5 pages fetched, 4 with a word of the topic; ended by max_pages with 4 URLs left\n" {
			t.Errorf("exit %d, said %s, wrote\n%s", code, errs, out)
		}
	})
}

func TestOtherWordsAnotherOrder(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		library(w)
		_, out, _ := focused(t.Context(), w, "-json", "-words", "solar=0.1,SHOP=5", "-max-pages", "3", "-top", "1", "https://site.example/")
		w.MustOrder("https://site.example/", "https://site.example/shop", "https://site.example/x1")
		var p page
		if err := json.Unmarshal([]byte(out), &p); err != nil || strings.Count(out, "\n") != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		if want := (page{25, "https://site.example/shop", "Shop", 1, "https://site.example/"}); p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
	})
}

func TestNothingFound(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		library(w)
		code, out, errs := focused(t.Context(), w, "-words", "penguin", "https://site.example/")
		if code != 1 || out != "" || !strings.Contains(errs, "no page has a word of the topic") {
			t.Errorf("exit %d, wrote %s, said %s", code, out, errs)
		}
	})
}

func TestPagesThatSayNoindexAreNotListed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("https://site.example").Page("/", `<title>Solar</title><meta name=robots content=noindex>`)
		if code, out, errs := focused(t.Context(), w, "-words", "solar", "https://site.example/"); code != 1 || out != "" {
			t.Errorf("exit %d, wrote %s, said %s", code, out, errs)
		}
	})
}

func TestScore(t *testing.T) {
	for _, c := range []struct {
		words, url, title, body string
		want                    float64
	}{
		{"solar", "/", "", "", 0},
		{"solar", "/", "Solar", "", 3},
		{"solar", "/", "Solar and solar", "", 3},
		{"solar", "/solar-cells", "", "", 2},
		{"solar", "/", "", "<p>solar <b>SOLAR</b> solar.", 2},
		{"solar", "/", "", "solarium, insolar", 1},
		{"solar", "/", "", "<title>solar</title><script>solar</script><style>solar</style><!-- solar --><a title=solar>x</a>", 0},
		{"solar=2,wind=0.5", "/wind", "Solar", "", 7},
		{"größe", "/", "GRÖSSE Größe", "", 3},
	} {
		topic, err := parseTopic(c.words)
		if err != nil {
			t.Fatal(err)
		}
		if got := topic.page(c.url, c.title, []byte(c.body)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestPriorityGrowsWithTheScore(t *testing.T) {
	last := int8(-1)
	for _, score := range []float64{0, 0.2, 0.5, 1, 2, 4, 8, 16, 100, 1e4} {
		p := priority(score)
		if p <= last {
			t.Errorf("score %v: priority %d, after %d", score, p, last)
		}
		last = p
	}
	if p := priority(1e300); p != math.MaxInt8 {
		t.Errorf("priority %d", p)
	}
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                                   0,
		"-words x":                                2,
		"https://a.example/":                      2,
		"-words x,,y https://a.example/":          2,
		"-words x=0 https://a.example/":           2,
		"-words x=NaN https://a.example/":         2,
		"-words x=1y https://a.example/":          2,
		"-words a-b https://a.example/":           2,
		"-words x -top 0 https://a.example/":      2,
		"-words x https://a.example/":             1, // no contact
		"-words x -contact " + contact + " ftp:x": 1,
		"-words x -scope no -contact " + contact + " https://a.example/": 1,
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
