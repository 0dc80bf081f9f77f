package crawler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

const shell = `<!doctype html><title>app</title><body><div id=root></div><script src=/app.js></script><script>%s</script></body>`

// app is a site whose pages are made by scripts, some of them of another host.
func app(w *crawltest.Web) *crawltest.Site {
	s, cdn := w.Site("http://app.example"), w.Site("http://cdn.example")
	for path, script := range map[string]string{
		"/":  "fetch /api/home\nlink /a\nlink /b\npush /c\nfetch /forbidden/data\nimport http://gone.example/x.js\ntext end",
		"/a": "fetch /api/a", "/b": "fetch /api/b\nfetch /moved", "/c": "fetch /api/c\nfetch /missing",
	} {
		s.Page(path, fmt.Sprintf(shell, script))
		s.Page("/api/"+cmp.Or(path[1:], "home"), "<p>answer for "+path+"</p>").Header("Cache-Control", "no-store")
	}
	s.Page("/app.js", "import http://cdn.example/lib.js\n").Type("text/javascript")
	cdn.Page("/lib.js", "text from the library\n").Type("text/javascript")
	s.Page("/missing", "").Status(404)
	s.Redirect("/moved", "/api/a")
	s.Robots("User-agent: *\nDisallow: /forbidden/")
	w.Site("http://gone.example").Fault(crawltest.NXDomain())
	return s
}

func rendering(r crawler.Renderer) crawler.Config {
	return crawler.Config{Render: render.Policy{Mode: render.Auto}, Renderer: r}
}

// The content of a page is what its scripts have made. Whatever they request is requested with Permits: the auditor of the
// simulated web sees robots.txt first and every pause kept.
func TestRendering(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, fake := app(w), &rendertest.Fake{}
		rep, v := crawl(t, w, rendering(fake), s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/a"): "fetched 200", s.URL("/b"): "fetched 200", s.URL("/c"): "fetched 200",
		})
		home := v.by[s.URL("/")]
		if r := home.Rendered; r == nil || r.Why != render.RuleRoot || r.Cut != "" || r.Rounds < 4 ||
			!strings.Contains(string(r.DOM), "from the library") || !strings.Contains(string(r.DOM), "answer for /</p>") {
			t.Fatalf("%+v", home.Rendered)
		}
		var fates []string
		for _, f := range home.Rendered.Requests {
			fates = append(fates, fmt.Sprint(f.URL, " ", f.Status, " ", f.Refused))
		}
		for _, want := range []string{
			"http://app.example/app.js 200 ", "http://cdn.example/lib.js 200 ", "http://app.example/api/home 200 ",
			"http://app.example/forbidden/data 0 robots_disallow", "http://gone.example/x.js 0 dns_not_found",
		} {
			if !slices.Contains(fates, want) {
				t.Errorf("no %q in %q", want, fates)
			}
		}
		for _, once := range []string{s.URL("/app.js"), "http://cdn.example/lib.js"} {
			if n := w.Count(once); n != 1 {
				t.Errorf("%s was requested %d times", once, n)
			}
		}
		w.MustNotRequest(s.URL("/forbidden/data"))
		if c := rep.Rendering; c == nil || c.Pages != 4 || c.Refused["robots_disallow"] != 1 || c.Refused["dns_not_found"] != 1 || rep.Resources != 8 {
			t.Errorf("%+v, %d requests for resources", c, rep.Resources)
		}
		if f := fake.Faults(); len(f) > 0 {
			t.Error(f)
		}
	})
}

// A rendering that fails does not fail the visit: the page counts as it was fetched.
func TestRendererThatFails(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://app.example")
		s.Page("/", fmt.Sprintf(shell, "link /a")+`<noscript>JavaScript</noscript>`+links("/b"))
		s.Page("/b", "static, long enough"+strings.Repeat(" word", 100))
		_, v := crawl(t, w, rendering(deadRenderer{}), s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/b"): "fetched 200"})
		if r := v.by[s.URL("/")].Rendered; r == nil || r.Cut != crawler.CutRenderer || r.DOM != nil {
			t.Errorf("%+v", r)
		}
		if v.by[s.URL("/b")].Rendered != nil {
			t.Error("a static page was rendered")
		}
	})
}

type deadRenderer struct{}

func (deadRenderer) Round(context.Context, render.Task) (*render.Result, error) {
	return nil, errors.New("the browser is gone")
}

