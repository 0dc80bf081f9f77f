package job

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
)

// TestControl pauses a job, resumes it, leaves a host out and ends the job; then another process resumes it. The test checks the requests
// at the servers, the ledger and the manifest.
func TestControl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir, seeds := filepath.Join(t.TempDir(), "job"), []string{"http://a.example/", "http://b.example/"}
		for _, seed := range seeds {
			pages(w.Site(strings.TrimSuffix(seed, "/")), 200)
		}
		cfg := simulated(w)
		j, err := Create(dir, cfg, seeds...)
		if err != nil {
			t.Fatal(err)
		}
		after := func(d time.Duration, f func() error) {
			timer := time.AfterFunc(d, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
			t.Cleanup(func() { timer.Stop() })
		}
		after(20*time.Second+time.Millisecond, j.Pause)
		after(80*time.Second, j.Resume)
		after(100*time.Second, func() error { return j.LeaveOut("b.example:80") })
		after(105*time.Second, func() error {
			if err := j.Slower("a.example:80", time.Second/2); !errors.Is(err, politeness.ErrShorter) {
				t.Errorf("shortened: %v", err)
			}
			return j.Slower("a.example:80", 3*time.Second)
		})
		after(110*time.Second, j.Drain)
		if rep, err := j.Run(t.Context()); err != nil || rep.Finish != crawler.FinishDrained {
			t.Fatalf("%v %+v", err, rep)
		}
		if err := errors.Join(j.Pause(), j.Close()); err != nil {
			t.Fatal(err)
		}
		if j, err = Resume(dir, cfg, seeds); err != nil {
			t.Fatal(err)
		}
		after(20*time.Second, func() error { return errors.Join(j.LeaveOut("b.example"), j.Drain()) })
		rep, err := j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil || rep.Finish != crawler.FinishDrained {
			t.Fatalf("%v %+v", err, rep)
		}

		var last time.Time
		for _, r := range w.Requests() {
			at := r.Start.Sub(w.Start())
			if at > 20*time.Second+time.Millisecond && at < 80*time.Second || at > 100*time.Second && r.Host == "b.example:80" {
				t.Errorf("%s was requested %v after the start", r.URL, at)
			}
			if r.Host == "a.example:80" {
				if gap := r.Start.Sub(last); at > 106*time.Second && gap < 3*time.Second {
					t.Errorf("%s was requested %v after the request before", r.URL, gap)
				}
				last = r.End
			}
		}
		if n := len(w.Visited("b.example")); n < 30 || n > 42 {
			t.Errorf("%d requests of the host that was left out", n)
		}
		checkActions(t, dir, w.Start(), "pause 20.001 s, resume 80 s, leave-out b.example:80 100 s, slower a.example:80 3s 105 s, drain 110 s; leave-out b.example 130 s, drain 130 s")
		w.MustRequest("http://a.example/48") // on this page, the second process finds a URL of the host that is left out
		if err := j.LeaveOut("no host/"); err == nil {
			t.Error("a path was left out")
		}
	})
}

// TestSlowerNameHoldsAllPorts slows hosts down by names without a port; one of the names is an address. The gate and verify apply the
// longer delay to every port of that host, but to no other host at the same address, even after a restart.
func TestSlowerNameHoldsAllPorts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		slow := []string{"http://a.example:8080/", "http://a.example/", "http://198.51.100.77:8080/"}
		seeds := append(slow[:3:3], "http://b.example:8080/")
		for i, seed := range seeds {
			addr := []string{"198.51.100.9", "198.51.100.9", "198.51.100.77", "198.51.100.78"}[i]
			pages(w.Site(strings.TrimSuffix(seed, "/")).Address(addr), 60)
		}
		cfg := simulated(w)
		dir := filepath.Join(t.TempDir(), "job")
		run := func(j *Job, err error, orders func(j *Job) error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(20*time.Second+time.Millisecond, func() {
				if err := orders(j); err != nil {
					t.Error(err)
				}
			})
			defer timer.Stop()
			defer time.AfterFunc(60*time.Second, func() { _ = j.Drain() }).Stop()
			if _, err = j.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
		j, err := Create(dir, cfg, seeds...)
		run(j, err, func(j *Job) error {
			return errors.Join(j.Slower("A.example.", 3*time.Second), j.Slower("198.51.100.77", 4*time.Second))
		})
		j, err = Resume(dir, cfg, seeds)
		run(j, err, func(*Job) error { return nil })
		last, quick := map[string]time.Time{}, 0
		for _, r := range w.Requests() {
			if at := r.Start.Sub(w.Start()); !last[r.Host].IsZero() && at > 25*time.Second {
				gap, due := r.Start.Sub(last[r.Host]), map[string]time.Duration{"a.example:8080": 3 * time.Second, "a.example:80": 3 * time.Second, "198.51.100.77:8080": 4 * time.Second}[r.Host]
				if gap < due {
					t.Errorf("%s was requested %v after the request before", r.URL, gap)
				}
				if due == 0 && gap < 2*time.Second {
					quick++
				}
			}
			last[r.Host] = r.End
		}
		if quick < 30 {
			t.Errorf("%d requests at the usual pace", quick)
		}
		r, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		if v, err := r.Verify(); err != nil || len(v.Violations) > 0 {
			t.Errorf("verification: %v, %+v", err, v)
		}
		c, err := readAuditConfig(dir)
		if err != nil || len(c.HostDelays) != 2 || c.HostDelays[0].Match != "198.51.100.77:*" || c.HostDelays[1].Match != "a.example" {
			t.Errorf("the ledger is checked against %+v (%v)", c.HostDelays, err)
		}
	})
}

