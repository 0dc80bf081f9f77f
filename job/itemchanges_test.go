package job_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

type article struct {
	SKU   string  `json:"sku"`
	Price float64 `json:"price"`
	Stock int     `json:"stock,omitempty"`
}

// shopJob crawls a shop whose pages have the text "SKU price stock", and returns the job.
func shopJob(t *testing.T, w *crawltest.Web, seed, since string) *job.Reader {
	t.Helper()
	cfg := job.Config{Since: since}
	cfg.Crawl.Contact, cfg.Crawl.Retries.Max = "https://lab.university.edu/crawl", crawler.Zero
	w.Apply(&cfg.Crawl)
	cfg.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		if v.Outcome != crawler.Fetched || v.Page.Status != 200 {
			return nil
		}
		for line := range strings.Lines(string(v.Page.Body)) {
			var a article
			if n, _ := fmt.Sscan(line, &a.SKU, &a.Price, &a.Stock); n > 1 {
				if err := v.Emit(a); err != nil {
					return err
				}
			}
		}
		return nil
	})
	dir := filepath.Join(t.TempDir(), "job")
	j, err := job.Create(dir, cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A test with three crawls of a shop: changes are changes of values by key, whichever crawl received a page last.
func TestChangesOfResults(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Agent: "amble", AllowRepeats: true})
		s := w.Site("https://shop.example")
		var links strings.Builder
		page := func(name string, texts ...string) { // one text per day; "" means unchanged
			fmt.Fprintf(&links, `<a href="/%s">x</a>`, name)
			s.Handle("/"+name, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				text, tag := "", ""
				for day, t := range texts[:1+int(time.Since(w.Start())/(24*time.Hour))] {
					if t != "" {
						text, tag = t, fmt.Sprintf(`"%d"`, day)
					}
				}
				switch {
				case text == "gone":
					rw.WriteHeader(http.StatusNotFound)
				case text == "fails":
					panic(http.ErrAbortHandler)
				case name != "clock" && r.Header.Get("If-None-Match") == tag:
					rw.WriteHeader(http.StatusNotModified)
				default:
					rw.Header().Set("ETag", tag)
					fmt.Fprint(rw, text)
				}
			}))
		}
		page("same", "same 1 2\n", "", "")
		page("cheaper", "cheaper 5 2\n", "cheaper 4 2\n", "cheaper 3 7\n")
		page("clock", "clock 8 1\nit is noon\n", "clock 8 1\nit is one\n", "clock 8 1\nit is two\n")
		page("tuesday", "tuesday 1 1\n", "tuesday 2 1\n", "")
		page("sold", "sold 6 1\n", "", "gone")
		page("broken", "broken 9 1\n", "", "fails")
		page("list", "a 1 1\nb 1 1\n", "", "a 1 1\nc 1 1\n")
		page("turns", "d 1 1\n", "e 1 1\n", "d 1 1\n")
		page("from", "moves 1 1\n", "", "nothing\n")
		page("to", "nothing\n", "", "moves 1 1\n")
		s.Page("/", links.String())
		var jobs []*job.Reader
		since := ""
		for day := range 3 {
			time.Sleep(time.Until(w.Start().Add(time.Duration(day)*24*time.Hour + time.Hour)))
			jobs = append(jobs, shopJob(t, w, s.URL("/"), since))
			since = jobs[day].Dir()
		}
		text := func(a *article) string {
			if a == nil {
				return "-"
			}
			return fmt.Sprint(a.Price, a.Stock)
		}
		check := func(jobs []*job.Reader, want ...string) {
			t.Helper()
			var got []string
			for c, err := range job.Changes(func(a article) string { return a.SKU }, jobs...) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(c.Key, " ", strings.TrimPrefix(c.URL, s.URL("")), " ", text(c.Before), " > ", text(c.After), " ", c.Fields))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		check(jobs[:2], "cheaper /cheaper 5 2 > 4 2 [price]", "d /turns 1 1 > - []", "e /turns - > 1 1 []", "tuesday /tuesday 1 1 > 2 1 [price]")
		check(jobs, "b /list 1 1 > - []", "c /list - > 1 1 []", "cheaper /cheaper 4 2 > 3 7 [price stock]", "d /turns - > 1 1 []", "e /turns 1 1 > - []", "sold /sold 6 1 > - []")
	})
}

// Lines that do not decode as results of the type are reported with their place. A single job is an error.
func TestChangesRejectBadLinesAndSingleJob(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Agent: "amble", AllowRepeats: true})
		s := w.Site("https://shop.example")
		s.Page("/", "lamp 1 1\n")
		r := shopJob(t, w, s.URL("/"), "")
		for c, err := range job.Changes(func(n int) string { return fmt.Sprint(n) }, r, r) {
			if err == nil || !strings.Contains(err.Error(), "https://shop.example/: result 1 is no int: ") {
				t.Errorf("%+v, %v", c, err)
			}
		}
		for c, err := range job.Changes(func(a article) string { return a.SKU }, r) {
			if err == nil {
				t.Errorf("%+v", c)
			}
		}
		for c, err := range job.Changes(func(article) string { return "" }, r, r) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}
