package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// TestAJobOfTheFutureIsResumed stops a crawl on a machine whose clock is a year ahead, and resumes it after the clock was set right. The
// crawl does not wait for a year, the operator is warned, and the ledger still passes verify.
func TestAJobOfTheFutureIsResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	crawl := func(t *testing.T, w *crawltest.Web, pages string) string {
		t.Helper()
		s := w.Site("https://a.test")
		s.Robots("User-agent: *\nCrawl-delay: 5\n")
		s.Page("/", "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>")
		for _, path := range []string{"/1", "/2", "/3"} {
			s.Page(path, path)
		}
		a, _, errs := testApp(nil)
		c, o := parsed(t, nil, "-o", dir, "--contact", "https://lab.university.edu/crawl", "--max-pages", pages, "https://a.test/")
		seeds, err := operator.Seeds(o, c.URLs, "", a.in)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := c.config(o, seeds)
		if err != nil {
			t.Fatal(err)
		}
		w.Apply(&cfg.Crawl)
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: "https://lab.university.edu/crawl"})
		if err := c.kept(a, a.view(c.Flags), &cfg, seeds, func(cfg job.Config) (*job.Job, error) { return job.Start(dir, cfg, operator.Texts(seeds)...) }); err != nil {
			t.Fatal(err)
		}
		return errs.String()
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		time.Sleep(365 * 24 * time.Hour)
		if said := crawl(t, w, "2"); strings.Contains(said, "clock") {
			t.Error(said)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		begin := time.Now()
		said := crawl(t, w, "100")
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(said, "the clock of this machine is 8760h0m") || !strings.Contains(said, "ledger.jsonl") || !strings.Contains(said, "5s at most") {
			t.Error(said)
		}
	})
	a, out, _ := testApp(nil)
	if code := a.run([]string{"verify", dir}); code != cli.ExitDone || !strings.Contains(out.String(), "note: the clock of the process that begins in line") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	a, out, _ = testApp(nil)
	if a.run([]string{"report", dir}); strings.Count(out.String(), "8760h") > 0 {
		t.Errorf("%s", out)
	}
}
