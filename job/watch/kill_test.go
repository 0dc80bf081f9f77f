package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/watch"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

var (
	killSeeds = flag.Int("kill.n", 1, "number of seeds TestKilledWatches goes through")
	killFrom  = flag.Uint64("kill.from", 5, "the first of them")
	killEach  = flag.Int("kill.each", 0, "kill a watch of its own at each of so many steps, too")
)

const killBudget = 40

// TestKilledWatches kills processes that watch a site, at any step of a visit and at any time between two visits, and resumes them minutes
// or hours later, in virtual time. The test checks the log of the servers, which survives the processes: no 24 hours have more requests
// than the budget, and no pause is cut short. Each visit's line has the change that follows from earlier lines; every response has a line;
// and a watch that is opened again knows what the previous one knew. A failing seed is repeated by
//
//	go test ./job/watch -run KilledWatches -kill.n 1 -kill.from N
//
// The flag -kill.n sets the number of seeds, for a soak test. The flag -kill.each kills one watch at each of its first steps.
func TestKilledWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for i := range uint64(*killSeeds) {
		seed := *killFrom + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			k := newKilled(t, rng)
			for range 3 + rng.IntN(4) {
				if rng.IntN(5) == 0 {
					k.process("after", time.Duration(rng.IntN(60))*time.Millisecond)
				} else {
					k.process("steps", time.Duration(1+rng.IntN(250)))
				}
			}
			k.end()
		})
	}
	for n := range *killEach {
		t.Run(fmt.Sprint("step=", n+1), func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, rand.New(rand.NewPCG(1, 1)))
			k.process("steps", time.Duration(n+1))
			k.end()
		})
	}
}

// killed represents a watch whose processes are killed.
type killed struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	log   string
	from  time.Duration // start of the next process, counted from the start of the simulated web
	kills int
}

func newKilled(t *testing.T, rng *rand.Rand) *killed {
	dir := t.TempDir()
	k := &killed{t: t, rng: rng, dir: filepath.Join(dir, "job"), log: filepath.Join(dir, "log")}
	k.process("crawl", 0)
	return k
}

