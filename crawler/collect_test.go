package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// numbers creates a site of pages 1 to n, each linked from the previous page.
func numbers(w *crawltest.Web, n int) *crawltest.Site {
	s := w.Site("http://a.example")
	for i := range n {
		s.Page(fmt.Sprintf("/%d", i+1), links(fmt.Sprintf("/%d", i+2)))
	}
	return s
}

func TestCollect(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 3)
		s.Page("/fails", links("/never"))
		s.Page("/gone", "").Status(404)
		s.Page("/breaks", "").Fault(crawltest.Reset())
		s.Page("/again", "")
		no := errors.New("no")
		attempts := 0
		c := newCrawler(t, w, crawler.Config{Limits: crawler.Limits{Depth: 2}, Concurrency: 1, Retries: crawler.Retries{Max: 1}})
		repeats(w)
		read := func(_ context.Context, v *crawler.Visit) ([]string, error) {
			switch v.URL.Path() {
			case "/2":
				return nil, nil
			case "/fails":
				return []string{"half"}, no
			case "/again":
				if attempts++; attempts == 1 {
					return []string{"first attempt"}, crawler.Retry(no)
				}
				return []string{"second attempt"}, nil
			}
			return []string{v.URL.Path(), strings.Repeat(v.URL.Path(), 2)}, crawler.SkipLinks
		}
		var got []string
		for x, err := range crawler.Collect(t.Context(), c, read, s.URL("/1"), s.URL("/2"), s.URL("/fails"), s.URL("/gone"), s.URL("/breaks"), s.URL("/again")) {
			var failed *crawler.VisitError
			switch {
			case errors.As(err, &failed):
				x = failed.URL.Path() + " " + failed.Reason
				if (failed.URL.Path() == "/fails") != errors.Is(err, no) {
					t.Error(err)
				}
			case err != nil:
				t.Error(err)
			}
			got = append(got, x)
		}
		slices.Sort(got)
		same(t, got, "/1", "/1/1", "/3", "/3/3", "/breaks reset", "/fails handler_error", "second attempt")
	})
}

// TestCollectWritesItems: with sinks, the loop's values are written as results of the visit, once and only if the visit
// counts, along with emitted items. A value that cannot be encoded as JSON fails the visit. Without sinks, any value is
// allowed.
func TestCollectWritesItems(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 4)
		type value struct {
			Path string `json:"path"`
			Odd  any    `json:"odd,omitempty"`
		}
		attempts := 0
		read := func(_ context.Context, v *crawler.Visit) ([]value, error) {
			x := value{Path: v.URL.Path()}
			switch v.URL.Path() {
			case "/1":
				return []value{x, x}, v.Emit("emitted")
			case "/2":
				return []value{x}, errors.New("no")
			case "/3":
				x.Odd = func() {}
			case "/4":
				if attempts++; attempts%2 == 1 {
					return []value{x}, crawler.Retry(nil)
				}
			}
			return []value{x}, nil
		}
		collect := func(sinks ...sink.Sink) (got []string) {
			c := newCrawler(t, w, crawler.Config{Sinks: sinks, Concurrency: 1, Limits: crawler.Limits{Depth: crawler.SeedsOnly}})
			repeats(w)
			for x, err := range crawler.Collect(t.Context(), c, read, s.URL("/1"), s.URL("/2"), s.URL("/3"), s.URL("/4")) {
				if err != nil {
					x.Path = "failed"
				}
				got = append(got, x.Path)
			}
			return got
		}
		var out bytes.Buffer
		same(t, collect(sink.NewItems(&out)), "/1", "/1", "failed", "failed", "/4")
		same(t, strings.Split(strings.TrimSpace(out.String()), "\n"), `"emitted"`, `{"path":"/1"}`, `{"path":"/1"}`, `{"path":"/4"}`)
		time.Sleep(time.Minute) // virtual time; the second crawl does not know the pauses of the first crawl
		same(t, collect(), "/1", "/1", "failed", "/3", "/4")
	})
}

// TestCollectBreakDrains: after a break, requests in flight finish, and then the crawl ends.
func TestCollectBreakDrains(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 50)
		var report []string
		c := newCrawler(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}, Trace: &crawler.Trace{Visited: func(v *crawler.Visit) {
			report = append(report, v.URL.Path())
		}}})
		read := func(_ context.Context, v *crawler.Visit) ([]int, error) { return []int{v.Depth, v.Depth}, nil }
		var got []int
		for x, err := range crawler.Collect(t.Context(), c, read, s.URL("/1")) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, x); len(got) == 5 {
				break
			}
		}
		if !slices.Equal(got, []int{0, 0, 1, 1, 2}) {
			t.Error(got)
		}
		same(t, report, "/1", "/2", "/3")
		if p := c.Progress(); p.Pages != 0 {
			t.Errorf("still under way: %+v", p)
		}
	})
}

