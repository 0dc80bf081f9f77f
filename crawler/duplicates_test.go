package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

// The same page under many URLs of a host is an error page with a wrong status. After several of these, its links are
// not followed. Each host is counted separately, and images are not counted.
func TestSoftErrors(t *testing.T) {
	for _, c := range []struct {
		most crawler.Limit
		want int
	}{{0, crawler.DefaultMaxSoft}, {3, 3}, {crawler.Unlimited, 70}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s, o := w.Site("http://a.example"), w.Site("http://b.example")
			var refs []string
			for i := range 70 {
				refs = append(refs, fmt.Sprintf("/%d", i), fmt.Sprintf("/%d.png", i))
				s.Page(refs[2*i], "sorry, not here"+links("/more"))
				s.Page(refs[2*i+1], "picture").Type("image/png")
			}
			s.Page("/", links(append(refs, "http://b.example/")...))
			s.Page("/more", "")
			o.Page("/", "sorry, not here"+links("/more"))
			o.Page("/more", "")
			rep, v := crawl(t, w, crawler.Config{Duplicates: crawler.Duplicates{Soft: c.most}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeDomain}}, s.URL("/"), o.URL("/"))
			if got := rep.Reasons["soft_404"]; got < 70-c.want || got > 70-c.want+1 || rep.Outcomes[crawler.Duplicate] != got {
				t.Errorf("MaxSoft %d: %d of 70 are soft errors, want %d", c.most, got, 70-c.want)
			}
			if got := v.line(o.URL("/")); got != "fetched 200" {
				t.Errorf("the other host's page: %s", got)
			}
		})
	}
}

// A site that puts a new session into every link is fetched only a limited number of times.
func TestSessionsEnd(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		h := sessions(5)
		s.Handle("/", h)
		for i := range 5 {
			s.Handle(fmt.Sprintf("/%d", i), h)
		}
		rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}}, s.URL("/"))
		if rep.Finish != crawler.FinishDone || rep.Pages != 11 || rep.Links[crawler.FateTrap] == 0 {
			t.Errorf("%d pages, want the seed and two of each of 5: %+v", rep.Pages, rep)
		}
	})
}

// Truncated pages are not compared, because they may differ.
func TestCutPagesAreNoSoftErrors(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 6 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], strings.Repeat("the same ", 1000)).Fault(crawltest.CutShort(500))
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Duplicates: crawler.Duplicates{Soft: 2}, Retries: crawler.Retries{Max: crawler.Zero}}, s.URL("/"))
		if rep.Outcomes[crawler.Fetched] != 7 {
			t.Errorf("%v %v", rep.Outcomes, rep.Reasons)
		}
	})
}

// sessions serves a page of links to n others, each with a new session.
func sessions(n int) http.Handler {
	var given atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range n {
			_, _ = fmt.Fprintf(w, "<a href='/%d?PHPSESSID=%016x'>x</a>", i, given.Add(1)<<20)
		}
	})
}

// maze serves pages with links to ever new pages, deeper and wider.
func maze() http.Handler {
	var doors atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for range 50 {
			_, _ = fmt.Fprintf(w, "<a href='%s?x=%d'>x</a><a href='/%d/'>x</a><a href='%s/a/'>x</a>", r.URL.Path, doors.Add(1), doors.Add(1), r.URL.Path)
		}
	})
}

// A trap host does not slow down the other hosts.
func TestTrapHostDoesNotSlowTheOthers(t *testing.T) {
	took := func(trap bool) (d time.Duration) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var seeds []string
			if trap {
				s := w.Site("http://trap.example").Latency(100 * time.Millisecond)
				s.Handle("/*", maze())
				seeds = append(seeds, s.URL("/"))
			}
			for h := range 20 {
				s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(100 * time.Millisecond)
				for i := range 40 {
					s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
				}
				s.Page("/40", "")
				seeds = append(seeds, s.URL("/0"))
			}
			last := &lastPage{except: "trap.example:80"}
			cr, err := crawler.New(config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited, PagesPerHost: 100, Pages: crawler.Unlimited}, Concurrency: 16, Handler: last}))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			rep, err := cr.Run(t.Context(), seeds...)
			if err != nil || rep.Finish != crawler.FinishDone {
				t.Fatal(err, rep)
			}
			d = last.at.Sub(start)
		})
		return d
	}
	without, with := took(false), took(true)
	t.Logf("last page of the healthy hosts after %v without and %v with a trap: ratio %.3f", without, with, with.Seconds()/without.Seconds())
	if with > without*11/10 {
		t.Error("a trap costs the others more than a tenth")
	}
}

// TestRetryCountsABodyOnce: a retry of a page must not count its body again, otherwise /4 would be a duplicate.
func TestRetryCountsABodyOnce(t *testing.T) {
	for name, c := range map[string]crawler.Config{"same": {Duplicates: crawler.Duplicates{Same: 3, Soft: crawler.Unlimited}}, "soft": {Duplicates: crawler.Duplicates{Soft: 3}}} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				var seeds []string
				for _, p := range []string{"/1", "/2", "/3", "/4"} {
					s.Page(p, "the same")
					seeds = append(seeds, s.URL(p))
				}
				c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
					if v.URL.Path() == "/2" && v.Attempt < 2 {
						return crawler.Retry(nil)
					}
					return nil
				})
				c.Concurrency, c.Retries.Pause, c.Limits.Depth = 1, time.Millisecond, crawler.SeedsOnly
				var out bytes.Buffer
				c.Sinks = []sink.Sink{sink.NewJSONL(&out)}
				cr := newCrawler(t, w, c)
				repeats(w)
				if _, err := cr.Run(t.Context(), seeds...); err != nil {
					t.Fatal(err)
				}
				reason := map[string]string{"same": "same_body", "soft": "soft_404"}[name]
				same(t, recordLines(t, out.String()), "/1 fetched", "/3 fetched", "/4 fetched", "/2 duplicate "+reason) // /2 is retried last
			})
		})
	}
}

func TestSameBodies(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 6 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "the same"+links("/more"))
		}
		s.Page("/", links(refs...))
		s.Page("/more", "")
		rep, v := crawl(t, w, crawler.Config{Duplicates: crawler.Duplicates{Same: 4}}, s.URL("/"))
		if rep.Outcomes[crawler.Duplicate] != 2 || rep.Reasons["same_body"] != 2 || rep.Pages != 6 {
			t.Errorf("report %+v", rep)
		}
		if x := v.by[s.URL("/3")]; x.SameAs != s.URL("/0") {
			t.Errorf("same as %q", x.SameAs)
		}
	})
}

func TestNearDuplicates(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var text strings.Builder
		for i := range 400 {
			fmt.Fprintf(&text, "word%d ", i*i%379)
		}
		s.Page("/", links("/1", "/2", "/3"))
		s.Page("/1", text.String()+"monday")
		s.Page("/2", "<b>"+text.String()+"</b> tuesday")
		s.Page("/3", strings.Repeat("something else entirely here ", 50))
		_, v := crawl(t, w, crawler.Config{Duplicates: crawler.Duplicates{NearBits: 3}}, s.URL("/"))
		if x := v.by[s.URL("/2")]; x.NearOf != s.URL("/1") || x.Outcome != crawler.Fetched {
			t.Errorf("near of %q", x.NearOf)
		}
		if x := v.by[s.URL("/3")]; x.NearOf != "" {
			t.Errorf("near of %q", x.NearOf)
		}
	})
}
