package job_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

// The results of a program have a file in the job: across runs each is in it once, what no commit has is cut off, and
// verify notices a change.
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
			cfg := job.Config{Items: true}
			cfg.Crawl.Contact, cfg.Crawl.Limits.Pages = contact, pages
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