// TestCollectAfterTheHandler: the Config's Handler runs first, and the loop does not get pages on which the Handler fails.
func TestCollectAfterTheHandler(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 3)
		var calls []string
		h := func(_ context.Context, v *crawler.Visit) error {
			calls = append(calls, "handler "+v.URL.Path())
			if v.URL.Path() == "/2" {
				return errors.New("no")
			}
			return nil
		}
		c := newCrawler(t, w, crawler.Config{Handler: crawler.HandlerFunc(h)})
		read := func(_ context.Context, v *crawler.Visit) ([]int, error) {
			calls = append(calls, "read "+v.URL.Path())
			return []int{1}, nil
		}
		n := 0
		for _, err := range crawler.Collect(t.Context(), c, read, s.URL("/1")) {
			if err == nil {
				n++
			}
		}
		same(t, calls, "handler /1", "read /1", "handler /2")
		if n != 1 {
			t.Errorf("%d values", n)
		}
	})
}

func TestCollectYieldsRunsError(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 3)
		c := newCrawler(t, w, crawler.Config{})
		read := func(_ context.Context, v *crawler.Visit) ([]int, error) { return nil, nil }
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var last error
		for _, err := range crawler.Collect(ctx, c, read, s.URL("/1")) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Error(last)
		}
		var bad *crawler.SeedError
		for _, err := range crawler.Collect(t.Context(), c, read, "no url") {
			if !errors.As(err, &bad) {
				t.Error(err)
			}
		}
	})
}

func TestSlogTrace(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(100 * time.Millisecond)
		s.Robots("User-agent: *\nDisallow: /private\n").Forbids("/private")
		s.Page("/", links("/private"))
		var b, none bytes.Buffer
		for _, out := range []*bytes.Buffer{&b, &none} {
			level := slog.LevelDebug
			if out == &none {
				level = slog.LevelInfo
			}
			c := newCrawler(t, w, crawler.Config{Concurrency: 1, Trace: crawler.SlogTrace(logTo(out, level), slog.LevelDebug)})
			repeats(w)
			if _, err := c.Run(t.Context(), s.URL("/")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // two crawlers do not know of each other's pauses
		}
		same(t, strings.Split(strings.TrimSpace(b.String()), "\n"),
			`level=DEBUG msg=claimed url=http://a.example/ depth=0 attempt=0`,
			`level=DEBUG msg=admitted url=http://a.example/ purpose=robots request=http://a.example/robots.txt`,
			`level=DEBUG msg=robots url=http://a.example/ source="http://a.example/robots.txt (200, fetched 2000-01-01T00:00:00Z)" expires=2000-01-02T00:00:00.100Z`,
			`level=DEBUG msg=claimed url=http://a.example/ depth=0 attempt=0`,
			`level=DEBUG msg=admitted url=http://a.example/ purpose=page request=http://a.example/`,
			`level=DEBUG msg=visited url=http://a.example/ outcome=fetched status=200 bytes=25 took=100ms`,
			`level=DEBUG msg=claimed url=http://a.example/private depth=1 attempt=0`,
			`level=DEBUG msg=visited url=http://a.example/private outcome=refused reason=robots_disallow rule="Disallow: /private"`)
		if none.Len() != 0 {
			t.Errorf("written above its level: %s", none.String())
		}
	})
}

// TestJoinTraces: every hook of every Trace is called, in order, and missing hooks are skipped.
func TestJoinTraces(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow:\n")
		s.Page("/", links("/b")).Fault(crawltest.Reset().First(1))
		s.Page("/b", "")
		var mu sync.Mutex // a separate goroutine reports commits
		hooks := func(name string, got map[string]string) *crawler.Trace {
			note := func(hook string) {
				mu.Lock()
				defer mu.Unlock()
				got[hook] += name
			}
			return &crawler.Trace{
				Claimed: func(frontier.Claim) { note("claimed") }, Waiting: func(weburl.URL, *politeness.NotYet) { note("waiting") },
				Admitted: func(weburl.URL, politeness.Permit) { note("admitted") }, Robots: func(weburl.URL, politeness.OriginInfo) { note("robots") },
				Retrying: func(weburl.URL, string, time.Time) { note("retrying") }, Visited: func(*crawler.Visit) { note("visited") },
				Answered: func(weburl.URL, *fetcher.Answer) { note("answered") }, Committed: func(crawler.Commit) { note("committed") },
			}
		}
		got, alone := map[string]string{}, map[string]string{}
		// Both hosts have the same address, so one of them has to wait.
		o := w.Site("http://b.example").Address(s.Addr().String())
		o.Page("/", "")
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		c := newCrawler(t, w, crawler.Config{Concurrency: 1, Frontier: store, Trace: crawler.JoinTraces(hooks("1", got), nil, &crawler.Trace{}, hooks("2", got), hooks(".", alone))})
		if _, err := c.Run(t.Context(), s.URL("/"), o.URL("/")); err != nil {
			t.Fatal(err)
		}
		for hook, n := range alone {
			if want := strings.Repeat("12", len(n)); got[hook] != want {
				t.Errorf("%s: %s, want %s", hook, got[hook], want)
			}
		}
		if len(alone) != 8 {
			t.Errorf("only %v were called", alone)
		}
	})
}
