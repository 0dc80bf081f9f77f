package job_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

// A job writes each result of a program to a file once, even over several runs. Uncommitted results are cut off; verify notices a change.
func TestItemsOfAJob(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const contact = "https://lab.university.edu/crawl"
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
		s := w.Site("https://a.example")
		s.Page("/", `<a href="/1">1</a> <a href="/2">2</a>`)
		s.Page("/1", "")
		s.Page("/2", "")
		dir := filepath.Join(t.TempDir(), "job")
		file := filepath.Join(dir, job.ItemsName)
		config := func(pages int) job.Config {
			cfg := job.Config{Items: []job.Items{job.ItemsLines()}}
			cfg.Crawl.Contact, cfg.Crawl.Limits.Pages = contact, crawler.Limit(pages)
			w.Apply(&cfg.Crawl)
			cfg.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
				return v.Emit(map[string]string{"path": v.URL.Path()})
			})
			return cfg
		}
		run := func(j *job.Job, err error) {
			t.Helper()
			if err == nil {
				_, err = j.Run(t.Context())
			}
			if err == nil {
				err = j.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		run(job.Create(dir, config(1), s.URL("/")))
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("{\"path\":\"/killed before it was committed\"}\n{\"pa"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		run(job.Start(dir, config(10), s.URL("/")))
		got, err := os.ReadFile(file)
		if want := "{\"path\":\"/\"}\n{\"path\":\"/1\"}\n{\"path\":\"/2\"}\n"; err != nil || string(got) != want {
			t.Errorf("%v\n%s", err, got)
		}
		if v := verified(t, dir); v.Damaged() != 0 {
			t.Errorf("%+v", v.Files)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(got), "/1", "/7", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := verified(t, dir); v.Damaged() != 1 {
			t.Errorf("a changed result is not noticed: %+v", v.Files)
		}
	})
}

// Unsuitable settings of results are refused before anything is created. A job is not resumed if one of its result files is missing.
func TestItemsRefused(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	config := func(items ...job.Items) (c job.Config) {
		c.Items, c.Crawl.Politeness.Delay = items, crawler.NoDelay
		return c
	}
	for want, c := range map[string]job.Config{
		"items.csv is there twice": config(job.ItemsCSV("a"), job.ItemsCSV("b")),
		"use ItemsLines":           config(job.Items{}),
	} {
		if _, err := job.Create(dir, c, srv.URL+"/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", dir, err)
	}
	resumed := func(c job.Config, want error) {
		t.Helper()
		j, err := job.Start(dir, c, srv.URL+"/")
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if err == nil {
			err = j.Close()
		}
		if want == nil && err != nil {
			t.Fatal(err)
		}
	}
	resumed(config(job.ItemsCSV("a")), nil)
	resumed(config(), job.ErrProgram)
	resumed(config(job.ItemsLines()), job.ErrProgram)
	resumed(config(job.ItemsLines(), job.ItemsCSV("a")), nil)
}

// A table with committed rows keeps its first columns. A table without committed rows begins again, with the new columns.
func TestItemsColumns(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	file := filepath.Join(dir, job.ItemsCSVName)
	config := func(pages int, columns ...string) (c job.Config) {
		c.Items, c.Crawl.Politeness.Delay = []job.Items{job.ItemsCSV(columns...)}, crawler.NoDelay
		c.Crawl.Limits.Pages = crawler.Limit(pages)
		c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			if v.URL.Path() == "/1" {
				return nil
			}
			return v.Emit(map[string]int{"a": 1})
		})
		return c
	}
	seeds := []string{srv.URL + "/1", srv.URL + "/2", srv.URL + "/3"}
	run := func(j *job.Job, err error) {
		t.Helper()
		if err == nil {
			_, err = j.Run(t.Context())
			err = errors.Join(err, j.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run(job.Create(dir, config(1, "a"), seeds...))
	if err := os.WriteFile(file, []byte("a\n1\n"), 0o600); err != nil { // what a killed process may leave
		t.Fatal(err)
	}
	run(job.Start(dir, config(2, "b", "a"), seeds...))
	if b, err := os.ReadFile(file); err != nil || string(b) != "b,a\n,1\n" {
		t.Errorf("%v %q", err, b)
	}
	var refused *job.Error
	if _, err := job.Start(dir, config(3, "a"), seeds...); !errors.As(err, &refused) || refused.Kind != job.Refused || !strings.Contains(err.Error(), `items.csv has the columns "b", "a", not "a"`) {
		t.Errorf("other columns: %v", err)
	}
}

func verified(t *testing.T, dir string) *job.Verification {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
