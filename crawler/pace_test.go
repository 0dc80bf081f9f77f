package crawler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestUnreachableHostsCostTheOthersNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		good := w.Site("http://good.example")
		for i := range 30 {
			good.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
		}
		good.Page("/30", "end")
		bad := map[string]crawltest.Fault{
			"nx": crawltest.NXDomain(), "dns": crawltest.DNSFailure(), "refuse": crawltest.Refuse(), "hang": crawltest.Hang(),
			"reset": crawltest.Reset(), "fail": crawltest.Fail(500), "silent": crawltest.NoConnect(),
		}
		seeds := []string{good.URL("/0")}
		for name, f := range bad {
			s := w.Site("http://" + name + ".example").Fault(f)
			s.Page("/", "never")
			seeds = append(seeds, s.URL("/"))
		}
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}}, seeds...)
		for name := range bad {
			x := v.by["http://"+name+".example/"]
			if x.Outcome != crawler.Failed && x.Outcome != crawler.Deferred {
				t.Errorf("%s: %s", name, v.line("http://"+name+".example/"))
			}
		}
		if rep.Outcomes[crawler.Fetched] != 31 || rep.Finish != crawler.FinishDone {
			t.Errorf("report %+v", rep)
		}
	})
}

// Hanging hosts do not slow down the other hosts as long as there are more workers than hanging hosts.
func TestHangingHostsDoNotSlowTheOthers(t *testing.T) {
	took := func(hanging int) (d time.Duration) {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var seeds []string
			for h := range 100 {
				s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(100 * time.Millisecond)
				if h < hanging {
					s.Fault(crawltest.Hang())
				}
				for i := range 60 {
					s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
				}
				s.Page("/60", "")
				if h >= hanging {
					seeds = append(seeds, s.URL("/0"))
				} else {
					seeds = append([]string{s.URL("/0")}, seeds...)
				}
			}
			v := &lastPage{}
			c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited}, Concurrency: 32, Handler: v})
			cr, err := crawler.New(c)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := cr.Run(t.Context(), seeds...); err != nil {
				t.Fatal(err)
			}
			d = v.at.Sub(start)
		})
		return d
	}
	without, with := took(0), took(10)
	t.Logf("last page of the healthy hosts after %v without and %v with 10 of 100 hosts hanging: ratio %.3f", without, with, with.Seconds()/without.Seconds())
	if with > without*11/10 {
		t.Error("ten hanging hosts cost the others more than a tenth")
	}
}

// lastPage records when the last page was fetched.
type lastPage struct {
	mu     sync.Mutex
	at     time.Time
	except string // a host that is ignored
}

func (l *lastPage) Handle(_ context.Context, v *crawler.Visit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.Outcome == crawler.Fetched && v.URL.Host() != l.except {
		l.at = time.Now()
	}
	return nil
}

// With enough workers, a crawl takes as long as its slowest host.
func TestTimeTakenIsTheBound(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for h := range 50 {
			s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(100 * time.Millisecond)
			for i := range 20 {
				s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
			}
			s.Page("/20", "")
			seeds = append(seeds, s.URL("/0"))
		}
		rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited}}, seeds...)
		took := rep.Ended.Sub(rep.Started)
		if ratio := took.Seconds() / rep.Bound.Seconds(); ratio < 1 || ratio > 1.05 {
			t.Errorf("took %v, bound %v by %s: ratio %.3f", took, rep.Bound, rep.BoundBy, ratio)
		}
	})
}
