package job_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

// A second job over the same pages makes no requests and does not wait, its visits say that the cache answered, and verify finds no fault.
// If files of the cache were changed, their pages are requested again, and the files are named.
func TestJobWithCacheRequestsAPageOnce(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const contact = "https://lab.university.edu/crawl"
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true})
		s := w.Site("https://a.example")
		s.Robots("User-agent: *\nDisallow: /private\n")
		s.Page("/", `<a href="/1">1</a> <a href="/moved">m</a> <a href="/private">p</a>`)
		s.Page("/1", "<title>One</title>")
		s.Redirect("/moved", "/2")
		s.Page("/2", "two")
		root := t.TempDir()
		var notes []string
		run := func(name string) (visits []byte, took time.Duration) {
			t.Helper()
			cfg := job.Config{Cache: filepath.Join(root, "pages"), Note: func(text string) { notes = append(notes, text) }}
			cfg.Crawl.Contact, cfg.Crawl.Concurrency = contact, 1
			w.Apply(&cfg.Crawl)
			begun := time.Now()
			dir := filepath.Join(root, name)
			j, err := job.Start(dir, cfg, s.URL("/"))
			if err == nil {
				_, err = j.Run(t.Context())
			}
			if err = errors.Join(err, j.Close()); err != nil {
				t.Fatal(err)
			}
			r, err := job.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.Verify()
			if err = errors.Join(err, r.Close()); err != nil || len(v.Violations) > 0 || v.Matching.Fault() != "" || v.Damaged() > 0 {
				t.Errorf("%s: %+v, %+v, %v", name, v, v.Matching, err)
			}
			visits, err = os.ReadFile(filepath.Join(dir, job.VisitsName))
			if err != nil {
				t.Fatal(err)
			}
			return visits, time.Since(begun)
		}
		first, _ := run("first")
		asked := len(w.Requests())
		second, took := run("second")
		if more := w.Requests()[asked:]; len(more) > 0 { // robots.txt is known from the first crawl
			t.Errorf("the second job requested %v", more)
		}
		if n := bytes.Count(second, []byte(`"cached":true`)); n != 4 || bytes.Contains(first, []byte(`"cached"`)) || took > 3*time.Second {
			t.Errorf("%d visits by the cache, in %v:\n%s", n, took, second)
		}
		if !bytes.Contains(second, []byte(`"outcome":"refused"`)) || !bytes.Contains(second, []byte(`"title":"One"`)) {
			t.Errorf("%s", second)
		}
		files, _ := filepath.Glob(filepath.Join(root, "pages", "*", "*.page"))
		for _, f := range files {
			if err := os.WriteFile(f, []byte("{}\nnonsense"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		asked, notes = len(w.Requests()), nil
		run("third")
		if n := len(w.Requests()) - asked; n != 4 || len(notes) != 4 || !strings.Contains(notes[0], "does not begin with") {
			t.Errorf("%d requests, notes %q", n, notes)
		}
	})
}

// A cache cannot be combined with an archive, nor with pages that a site shows to a single account only.
func TestCacheIsRefusedWithArchiveOrAccount(t *testing.T) {
	for name, change := range map[string]func(*job.Config){
		"archive": func(c *job.Config) { c.Archive = true },
		"cookies": func(c *job.Config) { c.Crawl.Fetch.Cookies = true },
		"header":  func(c *job.Config) { c.Header = []string{"X-Key: 1"} },
	} {
		c := job.Config{Cache: filepath.Join(t.TempDir(), "pages")}
		change(&c)
		var key *job.KeyError
		if j, err := job.Start(filepath.Join(t.TempDir(), "job"), c, "http://127.0.0.1:1/"); !errors.As(err, &key) || key.Key != "cache" {
			t.Errorf("%s: %v", name, err)
			if j != nil {
				_ = j.Close()
			}
		}
	}
}