// A page that waits too long for an answer continues without it.
func TestRenderingWaitsOnlySoLong(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://app.example")
		s.Page("/", fmt.Sprintf(shell, "fetch http://down.example/x\nlink /a"))
		s.Page("/app.js", "text one").Type("text/javascript")
		s.Page("/a", "end"+strings.Repeat(" word", 100))
		w.Site("http://down.example").RobotsStatus(503)
		c := rendering(&rendertest.Fake{})
		c.Render.MaxWait = 30 * time.Second
		began := time.Now()
		_, v := crawl(t, w, c, s.URL("/"))
		if r := v.by[s.URL("/")].Rendered; r == nil || r.Cut != render.CutWait || v.line(s.URL("/a")) != "fetched 200" {
			t.Errorf("%+v, %s", r, v.line(s.URL("/a")))
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// However often a crawl is stopped, each page has one visit in the end, and it is as without a stop.
func TestRenderingOutlivesItsProcess(t *testing.T) {
	whole := map[string]string{}
	for _, every := range []time.Duration{time.Hour, 1500 * time.Millisecond, 4300 * time.Millisecond, 7700 * time.Millisecond, 11100 * time.Millisecond} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s, j := app(w), job{t, t.TempDir()}
			finished := false
			for range 60 {
				c := config(w, rendering(&rendertest.Fake{}))
				w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
				ctx, cancel := context.WithTimeout(t.Context(), every)
				rep, err := j.run(ctx, c, s.URL("/"))
				cancel()
				if finished = err == nil && rep.Finish == crawler.FinishDone; finished {
					break
				}
				every += 500 * time.Millisecond // or it would never get further than the longest rendering
			}
			got := map[string]string{}
			for u, r := range j.records() {
				got[u] = r.Outcome + " " + r.Title + fmt.Sprint(r.Links)
				if r.Links != nil {
					got[u] = fmt.Sprint(r.Outcome, " ", r.Title, " ", *r.Links)
				}
			}
			if len(whole) == 0 {
				whole = got
			}
			if !finished || len(got) != 4 || !maps.Equal(got, whole) {
				t.Errorf("stopped every %v: finished %v\n%v\nwant\n%v", every, finished, got, whole)
			}
		})
	}
}

// Pages that wait for answers have their place in the limits: no other page is requested in it, and each of them is finished.
func TestRenderingStaysWithinLimits(t *testing.T) {
	for name, limits := range map[string]crawler.Limits{"pages": {Pages: 3}, "pages of a host": {PagesPerHost: 3}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s, api := w.Site("http://app.example"), w.Site("http://api.example")
			api.CrawlDelay(20 * time.Second).Robots("User-agent: *\nCrawl-delay: 20")
			seeds := []string{}
			for i := range 12 {
				path := fmt.Sprint("/p", i)
				s.Page(path, fmt.Sprintf(shell, "fetch http://api.example"+path+"\ntext end"))
				api.Page(path, "x").Header("Cache-Control", "no-store")
				seeds = append(seeds, s.URL(path))
			}
			s.Page("/app.js", "text one").Type("text/javascript")
			c := rendering(&rendertest.Fake{})
			c.Limits = limits
			rep, _ := crawl(t, w, c, seeds...)
			requested := 0
			for _, u := range seeds {
				requested += w.Count(u)
			}
			if rep.Pages != 3 || rep.Rendering.Pages != 3 || requested != 3 || rep.Resources != 4 {
				t.Errorf("%s: %d pages, %+v, %d pages requested, %d resources", name, rep.Pages, rep.Rendering, requested, rep.Resources)
			}
		})
	}
}

// Limits.Resources ends what pages load, not the crawl.
func TestRenderingRequestsOnlySoMuch(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := app(w)
		c := rendering(&rendertest.Fake{})
		c.Limits.Resources = 2
		rep, v := crawl(t, w, c, s.URL("/"))
		if rep.Resources != 2 || rep.Finish != crawler.FinishDone || rep.Rendering.Refused[crawler.ReasonResources] == 0 {
			t.Errorf("%d requests for resources, %s, %+v", rep.Resources, rep.Finish, rep.Rendering)
		}
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/a"): "fetched 200", s.URL("/b"): "fetched 200", s.URL("/c"): "fetched 200"})
	})
}
