package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// deadSites creates sites with one page each, at the given origins and with the given faults.
func deadSites(w *crawltest.Web, faults map[string]crawltest.Fault) (seeds []string) {
	for origin, f := range faults {
		s := w.Site(origin).Fault(f)
		s.Page("/", "")
		seeds = append(seeds, s.URL("/"))
	}
	return seeds
}

// If no host ever responds, the crawl ends within seconds and reports what it tried. No URL is lost.
func TestCrawlWithoutAnyResponseEnds(t *testing.T) {
	refused, silent := crawltest.Refuse(), crawltest.NoConnect()
	for name, tc := range map[string]struct {
		sites    map[string]crawltest.Fault
		within   time.Duration
		attempts int
		cause    string
	}{
		"refused":                  {map[string]crawltest.Fault{"http://a.example": refused}, 6 * time.Second, 3, "connect_refused"},
		"silent":                   {map[string]crawltest.Fault{"http://a.example": silent}, 36 * time.Second, 3, "connect_timeout"},
		"reset":                    {map[string]crawltest.Fault{"http://a.example": crawltest.ResetOnConnect()}, 6 * time.Second, 3, "reset"},
		"no answer":                {map[string]crawltest.Fault{"http://a.example": crawltest.Reset()}, 7 * time.Second, 3, "reset"},
		"expired certificate":      {map[string]crawltest.Fault{"https://a.example": crawltest.ExpiredCertificate()}, 0, 1, "tls_expired"},
		"other certificate":        {map[string]crawltest.Fault{"https://a.example": crawltest.WrongCertificate()}, 0, 1, "tls_hostname"},
		"TLS alert":                {map[string]crawltest.Fault{"https://a.example": crawltest.TLSAlert()}, 6 * time.Second, 3, "tls_failed"},
		"two":                      {map[string]crawltest.Fault{"http://a.example": refused, "http://b.example": silent}, 36 * time.Second, 0, ""},
		"one is not there":         {map[string]crawltest.Fault{"http://a.example": refused, "http://b.example": crawltest.NXDomain()}, 6 * time.Second, 3, "connect_refused"},
		"one has no address":       {map[string]crawltest.Fault{"http://a.example": refused, "http://b.example": crawltest.DNSFailure()}, 36 * time.Second, 0, ""},
		"a certificate and a port": {map[string]crawltest.Fault{"https://a.example": crawltest.ExpiredCertificate(), "http://b.example": refused}, 6 * time.Second, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				seeds := deadSites(w, tc.sites)
				x, err := crawler.New(config(w, crawler.Config{}))
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				rep, err := x.Run(t.Context(), seeds...)
				took := time.Since(start)
				var unreachable *crawler.UnreachableError
				if !errors.As(err, &unreachable) || rep.Finish != crawler.FinishUnreachable || took > tc.within || rep.Pages != 0 {
					t.Fatalf("after %v: %v, %+v", took, err, rep)
				}
				if rep.Left > len(unreachable.Tried) || rep.Left == 0 || rep.Left+rep.Outcomes[crawler.Failed] != len(seeds) {
					t.Errorf("%d URLs are left of %d, %v tried, %v", rep.Left, len(seeds), unreachable.Tried, rep.Outcomes)
				}
				for _, tried := range unreachable.Tried {
					if tc.attempts > 0 && tried.Attempts != tc.attempts || tc.cause != "" && !strings.Contains(tried.Err.Error(), tc.cause) || !strings.HasSuffix(tried.URL.String(), "/robots.txt") {
						t.Errorf("%+v", tried)
					}
					if text := err.Error(); !strings.Contains(text, tried.URL.String()) || !strings.Contains(text, tried.Err.Error()) {
						t.Error(text)
					}
				}
			})
		})
	}
}

// After a single response of one host, of any kind, the crawl waits for the other hosts.
func TestCrawlWithOneResponseKeepsWaiting(t *testing.T) {
	for name, answer := range map[string]func(s *crawltest.Site){
		"a page":                        func(s *crawltest.Site) { s.Page("/", "") },
		"an error page":                 func(s *crawltest.Site) { s.Page("/", "").Status(404) },
		"an unavailable robots.txt":     func(s *crawltest.Site) { s.RobotsStatus(503) },
		"an answer after several tries": func(s *crawltest.Site) { s.Page("/", "").Site().Fault(crawltest.Refuse().First(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				b := w.Site("http://b.example")
				answer(b)
				seeds := append(deadSites(w, map[string]crawltest.Fault{"http://a.example": crawltest.Refuse()}), b.URL("/"))
				start := time.Now()
				_, v := crawl(t, w, crawler.Config{}, seeds...)
				if got := v.line("http://a.example/"); got != "deferred 0 robots_unreachable" || time.Since(start) < 15*time.Minute {
					t.Errorf("%s after %v", got, time.Since(start))
				}
			})
		})
	}
}

// The crawl is not given up before every host has had the same number of attempts.
func TestCrawlWithUntriedHostsContinues(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		sites := map[string]crawltest.Fault{}
		for i := range 20 {
			sites[fmt.Sprintf("http://%d.example", i)] = crawltest.NoConnect()
		}
		good := w.Site("http://good.example")
		good.Page("/", "")
		seeds := append(deadSites(w, sites), good.URL("/"))
		_, v := crawl(t, w, crawler.Config{Concurrency: 1}, seeds...)
		if got := v.line(good.URL("/")); got != "fetched 200" {
			t.Error(got)
		}
	})
}

