package fetchertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// slow is a response time shorter than the lifetime of a permit.
const slow = 3 * time.Second

// begunLate tests that a request counts as begun only when the connection has been made.
func begunLate(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "")
	var called time.Time
	a := k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
		s.Fault(crawltest.SlowConnect(slow))
		time.Sleep(time.Second) // so that the time at which Fetch is called differs from the time at which the connection exists
		called = time.Now()
		return k.f.Fetch(k.Context(), p)
	})
	page := a.Page
	if a.Err != nil {
		k.Fatal(a.Err)
	}
	arrived := k.w.Requests()[len(k.w.Requests())-1].Start
	if page.Written.Before(called) || arrived.Sub(page.Written) > slow/2 || page.Ended.Before(page.FirstByte) || page.FirstByte.Before(page.Written) {
		k.Errorf("called %v, written %v, arrived %v, first byte %v, ended %v", called, page.Written, arrived, page.FirstByte, page.Ended)
	}
	if a.Ready.Before(page.Ended) {
		k.Errorf("the host is ready at %v, before the request's end", a.Ready)
	}
}

func expired(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "")
	k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
		time.Sleep(permitTTL + time.Second)
		page, err := k.f.Fetch(k.Context(), p)
		if err == nil {
			k.Error("a page by a permit that has run out")
		}
		return page, err
	})
	k.requested(s.URL("/"), 0)
}

func expiredMeanwhile(k *kit) {
	s := k.w.Site("http://a.example").Fault(crawltest.SlowConnect(slow))
	s.Page("/", "")
	k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
		time.Sleep(permitTTL - slow/2)
		k.drop(s.URL("/"))
		page, err := k.f.Fetch(k.Context(), p)
		if err == nil && k.connects() > 1 {
			k.Error("a page by a permit that ran out while the connection was made")
		}
		return page, err
	})
	if k.connects() > 1 {
		k.requested(s.URL("/"), 0)
	}
}

// drop closes the idle connections to the URL's host, if the fetcher can.
func (k *kit) drop(url string) {
	u, err := weburl.Parse(url)
	if err == nil {
		k.f.CloseIdle(u.Host())
	}
}

func (k *kit) connects() int { return len(k.w.Dials()) }

func everyStatus(k *kit) {
	for i, status := range []int{200, 204, 404, 410, 429, 500, 503} {
		s := k.w.Site(fmt.Sprintf("http://h%d.example", i))
		body := "<p>body of " + fmt.Sprint(status)
		if status == 204 {
			body = ""
		}
		s.Page("/", body).Status(status).Type("Text/HTML; charset=UTF-8").Header("X-Note", "n")
		page, err := k.fetch(k.Context(), s.URL("/"))
		if err != nil {
			k.Errorf("status %d: %v", status, err)
			continue
		}
		if page.Status != status || string(page.Body) != body || page.Truncated != "" || page.Header.Get("X-Note") != "n" ||
			status != 204 && page.ContentType != "text/html" {
			k.Errorf("status %d: %d %q %q truncated %q", status, page.Status, page.ContentType, page.Body, page.Truncated)
		}
		if page.Addr != k.w.Requests()[2*i].Addr.Addr() || page.URL.String() != s.URL("/") || page.Permit.IsZero() || page.Started.IsZero() {
			k.Errorf("status %d: %v %v permit %v started %v", status, page.URL, page.Addr, !page.Permit.IsZero(), page.Started)
		}
	}
}

func cutShort(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", strings.Repeat("x", 1000)).Fault(crawltest.CutShort(100))
	page, err := k.fetch(k.Context(), s.URL("/"))
	switch {
	case err != nil && temporary(err): // the fetcher kept no part of the response
	case err != nil:
		k.Errorf("an answer that breaks off: %v", err)
	case page.Truncated == "" || len(page.Body) > 100:
		k.Errorf("%d bytes, truncated %q", len(page.Body), page.Truncated)
	}
}

func noAnswer(k *kit) {
	for i, f := range []crawltest.Fault{crawltest.Refuse(), crawltest.Reset(), crawltest.ResetOnConnect()} {
		s := k.w.Site(fmt.Sprintf("http://h%d.example", i))
		s.Page("/", "")
		k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
			s.Fault(f)
			k.drop(s.URL("/"))
			page, err := k.f.Fetch(k.Context(), p)
			if err == nil || !temporary(err) {
				k.Errorf("fault %d: %v", i, err)
			}
			return page, err
		})
	}
}

// long is a time longer than any response may take.
const long = 24 * time.Hour

func hangs(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "").Fault(crawltest.Hang())
	began := time.Now()
	if _, err := k.fetch(k.Context(), s.URL("/")); err == nil || time.Since(began) > long {
		k.Errorf("%v after %v", err, time.Since(began))
	}
}

func trickles(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", strings.Repeat("x", 1<<16)).Fault(crawltest.Slow(1, 5*time.Second))
	began := time.Now()
	page, err := k.fetch(k.Context(), s.URL("/"))
	if took := time.Since(began); took > long || err == nil && page.Truncated == "" {
		k.Errorf("%v, truncated %q after %v", err, page.Truncated, took)
	}
}

func canceled(k *kit) {
	s := k.w.Site("http://a.example")
	s.Page("/", "").Fault(crawltest.Hang())
	k.use(k.Context(), s.URL("/"), func(p politeness.Permit) (*fetcher.Page, error) {
		ctx, cancel := context.WithTimeout(k.Context(), slow)
		defer cancel()
		began := time.Now()
		page, err := k.f.Fetch(ctx, p)
		if err == nil || time.Since(began) > slow {
			k.Errorf("%v after %v", err, time.Since(began))
		}
		return page, err
	})
}

func manyAtOnce(k *kit) {
	var wg sync.WaitGroup
	for i := range 20 {
		s := k.w.Site(fmt.Sprintf("http://h%d.example", i)).Latency(time.Second)
		s.Page("/", fmt.Sprint("body ", i))
		wg.Go(func() {
			page, err := k.fetch(k.Context(), s.URL("/"))
			if err != nil || string(page.Body) != fmt.Sprint("body ", i) {
				k.Errorf("%s: %v", s.URL("/"), err)
			}
		})
	}
	wg.Wait()
}
