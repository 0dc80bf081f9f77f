package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// broken creates a site of n pages, each of which fails with the given faults, one per attempt.
func broken(w *crawltest.Web, host string, n int, faults ...crawltest.Fault) (seeds []string) {
	s := w.Site(host)
	for i := range n {
		path := fmt.Sprint("/", i)
		page := s.Page(path, "page "+path)
		for _, f := range faults {
			page.Fault(f)
		}
		seeds = append(seeds, s.URL(path))
	}
	return seeds
}

func patient(c crawler.Config) crawler.Config {
	c.Politeness.MaxFailures, c.Politeness.MaxSilence = politeness.Unlimited, politeness.Forever
	c.Politeness.MaxBackoff = time.Second
	c.Limits.Depth = crawler.SeedsOnly
	return c
}

// TestASmallHostGetsItsRetries checks that each of a few pages may fail the maximum number of times.
func TestASmallHostGetsItsRetries(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := broken(w, "http://a.example", 25, crawltest.RetryAfter(503, time.Second).First(2))
		cr := newCrawler(t, w, patient(crawler.Config{}))
		repeats(w)
		rep, err := cr.Run(t.Context(), seeds...)
		if err != nil || rep.Outcomes[crawler.Fetched] != 25 || rep.Statuses[200] != 25 || rep.Retries != 50 || rep.Requests != 76 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}

// TestRetriesHaveABudget crawls a host whose pages all fail, and a host that works and thereby adds to the retry budget.
func TestRetriesHaveABudget(t *testing.T) {
	for name, c := range map[string]struct {
		fault   crawltest.Fault
		outcome crawler.Outcome
		status  int
	}{
		"503":   {crawltest.RetryAfter(503, time.Second), crawler.Fetched, 503},
		"reset": {crawltest.Reset(), crawler.Failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				seeds := broken(w, "http://a.example", 300, c.fault)
				var v visits
				cr := newCrawler(t, w, patient(crawler.Config{Handler: &v}))
				repeats(w)
				rep, err := cr.Run(t.Context(), seeds...)
				if err != nil || rep.Retries < crawler.RetriesPerHost || rep.Retries > crawler.RetriesPerHost+300/10 || rep.Requests != 301+rep.Retries || rep.Reasons["retry_budget"] == 0 {
					t.Errorf("%+v, %v", rep, err)
				}
				last := v.by["http://a.example/299"]
				if last.Outcome != c.outcome || last.Status() != c.status || last.Reason != "retry_budget" || last.Attempt != 0 {
					t.Errorf("the last page: %s %d %s, attempt %d", last.Outcome, last.Status(), last.Reason, last.Attempt)
				}
			})
		})
	}
}

// TestPagesThatWorkPayForRetries: ten successful pages add one retry to the budget.
func TestPagesThatWorkPayForRetries(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var seeds []string
		for i := range 200 {
			path := fmt.Sprint("/good", i)
			s.Page(path, "page "+path)
			seeds = append(seeds, s.URL(path))
		}
		for i := range 100 {
			path := fmt.Sprint("/bad", i)
			s.Page(path, "").Fault(crawltest.Reset())
			seeds = append(seeds, s.URL(path))
		}
		cr := newCrawler(t, w, patient(crawler.Config{}))
		repeats(w)
		rep, err := cr.Run(t.Context(), seeds...)
		if want := crawler.RetriesPerHost + 200/10; err != nil || rep.Retries != want {
			t.Errorf("%d retries, want %d; %v", rep.Retries, want, err)
		}
	})
}

// TestRetriesHaveABudgetInAll crawls many hosts, each of which stays within its own retry budget.
func TestRetriesHaveABudgetInAll(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for i := range 30 {
			seeds = append(seeds, broken(w, fmt.Sprintf("http://h%d.example", i), 20, crawltest.Reset())...)
		}
		cr := newCrawler(t, w, patient(crawler.Config{}))
		repeats(w)
		rep, err := cr.Run(t.Context(), seeds...)
		if err != nil || rep.Retries != crawler.RetriesInAll || rep.Reasons["retry_budget"] == 0 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}

// TestAHandlersRetriesHaveTheBudget: retries requested by a Handler also use the budget.
func TestAHandlersRetriesHaveTheBudget(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := broken(w, "http://a.example", 100)
		var last *crawler.Visit
		cr := newCrawler(t, w, patient(crawler.Config{
			Handler: crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return crawler.Retry(errors.New("not good")) }),
			Trace: &crawler.Trace{Visited: func(v *crawler.Visit) {
				if v.Reason == "retry_budget" {
					last = v
				}
			}},
		}))
		repeats(w)
		rep, err := cr.Run(t.Context(), seeds...)
		if err != nil || rep.Retries > crawler.RetriesPerHost+100/10 || rep.Outcomes[crawler.Failed] != 100 {
			t.Errorf("%+v, %v", rep, err)
		}
		if last == nil {
			t.Fatal("no visit names the budget")
		}
		if last.Err == nil || !strings.Contains(last.Detail, crawler.ReasonHandler) {
			t.Errorf("%s, %v", last.Detail, last.Err)
		}
	})
}

// TestTheBudgetIsOfTheCrawl: the budget applies to the crawl, not to a process.
func TestTheBudgetIsOfTheCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := broken(w, "http://a.example", 60, crawltest.Reset())
		j := job{t, t.TempDir()}
		c := patient(config(w, crawler.Config{Concurrency: 1}))
		repeats(w)
		var rep *crawler.Report
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			var err error
			rep, err = j.run(ctx, c, seeds...)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if rep.Finish != crawler.FinishDone || rep.Retries != crawler.RetriesPerHost || rep.Runs < 3 {
			t.Errorf("%+v", rep)
		}
	})
}

// TestBrokenPagesDoNotCostASiteItsHealthyOnes: twenty pages fail at all attempts before the first one works.
func TestBrokenPagesDoNotCostASiteItsHealthyOnes(t *testing.T) {
	for name, fault := range map[string]crawltest.Fault{"500": crawltest.Fail(500), "reset": crawltest.Reset(), "cut short": crawltest.CutShort(1)} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				broken(w, "http://a.example", 20, fault)
				s := w.Site("http://a.example")
				all := paths(20)
				for i := range 20 {
					all = append(all, fmt.Sprint("/good", i))
					s.Page(all[20+i], "")
				}
				s.Page("/index", links(all...))
				var v visits
				cr := newCrawler(t, w, crawler.Config{Handler: &v})
				repeats(w)
				rep, err := cr.Run(t.Context(), s.URL("/index"))
				if err != nil || rep.Reasons[politeness.ReasonHostFailed] > 0 {
					t.Errorf("%+v, %v", rep, err)
				}
				for _, p := range all[20:] {
					if got := v.by[s.URL(p)]; got.Status() != 200 {
						t.Errorf("%s: %s %s", p, got.Outcome, got.Reason)
					}
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/twice", "/always", "/reset"))
		s.Page("/twice", "ok").Fault(crawltest.Fail(500).First(2))
		s.Page("/always", "never").Fault(crawltest.Fail(503))
		s.Page("/reset", "ok").Fault(crawltest.Reset().First(1))
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/twice"): "fetched 200", s.URL("/always"): "fetched 503", s.URL("/reset"): "fetched 200",
		})
		if got := v.by[s.URL("/twice")].Attempt; got != 2 {
			t.Errorf("attempt %d", got)
		}
	})
}
