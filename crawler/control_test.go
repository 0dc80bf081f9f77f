package crawler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
)

// manyPages creates a site with n pages linked from the home page.
func manyPages(w *crawltest.Web, url string, n int) *crawltest.Site {
	s := w.Site(url)
	var refs []string
	for i := range n {
		refs = append(refs, fmt.Sprintf("/%d", i))
		s.Page(refs[i], "text")
	}
	s.Page("/", links(refs...))
	return s
}

// TestPauseRequestsNothing pauses a crawl of several hosts for a minute, in memory and with a durable frontier.
func TestPauseRequestsNothing(t *testing.T) {
	for _, durable := range []bool{false, true} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var seeds []string
			for i := range 5 {
				seeds = append(seeds, manyPages(w, fmt.Sprintf("http://h%d.example", i), 30).Latency(300*time.Millisecond).URL("/"))
			}
			var cr *crawler.Crawler
			defer time.AfterFunc(20*time.Second+time.Millisecond, func() { cr.Pause(); cr.Pause() }).Stop()
			defer time.AfterFunc(80*time.Second, func() {
				if !cr.Paused() {
					t.Error("the crawl is not paused")
				}
				cr.Resume()
			}).Stop()
			c := config(w, crawler.Config{})
			if durable {
				store, err := disk.Open(t.TempDir(), disk.Config{ReopenDelay: time.Second, CacheSize: 8 << 20, MemTableSize: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
				c.Frontier = store
			}
			cr = newCrawler(t, w, c)
			rep, err := cr.Run(t.Context(), seeds...)
			if err != nil || rep.Finish != crawler.FinishDone || rep.Pages != 5*31 {
				t.Fatalf("%v %+v", err, rep)
			}
			in, after := 0, 0
			for _, r := range w.Requests() {
				switch at := r.Start.Sub(w.Start()); {
				case at > 20*time.Second+time.Millisecond && at < 80*time.Second:
					in++
				case at >= 80*time.Second:
					after++
				}
			}
			if in != 0 || after < 50 {
				t.Errorf("durable %v: %d requests in the pause, %d after it", durable, in, after)
			}
		})
	}
}

// TestPauseEndsWithDrain drains a paused crawl, and a crawl that was paused before it began.
func TestPauseEndsWithDrain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := manyPages(w, "http://a.example", 30)
		cr := newCrawler(t, w, crawler.Config{})
		defer time.AfterFunc(10*time.Second, cr.Pause).Stop()
		defer time.AfterFunc(30*time.Second, cr.Drain).Stop()
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDrained || rep.Elapsed.Duration != 30*time.Second {
			t.Errorf("%v %+v", err, rep)
		}
		before := len(w.Requests())
		defer time.AfterFunc(5*time.Second, cr.Drain).Stop()
		if rep, err = cr.Run(t.Context(), s.URL("/")); err != nil || rep.Finish != crawler.FinishDrained || len(w.Requests()) != before {
			t.Errorf("a crawl that began paused: %v %+v", err, rep)
		}
	})
}

// TestPauseDoesNotStopTheClock checks that a time limit also runs during a pause.
func TestPauseDoesNotStopTheClock(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := manyPages(w, "http://a.example", 30)
		cr := newCrawler(t, w, crawler.Config{Limits: crawler.Limits{Time: time.Minute}})
		defer time.AfterFunc(10*time.Second, cr.Pause).Stop()
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishTime || rep.Elapsed.Duration != time.Minute || rep.Left == 0 {
			t.Errorf("%v %+v", err, rep)
		}
	})
}

// TestLeaveOut excludes a host while its pages and those of other hosts are being fetched.
func TestLeaveOut(t *testing.T) {
	for _, name := range []string{"b.example:80", "*.B.example", ".b.example", "b.example."} {
		t.Run(name, func(t *testing.T) { testLeaveOut(t, name) })
	}
}

func testLeaveOut(t *testing.T, name string) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b := manyPages(w, "http://a.example", 30), manyPages(w, "http://www.b.example", 30)
		v := &visits{}
		cr := newCrawler(t, w, crawler.Config{Handler: v})
		for _, host := range []string{"", ".", "http://b.example/", "b.example/x", "user@b.example", "b.example,c.example"} {
			if err := cr.LeaveOut(host); err == nil || !strings.Contains(err.Error(), "is not a host") {
				t.Errorf("%q: %v", host, err)
			}
		}
		defer time.AfterFunc(10*time.Second, func() {
			if err := cr.LeaveOut(name); err != nil {
				t.Error(err)
			}
		}).Stop()
		rep, err := cr.Run(t.Context(), a.URL("/"), b.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDone || rep.Reasons["opt_out"] != 31-rep.Outcomes[crawler.Fetched]+31 {
			t.Fatalf("%v %+v", err, rep)
		}
		for _, r := range w.Requests() {
			if r.Host == "www.b.example:80" && r.Start.After(w.Start().Add(10*time.Second)) {
				t.Errorf("%s was requested %v after the start", r.URL, r.Start.Sub(w.Start()))
			}
		}
		if got := len(w.Visited("a.example")); got != 32 {
			t.Errorf("%d requests of the other host", got)
		}
	})
}
