package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/watch"
)

const (
	contact = "https://lab.university.edu/crawl"
	day     = 24 * time.Hour
)

var long = flag.Int("watch.long", 1, "how many times as long the simulated watches are")

// days returns a duration: a second or so for each simulated day goes into the timers of the store.
func days(n int) time.Duration { return time.Duration(n**long) * day }

// site is a site of the simulated web whose pages change by the clock.
type site struct {
	w     *crawltest.Web
	begin time.Time
	every map[string]time.Duration // by path: how often a page changes; 0: never
	from  map[string]time.Duration // when a page appears
	until map[string]time.Duration // when it disappears
	links string
	fails time.Time // when it begins to answer 500; zero: never
}

// newSite makes a site with pages of which the n-th changes every so many days, and some not at all.
func newSite(w *crawltest.Web, pages int) *site {
	s := &site{w: w, begin: time.Now(), every: map[string]time.Duration{"/": 0}, from: map[string]time.Duration{}, until: map[string]time.Duration{}}
	for i := range pages {
		s.page(fmt.Sprintf("/p/%d", i), time.Duration(i%4)*9*time.Hour)
	}
	c := w.Site("https://a.test")
	c.Handle("/*", s)
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true})
	return s
}

func (s *site) page(path string, every time.Duration) {
	s.every[path] = every
	s.links += fmt.Sprintf("<a href=%s>x</a> ", path)
}

// version is which version of a page there is at a time, -1 for none.
func (s *site) version(path string, at time.Time) int {
	every, ok := s.every[path]
	age := at.Sub(s.begin)
	if until, gone := s.until[path]; !ok || age < s.from[path] || gone && age >= until {
		return -1
	}
	if every == 0 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	return int((age + time.Duration(h.Sum32()%3600)*time.Second) / every)
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(rw, r)
		return
	}
	if !s.fails.IsZero() && time.Now().After(s.fails) {
		rw.WriteHeader(http.StatusInternalServerError)
		return
	}
	v := s.version(r.URL.Path, time.Now())
	if v < 0 {
		http.NotFound(rw, r)
		return
	}
	body := fmt.Sprintf("<title>%s</title> version %d of %s", r.URL.Path, v, r.URL.Path)
	if r.URL.Path == "/" {
		body = s.links
		for path := range s.from {
			if s.version(path, time.Now()) < 0 {
				body = strings.ReplaceAll(body, fmt.Sprintf("<a href=%s>x</a>", path), "")
			}
		}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(body))
	tag := fmt.Sprintf("%q", fmt.Sprint(h.Sum32()))
	rw.Header().Set("Content-Type", "text/html")
	rw.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = rw.Write([]byte(body))
}

// crawl makes the job that is watched.
func (s *site) crawl(t *testing.T, dir string, change func(c *job.Config)) {
	t.Helper()
	c := job.Config{Archive: true, Crawl: crawler.Config{Contact: contact}}
	if change != nil {
		change(&c)
	}
	s.w.Apply(&c.Crawl)
	j, err := job.Create(dir, c, "https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// watch watches the job for a time.
func (s *site) watch(ctx context.Context, t *testing.T, dir string, budget int, d time.Duration) (*watch.Watch, []watch.Change) {
	t.Helper()
	var all []watch.Change
	w, err := watch.Open(dir, watch.Config{
		Budget: budget, For: d, Found: func(c watch.Change) { all = append(all, c) },
		Program: func(c *job.Config) { s.w.Apply(&c.Crawl) },
	})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := w.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if ctx.Err() == nil && rep.Finish != crawler.FinishDrained {
		t.Errorf("it ended by %s", rep.Finish)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w, all
}

// overBudget returns when more than most requests reached the site within 24 hours, by what the site has logged.
func (s *site) overBudget(most int) error {
	all := s.w.Requests()
	for i := most; i < len(all); i++ {
		if d := all[i].Start.Sub(all[i-most].Start); d < day {
			return fmt.Errorf("%d requests within %v, the last one at %v", most+1, d, all[i].Start)
		}
	}
	return nil
}

func (s *site) requestsSince(at time.Time) (n, notModified int) {
	for _, r := range s.w.Requests() {
		if r.Start.After(at) {
			n++
			if r.Status == http.StatusNotModified {
				notModified++
			}
		}
	}
	return n, notModified
}

// changesIn returns the changes in the lines of visits.jsonl.
func changesIn(t *testing.T, dir string) (all []watch.Change) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range v.Data {
			var c watch.Change
			if err := json.Unmarshal(d, &c); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
	}
	return all
}

// A watched job finds what changes, is new, gone and back, with conditional requests, and with no more requests a day than
// it may make.
func TestWatch(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := newSite(web, 20)
		s.page("/late", 0)
		s.from["/late"] = day
		s.until["/p/4"] = 30 * time.Hour
		dir := filepath.Join(t.TempDir(), "job")
		s.crawl(t, dir, nil)
		began := time.Now()
		w, found := s.watch(t.Context(), t, dir, 60, days(3))
		if err := s.overBudget(60); err != nil {
			t.Error(err)
		}
		n, same := s.requestsSince(began)
		t.Logf("%d requests, %d not modified, %d changes ", n, same, len(found))
		if n < 3*40 || same < n/3 {
			t.Errorf("%d requests, %d of them not modified", n, same)
		}
		count := map[string]int{}
		of := map[string]int{}
		for _, c := range found {
			count[c.Change]++
			of[strings.TrimPrefix(c.URL, "https://a.test")]++
		}
		if count[watch.New] != 1 || of["/late"] != 1 || count[watch.Gone] != 1 || of["/p/4"] < 1 {
			t.Errorf("changes: %v, by page: %v", count, of)
		}
		for path, n := range of {
			if strings.HasPrefix(path, "/p/") && s.every[path] == 0 && path != "/p/4" {
				t.Errorf("%s has not changed, and is reported %d times", path, n)
			}
		}
		if of["/p/1"] < 3 || of["/p/5"] < 3 {
			t.Errorf("pages that change every 9 hours are reported %d and %d times", of["/p/1"], of["/p/5"])
		}
		if in := changesIn(t, dir); len(in) != len(found) {
			t.Errorf("%d changes in visits.jsonl, %d were told", len(in), len(found))
		}
		st := w.Status()
		if url, due := w.Next(); len(st.Hosts) != 1 || st.Hosts[0].Pages != 21 || st.Hosts[0].Gone != 1 || url == "" || due.Before(time.Now().Add(-day)) {
			t.Errorf("status: %+v", st)
		}
		if v, err := verify(dir); err != nil || v.Damaged() != 0 {
			t.Errorf("verify: %v %+v", err, v)
		}
	})
}

