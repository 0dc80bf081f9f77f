package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// focused runs the program on a site with many pages off the topic and, deeper down, a few pages on the topic.
func focused(t *testing.T, args ...string) (order []string, out string, err error) {
	t.Helper()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
		s := w.Site("https://site.example")
		s.Robots("User-agent: *\nDisallow: /solar/secret\n").Forbids("/solar/secret")
		s.Page("/", `<title>Home</title><a href="/news">News</a> <a href="/shop">Shop</a> <a href="/energy">Energy</a> <a href="/x1">Solar power</a>`)
		s.Page("/news", `<title>News</title>`)
		s.Page("/shop", `<title>Shop</title>`)
		s.Page("/energy", `<title>Energy</title>`)
		s.Page("/x1", `<title>=Solar cells</title> Solar solarium solar <a href="/deep">more</a> <a href="/solar/secret">solar</a>`)
		s.Page("/deep", `<title>Deep</title><a href="/solar/roof">Roof</a> <a href="/solar/field">Field</a>`)
		s.Page("/solar/roof", `<title>Roof</title><script>solar solar</script>`)
		s.Page("/solar/field", `<title>Solar field</title><meta name=robots content=noindex>A field.`)
		var cfg crawler.Config
		w.Apply(&cfg)
		var b bytes.Buffer
		err = run(t.Context(), append(args, "-contact", contact, s.URL("/")), &b, cfg)
		for _, u := range w.Visited("")[min(1, len(w.Visited(""))):] { // without robots.txt, which comes first
			order = append(order, strings.TrimPrefix(u, "https://site.example"))
		}
		out = b.String()
	})
	return order, out, err
}

func TestBestFirst(t *testing.T) {
	order, out, err := focused(t, "-words", "solar", "-max-pages", "5")
	if got := strings.Join(order, " "); err != nil || got != "/ /x1 /deep /solar/roof /solar/field" {
		t.Errorf("%v, requested %s", err, got)
	}
	want := "5.3\thttps://site.example/x1\t\"=Solar cells\"\n2.0\thttps://site.example/solar/roof\t\"Roof\"\n1.0\thttps://site.example/\t\"Home\"\n"
	if out != want {
		t.Errorf("printed\n%s", out)
	}
	order, out, err = focused(t, "-words", "solar=0.1,SHOP=5", "-max-pages", "3", "-top", "1")
	if got := strings.Join(order, " "); err != nil || got != "/ /shop /x1" || out != "25.0\thttps://site.example/shop\t\"Shop\"\n" {
		t.Errorf("%v, requested %s, printed %s", err, got, out)
	}
}

func TestWhatIsWrong(t *testing.T) {
	for words, want := range map[string]string{"penguin": "no page has a word", "x,,y": `""`, "x=0": "x=0", "x=NaN": "nan", "x=1y": "1y", "a-b": "a-b"} {
		if _, out, err := focused(t, "-words", words); err == nil || out != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, printed %s", words, err, out)
		}
	}
}
