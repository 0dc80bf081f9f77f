package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/sink"
)

// job is a crawl in a directory.
type job struct {
	t   *testing.T
	dir string
}

// run resumes the crawl in the directory.
func (j job) run(ctx context.Context, c crawler.Config, seeds ...string) (*crawler.Report, error) {
	j.t.Helper()
	store, err := disk.Open(filepath.Join(j.dir, "frontier"), disk.Config{ReopenDelay: time.Second, CacheSize: 8 << 20, MemTableSize: 1 << 20})
	if err != nil {
		j.t.Fatal(err)
	}
	visits, err := sink.OpenJSONL(filepath.Join(j.dir, "visits.jsonl"))
	if err != nil {
		j.t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(visits.Close(ctx), store.Close()); err != nil {
			j.t.Error(err)
		}
	}()
	c.Frontier, c.Sinks = store, []sink.Sink{visits}
	x, err := crawler.New(c)
	if err != nil {
		j.t.Fatal(err)
	}
	return x.Run(ctx, seeds...)
}

// records returns the lines of visits.jsonl by URL, and checks that each URL occurs at most once.
func (j job) records() map[string]sink.Record {
	j.t.Helper()
	b, err := os.ReadFile(filepath.Join(j.dir, "visits.jsonl"))
	if err != nil {
		j.t.Fatal(err)
	}
	all := map[string]sink.Record{}
	for line := range strings.Lines(string(b)) {
		var r sink.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			j.t.Fatal(err)
		}
		if _, twice := all[r.URL]; twice {
			j.t.Errorf("twice: %s", r.URL)
		}
		all[r.URL] = r
	}
	return all
}

// chain creates a site of n pages, each of which links to the next.
func chain(w *crawltest.Web, n int) {
	s := w.Site("a.example")
	s.Robots("User-agent: *\nDisallow: /no\n").Forbids("/no")
	for i := range n {
		path := "/"
		if i > 0 {
			path = fmt.Sprint("/", i)
		}
		s.Page(path, fmt.Sprintf("<title>%d</title><a href=/%d>next</a> <a href=/no>no</a>", i, i+1))
	}
}

// A crawl that was stopped many times ends with the same counts as an uninterrupted one.
func TestReportCoversAllRuns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 30)
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}, Concurrency: 3})
		var rep *crawler.Report
		runs := 0
		for done := false; !done; runs++ {
			ctx, cancel := context.WithTimeout(t.Context(), 7500*time.Millisecond)
			var err error
			rep, err = j.run(ctx, c, "http://a.example/")
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			done = rep.Finish == crawler.FinishDone
		}
		got := fmt.Sprint(rep.Pages, rep.Outcomes, rep.Statuses, rep.Hosts, rep.Left, rep.Runs == runs, rep.Started.Equal(w.Start()))
		if want := "30 map[fetched:31 refused:1] map[200:30 404:1] 1 0 true true"; got != strings.Replace(want, "30 map", "31 map", 1) || runs < 3 {
			t.Errorf("%s after %d runs", got, runs)
		}
		// The bound is that of 32 requests one second apart, however often the crawl was restarted.
		bound, elapsed := rep.Bound.Duration, rep.Elapsed.Duration
		if bound < 31*time.Second || bound > 32*time.Second || elapsed < bound || elapsed > bound+time.Duration(2*runs)*time.Second {
			t.Errorf("%v of %v in %d runs", rep.Elapsed, rep.Bound, runs)
		}
		if n := len(j.records()); n != 32 {
			t.Errorf("%d records", n)
		}
	})
}

// Limits apply to the whole crawl, not to a run.
func TestLimitsCountOverAllRuns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 30)
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: 8}})
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		if _, err := j.run(ctx, c, "http://a.example/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing left to do
			rep, err := j.run(t.Context(), c, "http://a.example/")
			if err != nil || rep.Pages != 8 || rep.Finish != crawler.FinishPages {
				t.Errorf("%+v, %v", rep, err)
			}
		}
		c.Limits.Pages = 12
		if rep, err := j.run(t.Context(), c, "http://a.example/"); err != nil || rep.Pages != 12 || len(j.records()) < 12 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}