// If the operator sets an unlimited wait, the crawl does not end after seconds.
func TestCrawlThatMayWaitForEverContinues(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Fault(crawltest.Refuse().Until(3 * time.Hour))
		s.Page("/", "")
		c := crawler.Config{Politeness: politeness.Config{RobotsGiveUp: politeness.Forever}}
		if _, v := crawl(t, w, c, s.URL("/")); v.line(s.URL("/")) != "fetched 200" {
			t.Error(v.line(s.URL("/")))
		}
	})
}

// URLs queued by a crawl without any response are available after resuming.
func TestCrawlWithoutAnyResponseIsResumed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example").Fault(crawltest.Refuse().Until(time.Hour))
		s.Page("/", "")
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{})
		for range 3 {
			rep, err := j.run(t.Context(), c, s.URL("/"))
			var unreachable *crawler.UnreachableError
			if !errors.As(err, &unreachable) || rep.Left != 1 || len(j.records()) != 0 || time.Since(w.Start()) > 30*time.Minute {
				t.Fatalf("%v: %+v after %v", err, rep, time.Since(w.Start()))
			}
		}
		time.Sleep(time.Hour)
		if rep, err := j.run(t.Context(), c, s.URL("/")); err != nil || rep.Pages != 1 {
			t.Fatal(err, rep)
		}
	})
}

// A crawl that got a response in an earlier process waits like any other.
func TestResumedCrawlWithOneResponseKeepsWaiting(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example").Fault(crawltest.Refuse().From(time.Hour))
		s.Page("/", links("/1")).Header("Connection", "close")
		s.Page("/1", "")
		s.Robots("").Header("Cache-Control", "max-age=60")
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Limits: crawler.Limits{Pages: 1}})
		if _, err := j.run(t.Context(), c, s.URL("/")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		c.Limits.Pages = 10
		if rep, err := j.run(t.Context(), c, s.URL("/")); err != nil || rep.Finish != crawler.FinishDone {
			t.Fatal(err, rep)
		}
		if r := j.records()[s.URL("/1")]; r.Outcome != "failed" {
			t.Errorf("%+v", r)
		}
	})
}

// The failure of a proxy does not depend on the host, so the crawl ends at the first request.
func TestCrawlThroughNoProxy(t *testing.T) {
	proxy, err := url.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for i := range 20 {
			s := w.Site(fmt.Sprintf("http://%d.example", i))
			s.Page("/", "")
			seeds = append(seeds, s.URL("/"))
		}
		c := config(w, crawler.Config{Concurrency: 1})
		c.Fetch.Proxy = proxy
		c.Fetch.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rep, err := x.Run(t.Context(), seeds...)
		var unreachable *crawler.UnreachableError
		if !errors.As(err, &unreachable) || time.Since(start) > 0 || rep.Left != 20 || len(unreachable.Tried) != 1 || !strings.Contains(err.Error(), "proxy_unusable") {
			t.Errorf("%v after %v: %v", rep, time.Since(start), err)
		}
	})
}

// A host that was given up does not count any more. The remaining host gets all of its attempts.
func TestGivenUpHostsDoNotCount(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		late := w.Site("http://late.example").Fault(crawltest.NoConnect().First(1))
		late.Page("/", "")
		seeds := append(deadSites(w, map[string]crawltest.Fault{"http://a.example": crawltest.Refuse()}), late.URL("/"))
		_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{RobotsGiveUp: 3 * time.Second}}, seeds...)
		v.expect(t, map[string]string{"http://a.example/": "deferred 0 robots_unreachable", late.URL("/"): "fetched 200"})
	})
}

// A crawl of a name without an address ends within seconds anyway, with a visit for the URL.
func TestCrawlOfANameWithoutAnAddressEndsByItself(t *testing.T) {
	for _, f := range []crawltest.Fault{crawltest.NXDomain(), crawltest.DNSFailure(), crawltest.DNSTimeout()} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			rep, v := crawl(t, w, crawler.Config{}, deadSites(w, map[string]crawltest.Fault{"http://a.example": f})...)
			if got := v.line("http://a.example/"); !strings.HasPrefix(got, "failed 0 dns_") || rep.Finish != crawler.FinishDone {
				t.Errorf("%s; %s", got, rep.Finish)
			}
		})
	}
}

// Each retry of a robots.txt is traced with its cause and time.
func TestRetriesOfRobotsAreTraced(t *testing.T) {
	for want, f := range map[string]crawltest.Fault{"connect_refused": crawltest.Refuse().First(2), "http_503": crawltest.Fail(503).First(2), "cut_short": crawltest.CutShort(5).First(2)} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			s.Page("/", "")
			robots := s.Robots("User-agent: *\nDisallow: /no\n")
			if want == "connect_refused" {
				s.Fault(f)
			} else {
				robots.Fault(f)
			}
			var told []string
			c := crawler.Config{Trace: &crawler.Trace{Retrying: func(u weburl.URL, reason string, at time.Time) {
				told = append(told, fmt.Sprint(u, " ", reason, " ", time.Until(at).Round(time.Second)))
			}}}
			if _, v := crawl(t, w, c, s.URL("/")); v.line(s.URL("/")) != "fetched 200" {
				t.Error(v.line(s.URL("/")))
			}
			if got := strings.Join(told, "; "); got != "http://a.example/ "+want+" 1s; http://a.example/ "+want+" 5s" {
				t.Error(got)
			}
		})
	}
}
