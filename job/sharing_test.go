package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
)

// TestTwoJobsOfOneProcessTakeTurns checks that each job's ledger names the other job by its directory, and that each job has a certificate.
func TestTwoJobsOfOneProcessTakeTurns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const contact = "https://lab.university.edu/crawl"
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true})
		s := w.Site("https://a.example")
		for n := range 12 {
			s.Page(fmt.Sprint("/", n), fmt.Sprintf(`<a href="/%d">next</a>`, n+1))
		}
		s.Page("/12", "")
		dirs := []string{filepath.Join(t.TempDir(), "news"), filepath.Join(t.TempDir(), "archive")}
		var jobs sync.WaitGroup
		for _, dir := range dirs {
			jobs.Go(func() {
				cfg := job.Config{}
				cfg.Crawl.Contact = contact
				w.Apply(&cfg.Crawl)
				j, err := job.Start(dir, cfg, s.URL("/0"))
				if err == nil {
					_, err = j.Run(t.Context())
				}
				if err == nil {
					err = j.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		jobs.Wait()
		w.MustSpace(s.Host(), time.Second)
		for i, dir := range dirs {
			lines, err := os.ReadFile(filepath.Join(dir, job.LedgerName))
			if err != nil {
				t.Fatal(err)
			}
			if other := fmt.Sprintf(`"by":%q}`, filepath.Base(dirs[1-i])); strings.Count(string(lines), other) < 5 {
				t.Errorf("%s does not name the other job:\n%s", dir, lines)
			}
			r, err := job.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := r.Verify(); err != nil || len(v.Violations) > 0 {
				t.Errorf("%s: %+v, %v", dir, v, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
