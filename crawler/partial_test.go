package crawler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// cutPage returns a body with links in its first 100 bytes, in its first 3,000, and at its end.
func cutPage() string {
	pad := strings.Repeat("x ", 1000)
	return links("/early") + pad + links("/middle") + strings.Repeat(pad, 2) + links("/late")
}

// cutSite creates a site whose page /cut has the given faults, one per request.
func cutSite(w *crawltest.Web, faults ...crawltest.Fault) *crawltest.Site {
	s := w.Site("a.example")
	s.Page("/", links("/cut"))
	p := s.Page("/cut", cutPage())
	for _, f := range faults {
		p.Fault(f.First(1))
	}
	for _, path := range []string{"/early", "/middle", "/late"} {
		s.Page(path, "")
	}
	return s
}

// A truncated response is requested again, and the longest body of all attempts is used.
func TestCutPagesAreRetried(t *testing.T) {
	long, short, reset := crawltest.CutShort(3000), crawltest.CutShort(1000), crawltest.Reset()
	whole, half := len(cutPage()), 3000
	for name, tc := range map[string]struct {
		faults   []crawltest.Fault
		want     string
		attempts int
		bytes    int
	}{
		"whole at the second attempt":     {[]crawltest.Fault{long}, "fetched 200", 2, whole},
		"whole at the last attempt":       {[]crawltest.Fault{long, reset}, "fetched 200", 3, whole},
		"the longest was first":           {[]crawltest.Fault{long, short, short}, "fetched 200 cut_short", 3, half},
		"the longest was in the middle":   {[]crawltest.Fault{short, long, short}, "fetched 200 cut_short", 3, half},
		"the longest was last":            {[]crawltest.Fault{short, short, long}, "fetched 200 cut_short", 3, half},
		"then it was reset":               {[]crawltest.Fault{long, reset, reset}, "fetched 200 cut_short", 3, half},
		"then it was unavailable":         {[]crawltest.Fault{long, reset, crawltest.Fail(503)}, "fetched 200 cut_short", 3, half},
		"then it was gone":                {[]crawltest.Fault{long, crawltest.Fail(404)}, "fetched 404", 2, -1},
		"then it stopped":                 {[]crawltest.Fault{long, crawltest.Stall(1000)}, "fetched 200 cut_short", 2, half},
		"then it stopped later":           {[]crawltest.Fault{short, crawltest.Stall(3000)}, "fetched 200 idle_timeout", 2, half},
		"it stopped":                      {[]crawltest.Fault{crawltest.Stall(3000)}, "fetched 200 idle_timeout", 1, half},
		"nothing of the body":             {[]crawltest.Fault{crawltest.CutShort(0), reset, crawltest.CutShort(0)}, "fetched 200 cut_short", 3, 0},
		"the connection is reset instead": {[]crawltest.Fault{crawltest.ResetAfter(3000), reset, reset}, "fetched 200 cut_short", 3, half},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := cutSite(w, tc.faults...)
				v, bytes := &visits{}, 0
				rep, _ := crawl(t, w, crawler.Config{Handler: crawler.HandlerFunc(func(ctx context.Context, x *crawler.Visit) error {
					if x.URL.Path() == "/cut" && x.Page != nil {
						bytes = len(x.Page.Body)
					}
					return v.Handle(ctx, x)
				})}, s.URL("/"))
				x := v.by[s.URL("/cut")]
				if got := v.line(s.URL("/cut")); got != tc.want || x.Attempt+1 != tc.attempts {
					t.Errorf("%s after %d attempts, want %s after %d", got, x.Attempt+1, tc.want, tc.attempts)
				}
				if tc.bytes >= 0 && bytes != tc.bytes {
					t.Errorf("%d bytes, want %d", bytes, tc.bytes)
				}
				for path, want := range map[string]bool{"/early": tc.bytes > 0, "/middle": tc.bytes >= half, "/late": tc.bytes == whole} {
					if got := v.line(s.URL(path)) == "fetched 200"; got != want {
						t.Errorf("the link %s was followed: %v", path, got)
					}
				}
				if len(v.all) != len(v.by) || rep.Pages != rep.Outcomes[crawler.Fetched] || rep.Pages != len(v.all) {
					t.Errorf("%d pages: %v", rep.Pages, v.all)
				}
			})
		})
	}
}

// A body truncated by one of our own limits is final.
func TestPagesCutByOurLimitsAreFinal(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := cutSite(w)
		c := crawler.Config{}
		c.Fetch.MaxBody = 3000
		_, v := crawl(t, w, c, s.URL("/"))
		if got := v.line(s.URL("/cut")); got != "fetched 200 length" || v.by[s.URL("/cut")].Attempt != 0 {
			t.Error(got, v.by[s.URL("/cut")].Attempt)
		}
	})
}

