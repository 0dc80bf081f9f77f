package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/replay"
	"github.com/amble-crawler/amble/weburl"
)

// TestJobUsesTheRobotsFileOfAnother checks that two jobs together request a site's robots.txt once. The second job stores the file, reads
// the sitemap that it names, and can be interrupted, resumed, verified, explained and replayed as if it had made the request.
func TestJobUsesTheRobotsFileOfAnother(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const contact = "https://lab.university.edu/crawl"
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true})
		s := w.Site("https://a.example")
		s.Robots("User-agent: *\nDisallow: /private\nSitemap: /map.xml\n")
		s.Page("/map.xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://a.example/listed</loc></url></urlset>`).Header("Content-Type", "application/xml")
		s.Page("/listed", "")
		for n := range 8 {
			s.Page(fmt.Sprint("/", n), fmt.Sprintf(`<a href="/%d">next</a> <a href="/private">private</a>`, n+1))
		}
		s.Page("/8", "")
		dirs := []string{filepath.Join(t.TempDir(), "news"), filepath.Join(t.TempDir(), "archive")}
		run := func(j *job.Job, err error, stop time.Duration) {
			t.Helper()
			ctx := t.Context()
			if stop > 0 {
				var end context.CancelFunc
				ctx, end = context.WithTimeout(ctx, stop)
				defer end()
			}
			if err == nil {
				_, err = j.Run(ctx)
			}
			if stop > 0 && errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
			if err = errors.Join(err, j.Close()); err != nil {
				t.Fatal(err)
			}
		}
		for i, dir := range dirs {
			cfg := job.Config{Archive: true}
			cfg.Crawl.Contact, cfg.Crawl.Follow.Sitemaps = contact, true
			w.Apply(&cfg.Crawl)
			j, err := job.Start(dir, cfg, s.URL("/0"))
			if i == 0 {
				run(j, err, 0)
				continue
			}
			run(j, err, 4*time.Second)
			j, err = job.Resume(dir, cfg, []string{s.URL("/0")})
			run(j, err, 0)
		}
		if n := requestsFor(w, s.URL("/robots.txt")); n != 1 {
			t.Errorf("%d requests for robots.txt", n)
		}
		var readers []*job.Reader
		for _, dir := range dirs {
			r, err := job.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			if v, err := r.Verify(); err != nil || len(v.Violations) > 0 || v.Damaged() > 0 || v.Chain.Fault != "" {
				t.Errorf("%s: %+v, %v", dir, v, err)
			}
			readers = append(readers, r)
		}
		if v, err := job.VerifyTogether(dirs...); err != nil || len(v.Violations) > 0 || len(v.Notes) > 0 {
			t.Errorf("together: %+v, %v", v, err)
		}
		second := readers[1]
		files, _ := filepath.Glob(filepath.Join(dirs[1], "robots", "*.txt"))
		if len(files) != 1 {
			t.Errorf("kept: %v", files)
		}
		for path, outcome := range map[string]crawler.Outcome{"/private": crawler.Refused, "/listed": crawler.Fetched} {
			story, err := second.Explain(must(weburl.Parse(s.URL(path))))
			if err != nil || story.Visit == nil || story.Visit.Outcome != string(outcome) || story.Robots == nil || story.Robots.Source.Status != 200 {
				t.Errorf("%s: %+v, %v", path, story, err)
			}
		}
		if result, err := replay.Run(t.Context(), second); err != nil || len(result.Changes) > 0 {
			t.Errorf("repeated: %+v, %v", result, err)
		}
		lines, err := os.ReadFile(filepath.Join(dirs[1], job.LedgerName))
		if err != nil || strings.Count(string(lines), `{"event":"copied"`) != 1 {
			t.Errorf("%v\n%s", err, lines)
		}
	})
}

func must(u weburl.URL, err error) weburl.URL {
	if err != nil {
		panic(err)
	}
	return u
}

func requestsFor(w *crawltest.Web, url string) (n int) {
	for _, r := range w.Requests() {
		if r.URL == url {
			n++
		}
	}
	return n
}