// Page counts per host, and the first URL of each body, are remembered after a restart.
func TestMemoryOfHostsAndBodies(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example").Robots("").Site()
		s.Page("/", "<a href=/1>x</a><a href=/2>x</a><a href=/3>x</a><a href=/4>x</a>")
		for i := 1; i < 5; i++ {
			s.Page(fmt.Sprint("/", i), "the same")
		}
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Pages: 2, PagesPerHost: 4}})
		if _, err := j.run(t.Context(), c, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		c.Limits.Pages = crawler.Unlimited
		rep, err := j.run(t.Context(), c, "http://a.example/")
		if err != nil || rep.Pages != 4 || rep.Same != 2 || rep.Reasons[crawler.ReasonHostBudget] != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
		if r := j.records()["http://a.example/3"]; r.SameAs != "http://a.example/1" {
			t.Errorf("%+v", r)
		}
	})
}

// Sitemaps read before a kill still count towards the limit afterwards.
func TestSitemapsOfAHostAreLimitedOverAllRuns(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := namesSitemaps(w, 20)
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Sitemaps: 12}, Follow: crawler.Follow{Sitemaps: true}})
		for runs := 1; ; runs++ {
			ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
			rep, err := j.run(ctx, c, s.URL("/"))
			cancel()
			if err == nil {
				if rep.Pages != 1+12 || runs < 3 || rep.Reasons[crawler.ReasonSitemapBudget] != 8 || rep.SitemapsCut["a.example:80"] != 8 {
					t.Errorf("after %d runs: %+v", runs, rep)
				}
				break
			}
		}
		if n := len(w.Visited("a.example")); n < 1+1+12 || n > 1+1+12+2 { // one request may have been under way at each kill
			t.Errorf("%d requests", n)
		}
	})
}

// The limits for traps stay the same, however often the crawl is stopped.
func TestTrapCountsOutliveTheProcess(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example").Robots("").Site()
		s.Page("/", "<a href=/p?0>x</a>")
		for i := range 30 {
			s.Page(fmt.Sprint("/p?", i), fmt.Sprintf("<title>%d</title><a href=/p?%d>x</a>", i, i+1))
		}
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}, Traps: crawler.Traps{Queries: 10}})
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
			rep, err := j.run(ctx, c, "http://a.example/")
			cancel()
			if err == nil {
				if rep.Pages != 11 || rep.Runs < 3 || rep.Links[crawler.FateTrap] != 1 {
					t.Errorf("%+v", rep)
				}
				return
			}
		}
	})
}

// Output that the frontier has no record of does not belong to the crawl and is not truncated.
func TestForeignOutputIsLeft(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 3)
		j := job{t, t.TempDir()}
		file := filepath.Join(j.dir, "visits.jsonl")
		if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		rep, err := j.run(t.Context(), config(w, crawler.Config{}), "http://a.example/")
		if rep != nil || err == nil || !strings.Contains(err.Error(), "visits.jsonl") {
			t.Errorf("%v, %v", rep, err)
		}
		if b, err := os.ReadFile(file); string(b) != "{}\n" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if n := len(w.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// After a restart, a crawl waits as long as it would without the restart: the gate's state is in the frontier (P9).
func TestRetryAfterOutlivesTheProcess(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example").Robots("").Site()
		s.Page("/", "<a href=/1>x</a>")
		s.Page("/1", "x").Fault(crawltest.RetryAfter(503, 100*time.Second).First(1))
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if _, err := j.run(ctx, c, "http://a.example/"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
		}
		rep, err := j.run(t.Context(), c, "http://a.example/")
		if err != nil || rep.Pages != 2 || rep.Requests != 4 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}

// A failing sink ends the crawl. Uncommitted work is repeated.
func TestFailedSinkLosesNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 10)
		w.Expect(crawltest.Expect{AllowRepeats: true})
		dir := t.TempDir()
		store, err := disk.Open(filepath.Join(dir, "frontier"), disk.Config{CacheSize: 8 << 20, MemTableSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		full := &fullSink{left: 5}
		c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}})
		w.Expect(crawltest.Expect{Delay: time.Second, AllowRepeats: true})
		c.Frontier, c.Sinks = store, []sink.Sink{full}
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := x.Run(t.Context(), "http://a.example/")
		if !errors.Is(err, errFull) || rep.Finish != crawler.FinishError {
			t.Errorf("%+v, %v", rep, err)
		}
		full.left = 1000
		rep, err = x.Run(t.Context(), "http://a.example/")
		if err != nil || rep.Pages != 11 || len(full.kept) != 12 {
			t.Errorf("%+v, %v, %q", rep, err, full.kept)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

var errFull = errors.New("no space left")

// fullSink is an output with a limited size.
type fullSink struct {
	sink.Base

	kept []string
	left int
}

func (f *fullSink) Append(_ context.Context, r *sink.Record) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	f.kept = append(f.kept, r.URL)
	return nil
}

