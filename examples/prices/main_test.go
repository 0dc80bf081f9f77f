package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

func TestPricesAreAddedEachTime(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Agent: "amble", Contact: contact, AllowRepeats: true})
		s := w.Site("https://shop.example")
		s.Page("/", `<a href="/lamp">lamp</a> <a href="/odd">odd</a>`)
		s.Page("/lamp", `<h1>=Lamp</h1><b class="price" data-amount="19.90">19,90 €</b>`)
		s.Page("/odd", `<h1>Odd</h1><b class="price" data-amount="ask">ask</b>`)
		file := filepath.Join(t.TempDir(), "prices.csv")
		cfg := crawler.Config{Contact: contact}
		w.Apply(&cfg)
		for range 2 {
			if err := run(t.Context(), cfg, file, s.URL("/")); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		lines := strings.Split(strings.TrimSpace(string(got)), "\n")
		if err != nil || len(lines) != 3 || lines[0] != "page,seen,name,price" || !strings.HasSuffix(lines[2], ",'=Lamp,19.90") && !strings.HasSuffix(lines[2], ",'=Lamp,19.9") {
			t.Errorf("%v\n%s", err, got)
		}
	})
}

// The visit of a page with an invalid price fails, and the error names the field.
func TestErrorNamesFieldOfInvalidPrice(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Agent: "amble", Contact: contact})
		s := w.Site("https://shop.example")
		s.Page("/odd", `<h1>Odd</h1><b class="price" data-amount="ask">ask</b>`)
		cfg := crawler.Config{Contact: contact, Handler: crawler.HandlerFunc(read)}
		w.Apply(&cfg)
		c, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for v, err := range c.Pages(t.Context(), s.URL("/odd")) {
			if err != nil {
				t.Fatal(err)
			}
			if v.Outcome != crawler.Failed || !strings.Contains(v.Err.Error(), `field product.Price, selector ".price": "ask"`) {
				t.Errorf("%s: %v", v.Outcome, v.Err)
			}
		}
	})
	if err := run(t.Context(), crawler.Config{}, filepath.Join(t.TempDir(), "none", "prices.csv")); err == nil || !strings.Contains(err.Error(), "prices.csv") {
		t.Errorf("a file that cannot be written: %v", err)
	}
}