// A watch that is killed at any time, and begun again from what was on disk then, keeps the budget, tells each change once,
// and knows what was known.
func TestWatchIsKilled(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := newSite(web, 12)
		s.page("/late", 0)
		s.from["/late"] = 8 * time.Hour
		dir := filepath.Join(t.TempDir(), "job")
		s.crawl(t, dir, nil)
		r := rand.New(rand.NewPCG(5, 6))
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.watch(ctx, t, dir, 30, 40*day)
			}()
			time.Sleep(time.Duration(r.Int64N(int64(days(1)) / 2)))
			synctest.Wait()
			next := filepath.Join(t.TempDir(), fmt.Sprint("job", i))
			if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			cancel()
			<-ended
			dir = next
		}
		_, _ = s.watch(t.Context(), t, dir, 30, days(1))
		if err := s.overBudget(30); err != nil {
			t.Error(err)
		}
		told := map[string]bool{}
		news := 0
		for _, c := range changesIn(t, dir) {
			id := c.Change + c.URL + c.SHA256
			if told[id] && c.Change != watch.Back {
				t.Errorf("told twice: %+v", c)
			}
			told[id] = true
			if c.Change == watch.New {
				news++
			}
		}
		if news != 1 || len(told) < 5 {
			t.Errorf("%d new pages, %d changes", news, len(told))
		}
	})
}

// Further attempts at pages that fail are part of the budget: the gate holds what would exceed it.
func TestBudgetHoldsWhenPagesFail(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := newSite(web, 10)
		dir := filepath.Join(t.TempDir(), "job")
		s.crawl(t, dir, nil)
		s.fails = time.Now().Add(6 * time.Hour)
		w, found := s.watch(t.Context(), t, dir, 40, 36*time.Hour)
		if err := s.overBudget(40); err != nil {
			t.Error(err)
		}
		if n, _ := s.requestsSince(s.fails); n < 40 || n > 80 {
			t.Errorf("%d requests to a site that fails, with 40 a day", n)
		}
		if st := w.Status(); st.Hosts[0].Pages != 11 || len(found) > 10 {
			t.Errorf("pages that fail are not gone: %+v, %v", st, found)
		}
	})
}

// What a job's limits excluded is not found by its watch, and what is new takes no more than its part of the budget.
func TestWatchDiscovers(t *testing.T) {
	for _, limit := range []int{crawler.None, 10} {
		crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
			s := newSite(web, 10)
			dir := filepath.Join(t.TempDir(), "job")
			s.crawl(t, dir, func(c *job.Config) { c.Crawl.Limits.Pages = limit })
			for i := range 100 {
				s.page(fmt.Sprintf("/new/%d", i), 0)
			}
			_, found := s.watch(t.Context(), t, dir, 100, days(1))
			news := 0
			for _, c := range found {
				if c.Change == watch.New {
					news++
				}
			}
			if limit == crawler.None && (news < 10 || news > 20*int(days(1)/day)) || limit == 10 && news != 0 {
				t.Errorf("limit %d: %d new pages in a day with 15 requests a day for them", limit, news)
			}
			if err := s.overBudget(100); err != nil {
				t.Error(err)
			}
		})
	}
}

// Bad input has an error that says what to do.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	good := watch.Config{Budget: 100, For: day}
	for _, tt := range []struct {
		c    watch.Config
		want string
	}{
		{watch.Config{For: day}, "budget of 0 requests"},
		{watch.Config{Budget: 5, For: day}, "at least 10"},
		{watch.Config{Budget: 100}, "say how long"},
		{good, "holds no crawl"},
	} {
		if w, err := watch.Open(dir, tt.c); err == nil || w != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := newSite(web, 2)
		dir := filepath.Join(t.TempDir(), "job")
		s.crawl(t, dir, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.watch(ctx, t, dir, 30, day)
		}()
		time.Sleep(time.Hour)
		good.Program = func(c *job.Config) { s.w.Apply(&c.Crawl) }
		if _, err := watch.Open(dir, good); !errors.Is(err, job.ErrHeld) {
			t.Errorf("a job that runs: %v", err)
		}
		cancel()
		<-ended
	})
}

func verify(dir string) (*job.Verification, error) {
	r, err := job.Read(dir)
	if err != nil {
		return nil, err
	}
	v, err := r.Verify()
	return v, errors.Join(err, r.Close())
}