// process runs a watch until it is killed after n steps or n nanoseconds of real time, or until it ends. The first process makes the job.
func (k *killed) process(how string, n time.Duration) {
	k.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWatchToBeKilled$", "-test.count=1")
	cmd.Env = append(os.Environ(), "WATCH_DIR="+k.dir, "WATCH_LOG="+k.log, "WATCH_FROM="+strconv.FormatInt(int64(k.from), 10))
	switch how {
	case "steps":
		cmd.Env = append(cmd.Env, "WATCH_STEPS="+strconv.FormatInt(int64(n), 10))
	case "crawl":
		cmd.Env = append(cmd.Env, "WATCH_STEPS=-1")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	if how == "after" {
		shot := time.AfterFunc(n, func() { _ = cmd.Process.Kill() })
		defer shot.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && !exit.Exited():
		k.kills++
	case err != nil:
		k.t.Fatalf("%v\n%s", err, &out)
	}
	k.from += time.Minute
	if all := k.lines(); len(all) > 0 {
		k.from = all[len(all)-1].at + time.Duration(k.rng.IntN(600))*time.Second
	}
	if how == "after" || k.rng.IntN(4) == 0 {
		k.from += time.Hour + time.Duration(k.rng.Int64N(int64(5*time.Hour))) // the killed process may have been ahead of its log
	}
}

// end runs the watch until it ends, and checks the outcome.
func (k *killed) end() {
	k.t.Helper()
	k.process("", 0)
	log := k.lines()
	var begun []logged
	visits := map[string]int{} // number of responses with pages, by path
	for _, l := range log {
		switch l.event {
		case "begin":
			begun = append(begun, l)
		case "end":
			visits[l.path]++
		}
	}
	robots := -day
	for i, l := range begun {
		if l.path == "/robots.txt" {
			robots = l.at
		} else if l.at-robots > day+time.Minute {
			k.t.Errorf("%s is requested at %v, and robots.txt was at %v", l.path, l.at, robots)
		}
		if i > 0 && l.at-begun[i-1].at < time.Second {
			k.t.Errorf("%v after a request for %s came one for %s", l.at-begun[i-1].at, begun[i-1].path, l.path)
		}
		if i >= killBudget && l.at-begun[i-killBudget].at < day {
			k.t.Errorf("%d requests within %v, the last one at %v", killBudget+1, l.at-begun[i-killBudget].at, l.at)
		}
	}
	changes, pages := checkLines(k.t, k.dir)
	missing := 0
	for path, n := range visits {
		if path != "/robots.txt" && pages[path] < n {
			missing += n - pages[path]
		}
	}
	if missing > k.kills {
		k.t.Errorf("%d requests for pages were answered and are in no line, after %d kills", missing, k.kills)
	}
	if v, err := verify(k.dir); err != nil || v.Damaged() != 0 {
		k.t.Errorf("verify: %v %+v", err, v)
	}
	k.t.Logf("%d kills, %d requests in %v, %d steps, changes: %v", k.kills, len(begun), begun[len(begun)-1].at, len(log), changes)
}

// checkLines checks that each line of a visit has the change that follows from the lines before. It returns the number of changes by kind,
// and the number of lines by path.
func checkLines(t *testing.T, dir string) (changes, pages map[string]int) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	type page struct {
		sum  string
		gone bool
	}
	known, crawled := map[string]page{}, m.Runs[0].Ended
	changes, pages = map[string]int{}, map[string]int{}
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(v.URL, "https://a.test")
		pages[path]++
		if path == "/sitemap.xml" {
			continue
		}
		p, there := known[v.URL]
		want := ""
		switch {
		case v.Outcome == "not_modified", v.Status == http.StatusOK && !there, p.gone && v.Status == http.StatusOK:
			if !there && v.Ended.After(crawled) {
				want = watch.New
			} else if p.gone {
				want = watch.Back
			}
		case v.Status == http.StatusOK && v.SHA256 != p.sum:
			want = watch.Changed
		case v.Status == http.StatusNotFound && there && !p.gone:
			want = watch.Gone
		}
		if v.Status == http.StatusOK {
			known[v.URL] = page{sum: v.SHA256}
		} else if there && v.Status == http.StatusNotFound {
			known[v.URL] = page{gone: true}
		}
		got := ""
		for _, d := range v.Data {
			var c watch.Change
			if err := json.Unmarshal(d, &c); err != nil {
				t.Fatal(err)
			}
			got += c.Change
		}
		if got != want {
			t.Errorf("the visit of %s at %v has the change %q, want %q", path, v.Ended, got, want)
		}
		if want != "" {
			changes[want]++
		}
	}
	return changes, pages
}

// logged represents a line of the log of a killed watch.
type logged struct {
	at          time.Duration
	event, path string
}

func (k *killed) lines() []logged {
	k.t.Helper()
	return readLog(k.t, k.log)
}

func readLog(t *testing.T, path string) (all []logged) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		at, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || len(f) < 2 {
			t.Fatalf("the log has the line %q", line)
		}
		all = append(all, logged{time.Duration(at), f[1], strings.Join(f[2:], " ")})
	}
	return all
}

// TestWatchToBeKilled runs only in the processes that TestKilledWatches starts and kills.
func TestWatchToBeKilled(t *testing.T) {
	dir := os.Getenv("WATCH_DIR")
	if dir == "" {
		t.Skip("is run by TestKilledWatches")
	}
	log, err := os.OpenFile(os.Getenv("WATCH_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	from, _ := strconv.ParseInt(os.Getenv("WATCH_FROM"), 10, 64)
	steps, _ := strconv.Atoi(os.Getenv("WATCH_STEPS"))
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		web.ExpectViolations() // the simulated web does not know the requests of earlier processes; the audit of the ledger checks them
		x := &victim{log: log, began: time.Now(), left: -1}
		s := newSite(web, 0)
		for i := range 12 {
			s.page(fmt.Sprintf("/p/%d", i), time.Duration(i%4)*3*time.Hour)
		}
		s.page("/late", 0)
		s.from["/late"] = 4 * time.Hour
		s.until["/p/4"], s.from["/p/4"] = 9*time.Hour, 0
		s.signals, s.asked = true, x.at
		time.Sleep(time.Duration(from))
		if steps < 0 {
			s.crawl(t, dir, func(c *job.Config) { c.Crawl.Follow.Sitemaps = true })
		}
		if steps > 0 {
			x.left = steps
		}
		if steps >= 0 {
			x.watch(t, s, dir)
		}
	})
}