// TestQueueIsScoredBeforeResume ends a job by a limit. When it is resumed, Rescore first gives the queued URLs new scores, and then the
// URLs with the highest scores are requested first.
func TestQueueIsScoredBeforeResume(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir, seeds := filepath.Join(t.TempDir(), "job"), []string{"http://a.example/"}
		s := w.Site("http://a.example")
		var links strings.Builder
		for i := 1; i <= 6; i++ {
			fmt.Fprintf(&links, "<a href=/%d>page</a>", i)
			s.Page(fmt.Sprint("/", i), "")
		}
		s.Page("/", links.String())
		cfg := simulated(w)
		cfg.Crawl.Score = func(*crawler.Visit, *crawler.Link) float64 { return 0 }
		cfg.Crawl.Limits.Pages = 3
		j, err := Create(dir, cfg, seeds...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); errors.Join(err, j.Close()) != nil {
			t.Fatal(err)
		}
		cfg.Crawl.Limits.Pages = 7
		if j, err = Resume(dir, cfg, seeds); err != nil {
			t.Fatal(err)
		}
		n, err := j.Crawler().Rescore(t.Context(), func(q frontier.Request) float64 { return float64(q.URL.Path()[1] - '0') })
		if n != 4 || err != nil {
			t.Errorf("%d scores have changed, %v; want 4", n, err)
		}
		rep, err := j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil || rep.Pages != 7 {
			t.Fatalf("%v %+v", err, rep)
		}
		var order []string
		for _, r := range w.Requests() {
			order = append(order, strings.TrimPrefix(r.URL, "http://a.example"))
		}
		if want := "/robots.txt / /1 /2 /6 /5 /4 /3"; strings.Join(order, " ") != want {
			t.Errorf("requested %v, want %s", order, want)
		}
	})
}

// pages makes n pages of a site.
func pages(s *crawltest.Site, n int) {
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=/%d>page</a>", i)
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf("page %d <a href=http://b.example/from/%d>later</a>", i, i))
	}
	s.Page("/", links.String())
}

// simulated returns the configuration of a job that crawls w.
func simulated(w *crawltest.Web) Config {
	const contact = "https://lab.university.edu/crawl"
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact})
	c := Config{Crawl: crawler.Config{Agent: "testbot/1.0", Contact: contact}}
	c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	c.Crawl.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	return c
}

// checkActions verifies the job, and compares the actions in its manifest. Those of different processes are separated by semicolons.
func checkActions(t *testing.T, dir string, start time.Time, want string) {
	t.Helper()
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, run := range m.Runs {
		var actions []string
		for _, c := range run.Changes {
			text := strings.TrimRight(c.Key+" "+c.To, " ")
			actions = append(actions, fmt.Sprintf("%s %v s", text, c.At.Sub(start).Seconds()))
		}
		runs = append(runs, strings.Join(actions, ", "))
	}
	if got := strings.Join(runs, "; "); got != want {
		t.Errorf("actions:\n%s\nwant\n%s", got, want)
	}
	if v, err := r.Verify(); err != nil || len(v.Violations) > 0 || v.Damaged() > 0 || v.Chain.Fault != "" {
		t.Errorf("verification: %v, %+v", err, v)
	}
}