// Truncation alone is no reason to retry an error page.
func TestCutErrorPagesAreFinal(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example")
		s.Page("/", links("/gone"))
		s.Page("/gone", cutPage()).Status(404).Fault(crawltest.CutShort(1000))
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		if got := v.line(s.URL("/gone")); got != "fetched 404 cut_short" || v.by[s.URL("/gone")].Attempt != 0 {
			t.Error(got, v.by[s.URL("/gone")].Attempt)
		}
	})
}

// If the host is given up before the next attempt, the truncated page is kept and counts as a page.
func TestCutPageOfAHostGivenUp(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := cutSite(w, crawltest.CutShort(3000), crawltest.RetryAfter(503, 24*time.Hour))
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		if got := v.line(s.URL("/cut")); got != "fetched 200 cut_short" || rep.Pages != 2 {
			t.Errorf("%s; %d pages", got, rep.Pages)
		}
		if got := v.line(s.URL("/early")); got != "deferred 0 retry_after_long" {
			t.Error(got)
		}
	})
}

// A truncated page of a host that is then given up also counts towards MaxPages.
func TestCutPageOfAHostGivenUpIsOneOfMaxPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := cutSite(w, crawltest.CutShort(3000), crawltest.RetryAfter(503, 24*time.Hour))
		b := w.Site("b.example")
		b.Robots("User-agent: *\nCrawl-delay: 60\n").Delays(time.Minute)
		b.Page("/", links("/1", "/2", "/3"))
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Pages: 3}}, s.URL("/"), b.URL("/"))
		if got := v.line(s.URL("/cut")); got != "fetched 200 cut_short" || rep.Pages != 3 {
			t.Errorf("%s; %d pages: %v", got, rep.Pages, v.all)
		}
	})
}

// If robots.txt disallows a page before its retry, the truncated page is not used.
func TestCutPageThatIsForbiddenMeanwhile(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := cutSite(w, crawltest.CutShort(3000), crawltest.CutShort(3000), crawltest.CutShort(3000))
		s.Robots("User-agent: *\nDisallow:\n").Header("Cache-Control", "max-age=60")
		s.Robots("User-agent: *\nDisallow: /cut\n").At(30 * time.Second).Forbids("/cut")
		_, v := crawl(t, w, crawler.Config{Retries: crawler.Retries{Pause: time.Minute}}, s.URL("/"))
		if got := v.line(s.URL("/cut")); got != "refused 0 robots_disallow" {
			t.Error(got)
		}
	})
}

// MaxPages stays exact: a URL waiting for its retry does not count as a page.
func TestCutPagesAndMaxPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example")
		var refs []string
		for i := range 20 {
			path := fmt.Sprintf("/%d", i)
			refs = append(refs, path)
			s.Page(path, cutPage()).Fault(crawltest.CutShort(3000).Every(1 + i%2))
		}
		s.Page("/", links(refs...))
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Pages: 7}}, s.URL("/"))
		if rep.Pages != 7 || len(v.all) != 7 || rep.Finish != crawler.FinishPages {
			t.Errorf("%+v %v", rep, v.all)
		}
	})
}

// A truncated sitemap is requested again, and if it stays truncated, its beginning is read.
func TestCutSitemap(t *testing.T) {
	for _, n := range []int{1, 3} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("a.example")
			s.Robots("Sitemap: /sitemap.xml\n")
			s.Page("/", "")
			s.Page("/one", "")
			s.Page("/two", "")
			body := "<urlset><url><loc>http://a.example/one</loc></url>" + strings.Repeat(" ", 1000) + "<url><loc>http://a.example/two</loc></url></urlset>"
			s.Page("/sitemap.xml", body).Type("application/xml").Fault(crawltest.CutShort(500).First(n))
			_, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
			one, two := v.line(s.URL("/one")), v.line(s.URL("/two"))
			if one != "fetched 200" || (two == "fetched 200") != (n == 1) {
				t.Errorf("cut %d times: %s, %s", n, one, two)
			}
		})
	}
}

// Attempts at a truncated page are counted across processes, but its body is lost in a kill.
func TestCutPageAfterARestart(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		cutSite(w, crawltest.CutShort(3000), crawltest.CutShort(1000), crawltest.CutShort(1000))
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Retries: crawler.Retries{Pause: 20 * time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // between the first and the second attempt
		defer cancel()
		if _, err := j.run(ctx, c, "http://a.example/"); err == nil {
			t.Fatal("not stopped")
		}
		if _, cut := j.records()["http://a.example/cut"]; cut {
			t.Fatal("the page was final at once")
		}
		if _, err := j.run(t.Context(), c, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		r := j.records()["http://a.example/cut"]
		if r.Outcome != "fetched" || r.Truncated != "cut_short" || r.Attempt != 2 || r.Bytes > 1000 || r.Links.Follow != 1 {
			t.Errorf("%+v", r)
		}
	})
}