func (f *fullSink) Sync(_ context.Context) (int64, error) { return int64(len(f.kept)), nil }
func (f *fullSink) Restore(_ context.Context, offset int64) error {
	f.kept = f.kept[:offset]
	return nil
}
func (f *fullSink) Close(_ context.Context) error { return nil }

// The values returned by AtCommit are stored together with exactly the visits that become durable.
func TestAtCommitGoesWithItsVisits(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 8)
		j := job{t, t.TempDir()}
		path := filepath.Join(j.dir, "visits.jsonl")
		calls := 0
		c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}, AtCommit: func() (map[string][]byte, error) {
			calls++
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			return map[string][]byte{"size": fmt.Append(nil, info.Size())}, nil
		}})
		if _, err := j.run(t.Context(), c, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		if calls < 5 {
			t.Errorf("%d commits", calls)
		}
		store, err := disk.Open(filepath.Join(j.dir, "frontier"), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		size, err := store.Value(t.Context(), "", "size")
		if want := fmt.Sprint(store.Offsets("")["visits.jsonl"]); err != nil || string(size) != want || want == "0" {
			t.Errorf("%s bytes stored, %s committed, %v", size, want, err)
		}
	})
}

// An error of AtCommit ends the crawl, and nothing of its commit is stored.
func TestAtCommitMayFail(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 8)
		j := job{t, t.TempDir()}
		broken := errors.New("broken")
		for calls := range 3 {
			left := calls
			c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}, AtCommit: func() (map[string][]byte, error) {
				if left--; left < 0 {
					return map[string][]byte{"x": []byte("y")}, broken
				}
				return nil, nil
			}})
			if _, err := j.run(t.Context(), c, "http://a.example/"); !errors.Is(err, broken) {
				t.Errorf("at call %d: %v", calls, err)
			}
		}
		if _, err := j.run(t.Context(), config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}}), "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		repeats(w) // pages that were not committed are requested again
		if n := len(j.records()); n != 10 {
			t.Errorf("%d records", n)
		}
		store, err := disk.Open(filepath.Join(j.dir, "frontier"), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if b, err := store.Value(t.Context(), "", "x"); b != nil || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// noted records which commits contain a snapshot of the gate.
type noted struct {
	*disk.Store
	snapshots []bool
}

func (n *noted) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	if len(ends) > 0 {
		n.snapshots = append(n.snapshots, c.Values["crawler/gate/head"] != nil)
	}
	return n.Store.Commit(ctx, ends, c)
}

// The first commit of a resumed crawl contains a snapshot of the gate, so that lines replayed from the ledger are not
// replayed again after the next kill.
func TestResumedCrawlTakesASnapshot(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 6)
		dir := t.TempDir()
		for i, want := range []string{"[false false]", "[true false]"} {
			store, err := disk.Open(dir, disk.Config{ReopenDelay: time.Second, CacheSize: 8 << 20, MemTableSize: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			n := &noted{Store: store}
			c := config(w, crawler.Config{Limits: crawler.Limits{Pages: crawler.Limit(3 * (i + 1))}})
			c.Frontier = n
			x, err := crawler.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.Run(t.Context(), "http://a.example/"); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(n.snapshots[:2]); got != want { // the last commit always has a snapshot
				t.Errorf("run %d: snapshots with the commits: %s, want %s", i, got, want)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
