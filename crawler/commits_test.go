package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// TestCommitInterval checks that no visit waits for its commit longer than the interval, so after a kill only the requests
// of one interval and those in flight are repeated. Several visits share a commit.
func TestCommitInterval(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const interval = 2500 * time.Millisecond
		var seeds []string
		for _, host := range []string{"http://a.example", "http://b.example", "http://c.example"} {
			s := w.Site(host)
			var all []string
			for i := range 20 {
				all = append(all, fmt.Sprint("/", i))
				s.Page(all[i], "")
			}
			s.Page("/", links(all...))
			seeds = append(seeds, s.URL("/"))
		}
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		var mu sync.Mutex
		var answered []time.Time // response times of the pages whose visits are not durable yet
		visits, commits, longest := 0, 0, time.Duration(0)
		c := newCrawler(t, w, crawler.Config{Frontier: store, Commits: crawler.Commits{Interval: interval}, Trace: &crawler.Trace{
			Answered: func(_ weburl.URL, a *fetcher.Answer) {
				mu.Lock()
				defer mu.Unlock()
				if a.Permit.Purpose() == politeness.Page {
					answered = append(answered, time.Now())
				}
			},
			Committed: func(c crawler.Commit) {
				mu.Lock()
				defer mu.Unlock()
				commits, visits = commits+1, visits+c.Visits
				for _, at := range answered[:c.Visits] {
					longest = max(longest, time.Since(at))
				}
				answered = answered[c.Visits:]
			},
		}})
		if _, err := c.Run(t.Context(), seeds...); err != nil {
			t.Fatal(err)
		}
		if longest > interval || longest < interval/2 || visits != 63 || commits > visits/2 {
			t.Errorf("a visit waited %v for its commit; %d commits of %d visits", longest, commits, visits)
		}
	})
}

// TestCommitsBySize: with Commits.Bytes, a commit is due when its pages reach that size, even before the interval ends.
func TestCommitsBySize(t *testing.T) {
	for bytes, want := range map[int64]int{0: 50, 10_000: 10} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			var all []string
			for i := range 50 {
				all = append(all, fmt.Sprint("/", i))
				s.Page(all[i], strings.Repeat("x", 1000))
			}
			s.Page("/", links(all...))
			store, err := disk.Open(t.TempDir(), disk.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			most := 0
			c := newCrawler(t, w, crawler.Config{Frontier: store, Sinks: []sink.Sink{&fullSink{left: 99}}, Commits: crawler.Commits{Interval: time.Hour, Bytes: bytes}, Trace: &crawler.Trace{
				Committed: func(c crawler.Commit) { most = max(most, c.Visits) },
			}})
			if _, err := c.Run(t.Context(), s.URL("/")); err != nil {
				t.Fatal(err)
			}
			if most > want+1 || most < want-1 {
				t.Errorf("%d bytes: %d visits in a commit, want %d", bytes, most, want)
			}
		})
	}
}

// TestCommitsOfTheGate: with Commits.Gate, a pause that a site requests is in the frontier one commit interval after the
// response, even if no visit has ended, because another machine may take over at any time. Without Commits.Gate, the pause
// is stored at the end of the run.
func TestCommitsOfTheGate(t *testing.T) {
	for _, test := range []struct {
		name  string
		site  func(*crawltest.Site)
		known func(politeness.HostInfo) bool
	}{
		{"Crawl-delay", func(s *crawltest.Site) {
			s.CrawlDelay(20 * time.Second)
			s.Robots("User-agent: *\nCrawl-delay: 20\n")
			s.Page("/", "")
		}, func(h politeness.HostInfo) bool { return h.Delay == 20*time.Second }},
		{"Retry-After", func(s *crawltest.Site) {
			s.Page("/", "").Status(http.StatusServiceUnavailable).Header("Retry-After", "100")
		}, func(h politeness.HostInfo) bool { return h.Waits == ledger.ClauseRetryAfter }},
	} {
		for _, gate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", test.name, gate), func(t *testing.T) {
				crawltest.Test(t, func(t *testing.T, w *crawltest.Web) { commitsOfTheGate(t, w, test.site, test.known, gate) })
			})
		}
	}
}

func commitsOfTheGate(t *testing.T, w *crawltest.Web, site func(*crawltest.Site), known func(politeness.HostInfo) bool, gate bool) {
	site(w.Site("a.test"))
	store, err := disk.Open(t.TempDir(), disk.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := crawler.New(config(w, crawler.Config{
		Frontier: store, Commits: crawler.Commits{Gate: gate, Interval: 250 * time.Millisecond},
	}))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := c.Run(ctx, "http://a.test/")
		done <- err
	}()
	time.Sleep(15 * time.Second) // the site has responded, but no page was fetched
	next := func() politeness.HostInfo {
		t.Helper()
		c, err := crawler.New(config(w, crawler.Config{Frontier: store}))
		if err != nil {
			t.Fatal(err)
		}
		return c.Gate().Host("a.test:80")
	}
	if h := next(); known(h) != gate {
		t.Errorf("the next owner sees %+v", h)
	}
	cancel()
	<-done
	if h := next(); !known(h) {
		t.Errorf("the next process sees %+v", h)
	}
}

// TestGateOutlivesFullSink: with Commits.Gate, the last pause that a site requested is in the frontier even if a full
// sink ended the crawl. Another machine may take over at once.
func TestGateOutlivesFullSink(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.test")
		s.Page("/", "").Header("Retry-After", "100")
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		c, err := crawler.New(config(w, crawler.Config{
			Frontier: store, Sinks: []sink.Sink{&unsynced{fullSink: fullSink{left: 9}, full: func() bool { return w.Count("http://a.test/") > 0 }}}, Commits: crawler.Commits{Gate: true, Interval: 250 * time.Millisecond},
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), "http://a.test/"); !errors.Is(err, errFull) {
			t.Errorf("the crawl ended with %v", err)
		}
		next, err := crawler.New(config(w, crawler.Config{Frontier: store}))
		if err != nil {
			t.Fatal(err)
		}
		if h := next.Gate().Host("a.test:80"); h.Waits != ledger.ClauseRetryAfter {
			t.Errorf("the next owner sees %+v", h)
		}
	})
}

// unsynced is a sink whose disk is full after some time.
type unsynced struct {
	fullSink
	full func() bool
}

func (s *unsynced) Sync(ctx context.Context) (int64, error) {
	if s.full() {
		return 0, errFull
	}
	return s.fullSink.Sync(ctx)
}

// TestSinkThatHangsIsGivenUp: if a sink's network hangs, a cancelled crawl returns after a minute, and the next process
// requests the unfinished URL again.
func TestSinkThatHangsIsGivenUp(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("a.test").Page("/", "")
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		c, err := crawler.New(config(w, crawler.Config{
			Frontier: store, Sinks: []sink.Sink{&hanging{fullSink{left: 9}, func() bool { return w.Count("http://a.test/") > 0 }}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err = c.Run(ctx, "http://a.test/")
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took != time.Hour+time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		if n := store.Stats(); n.Queued != 1 {
			t.Errorf("the queue holds %+v", n)
		}
	})
}

// hanging is a sink whose network hangs after some time.
type hanging struct {
	fullSink
	hangs func() bool
}

func (s *hanging) Sync(ctx context.Context) (int64, error) {
	if s.hangs() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.fullSink.Sync(ctx)
}
