package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/watch"
)

const (
	contact = "https://lab.university.edu/crawl"
	day     = 24 * time.Hour
)

var long = flag.Int("watch.long", 1, "how many times as long the simulated watches are")

// days returns a duration of n days, or of more in long runs. Each simulated day takes the store's timers about a second of real time.
func days(n int) time.Duration { return time.Duration(n**long) * day }

// site represents a simulated site whose pages change with time.
type site struct {
	w     *crawltest.Web
	begin time.Time
	every map[string]time.Duration // interval between changes, by path; 0: never changes
	from  map[string]time.Duration // time at which each page appears
	until map[string]time.Duration // time at which each page disappears
	links string
	fails time.Time // time from which all requests are answered with 500; zero: never

	signals bool // the sitemap has the time of each page's last change
	lies    bool // the sitemap always claims recent changes
	feed    bool // /feed.xml has the times of changes
	asked   func(step string)
}

// newSite makes a site with pages that change every 9, 18 or 27 hours. Every fourth page never changes.
func newSite(w *crawltest.Web, pages int) *site {
	s := &site{w: w, begin: time.Now(), every: map[string]time.Duration{"/": 0}, from: map[string]time.Duration{}, until: map[string]time.Duration{}}
	for i := range pages {
		s.page(fmt.Sprintf("/p/%d", i), time.Duration(i%4)*9*time.Hour)
	}
	c := w.Site("https://a.test")
	c.Handle("/*", s)
	c.Handle("/robots.txt", s)
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true})
	return s
}

func (s *site) page(path string, every time.Duration) {
	s.every[path] = every
	s.links += fmt.Sprintf("<a href=%s>x</a> ", path)
}

// version returns the version number of a page at a time, or -1 if the page does not exist then.
func (s *site) version(path string, at time.Time) int {
	every, ok := s.every[path]
	age := at.Sub(s.begin)
	if until, gone := s.until[path]; !ok || age < s.from[path] || gone && age >= until {
		return -1
	}
	if every == 0 {
		return 0
	}
	return int((age + ahead(path)) / every)
}

// ahead returns by how much the changes of a page come earlier than those of other pages.
func ahead(path string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	return time.Duration(h.Sum32()%3600) * time.Second
}

// changed returns when the version that a page has at a time appeared.
func (s *site) changed(path string, at time.Time) time.Time {
	if v := s.version(path, at); v > 0 {
		return s.begin.Add(time.Duration(v)*s.every[path] - ahead(path))
	}
	return s.begin.Add(s.from[path])
}

// list writes an entry for each existing page, with the time of its last change.
func (s *site) list(rw http.ResponseWriter, begin, entry, end string) {
	rw.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(rw, begin)
	for _, path := range slices.Sorted(maps.Keys(s.every)) {
		now := time.Now()
		if s.version(path, now) < 0 || path == "/feed.xml" {
			continue
		}
		changed := s.changed(path, now)
		if s.lies {
			changed = now
		}
		fmt.Fprintf(rw, entry, "https://a.test"+path, changed.Format(time.RFC3339))
	}
	fmt.Fprint(rw, end)
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if s.asked != nil {
		s.asked("begin " + r.URL.Path)
		defer s.asked("end " + r.URL.Path)
	}
	switch {
	case r.URL.Path == "/robots.txt" && s.signals:
		fmt.Fprintln(rw, "Sitemap: https://a.test/sitemap.xml")
		return
	case r.URL.Path == "/robots.txt":
		http.NotFound(rw, r)
		return
	case r.URL.Path == "/sitemap.xml" && s.signals:
		s.list(rw, "<urlset>", "<url><loc>%s</loc><lastmod>%s</lastmod></url>", "</urlset>")
		return
	case r.URL.Path == "/feed.xml" && s.feed:
		s.list(rw, `<feed xmlns="http://www.w3.org/2005/Atom">`, `<entry><link href="%s"/><updated>%s</updated></entry>`, "</feed>")
		return
	case r.URL.Path == "/plain": // no validators: conditional requests are not possible
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(rw, "the same each time, and without a word about that")
		return
	case strings.HasPrefix(r.URL.Path, "/now/"):
		rw.Header().Set("Content-Type", "text/plain")
		rw.Header().Set("Last-Modified", time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat))
		fmt.Fprint(rw, time.Now())
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

// crawl makes the job that is then watched.
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

// watch watches the job for the duration d.
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

// overBudget returns an error if, within any 24 hours, the site's log has more requests than the given maximum.
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

// changesIn returns the changes recorded in the lines of visits.jsonl.
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

// If pages fail, repeated attempts count towards the budget; beyond it, the gate makes requests wait.
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

// A watch discovers no pages that the job's limits excluded. New pages use at most their share of the budget.
func TestWatchDiscovers(t *testing.T) {
	for _, limit := range []crawler.Limit{crawler.Unlimited, 10} {
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
			if limit == crawler.Unlimited && (news < 10 || news > 20*int(days(1)/day)) || limit == 10 && news != 0 {
				t.Errorf("limit %d: %d new pages in a day with 15 requests a day for them", limit, news)
			}
			if err := s.overBudget(100); err != nil {
				t.Error(err)
			}
		})
	}
}

// Errors about bad input say what to do.
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