// watch watches the site. At the end it checks that the stored job gives the same knowledge.
func (x *victim) watch(t *testing.T, s *site, dir string) {
	c := watch.Config{Budget: killBudget, For: 30 * time.Hour, Found: func(watch.Change) { x.at("found") }, Program: func(c *job.Config) {
		s.w.Apply(&c.Crawl)
		c.Crawl.Trace = x.trace()
		c.Crawl.Sinks = []sink.Sink{&victimSink{x: x}}
		c.Crawl.Handler = crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { x.at("handle"); return nil })
	}}
	open := func() *watch.Watch {
		w, err := watch.Open(dir, c)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := open()
	if used, seen := w.Used("a.test:443"), x.seen(t); used < seen {
		t.Errorf("%d requests count, and the server has seen %d in the last 24 hours", used, seen)
	}
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	known, status := w.Known(), w.Status()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open()
	if err := w.Recall(); err != nil {
		t.Fatal(err)
	}
	if _, is := known["https://a.test/sitemap.xml"]; is {
		t.Error("the sitemap is a page")
	}
	if again := w.Known(); !maps.Equal(known, again) {
		for url, k := range known {
			if again[url] != k {
				t.Errorf("%s is known as %+v, it was %+v", url, again[url], k)
			}
		}
	}
	if is, was := w.Status().Hosts, status.Hosts; len(is) != len(was) || is[0].Used != was[0].Used || is[0].Signals != was[0].Signals {
		t.Errorf("status %+v, it was %+v", is, was)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// seen returns the number of requests, by all processes, that the server has received in the last 24 hours.
func (x *victim) seen(t *testing.T) (n int) {
	for _, l := range readLog(t, x.log.Name()) {
		if l.event == "begin" && time.Since(x.began)-l.at < day-time.Minute {
			n++
		}
	}
	return n
}

// victim represents the process that is killed.
type victim struct {
	log   *os.File
	began time.Time

	mu   sync.Mutex
	left int // number of steps before the kill; negative: no kill
}

// at logs a step, and kills the process if it was the last one allowed.
func (x *victim) at(step string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, _ = fmt.Fprintf(x.log, "%d %s\n", time.Since(x.began), step)
	if x.left--; x.left == 0 {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
}

func (x *victim) trace() *crawler.Trace {
	return &crawler.Trace{
		Claimed:   func(frontier.Claim) { x.at("claimed") },
		Waiting:   func(weburl.URL, *politeness.NotYet) { x.at("waiting") },
		Admitted:  func(weburl.URL, politeness.Permit) { x.at("admitted") },
		Answered:  func(weburl.URL, *fetcher.Answer) { x.at("answered") },
		Robots:    func(weburl.URL, politeness.OriginInfo) { x.at("robots") },
		Retrying:  func(weburl.URL, string, time.Time) { x.at("retrying") },
		Visited:   func(*crawler.Visit) { x.at("visited") },
		Committed: func(crawler.Commit) { x.at("committed") },
	}
}

// victimSink is a sink that writes nothing. Its steps follow those of the job's outputs.
type victimSink struct {
	sink.Base
	x *victim
}

func (s *victimSink) Append(context.Context, *sink.Record) error { s.x.at("append"); return nil }
func (s *victimSink) Sync(_ context.Context) (int64, error)      { s.x.at("sync"); return 0, nil }
func (s *victimSink) Restore(context.Context, int64) error       { return nil }
func (s *victimSink) Close(_ context.Context) error              { return nil }
func (s *victimSink) Name() string                               { return "victim" }
