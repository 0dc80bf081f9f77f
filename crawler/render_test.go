package crawler_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

const shell = `<!doctype html><title>app</title><body><div id=root></div><script src=/app.js></script><script>%s</script></body>`

// app returns a site whose pages are made by scripts, some of them of another host.
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
		if r := home.Rendered; r == nil || r.Why != "app_root" || r.Cut != "" || r.Rounds < 4 ||
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

// silent is a renderer of pages whose scripts remove what they say to robots.
type silent struct{ rendertest.Fake }

func (s *silent) Round(ctx context.Context, t render.Task) (*render.Result, error) {
	res, err := s.Fake.Round(ctx, t)
	if err == nil {
		res.DOM = bytes.ReplaceAll(res.DOM, []byte("<meta"), []byte("<gone"))
	}
	return res, err
}

// What a page says to robots as it is fetched holds, whatever its scripts do to it.
func TestScriptsCannotRemoveDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, r := w.Site("http://app.example"), &silent{}
		s.Page("/app.js", "").Type("text/javascript")
		s.Page("/", `<meta name=robots content="noindex"><meta name=tdm-reservation content=1>`+fmt.Sprintf(shell, "link /a"))
		s.Page("/a", `<meta name=robots content="nofollow">`+fmt.Sprintf(shell, "link /b"))
		_, v := crawl(t, w, rendering(r), s.URL("/"))
		home := v.by[s.URL("/")]
		if home.Rendered == nil || bytes.Contains(home.Rendered.DOM, []byte("<meta")) || !home.Directives.NoIndex {
			t.Errorf("%+v, %+v", home.Rendered, home.Directives)
		}
		if home.Terms == nil || !slices.ContainsFunc(home.Terms.Statements, func(s consent.Statement) bool { return s.Name == "tdm-reservation" }) {
			t.Errorf("statements about uses: %+v", home.Terms)
		}
		w.MustNotRequest(s.URL("/b"))
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
		if r := v.by[s.URL("/")].Rendered; r == nil || r.Cut != "render_failed" || r.DOM != nil {
			t.Errorf("%+v", r)
		}
		if v.by[s.URL("/b")].Rendered != nil {
			t.Error("a static page was rendered")
		}
	})
}

// A page on which the browser crashes counts as it was fetched, and its links are followed.
func TestPageThatCrashesTheBrowser(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://app.example")
		s.Page("/", fmt.Sprintf(shell, "link /a\ncrash")+links("/b"))
		s.Page("/app.js", "text one").Type("text/javascript")
		s.Page("/b", "static, long enough"+strings.Repeat(" word", 100))
		rep, v := crawl(t, w, rendering(&rendertest.Fake{}), s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/b"): "fetched 200"})
		if r := v.by[s.URL("/")].Rendered; r == nil || r.Cut != render.CutCrashed || r.DOM != nil || rep.Rendering.Cut[render.CutCrashed] != 1 {
			t.Errorf("%+v, %+v", r, rep.Rendering)
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
		if r := v.by[s.URL("/")].Rendered; r == nil || r.Cut != "render_wait" || v.line(s.URL("/a")) != "fetched 200" {
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
		if rep.Resources != 2 || rep.Finish != crawler.FinishDone || rep.Rendering.Refused["render_resources"] == 0 {
			t.Errorf("%d requests for resources, %s, %+v", rep.Resources, rep.Finish, rep.Rendering)
		}
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/a"): "fetched 200", s.URL("/b"): "fetched 200", s.URL("/c"): "fetched 200"})
	})
}

// What a host has no budget left for is not loaded, and the pages that wait for it are finished without it.
func TestRenderingWithinBudgetsOfHosts(t *testing.T) {
	for host, budget := range map[string]int64{"app.example": 40, "cdn.example": 1} { // enough for robots.txt, or not even that
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := app(w)
			c := rendering(&rendertest.Fake{})
			c.Hosts = []crawler.HostSettings{{Match: host, Bytes: crawler.Limit(budget)}}
			rep, v := crawl(t, w, c, s.URL("/"))
			home := v.by[s.URL("/")]
			if rep.Finish != crawler.FinishDone || home.Rendered == nil || home.Rendered.Cut != "" || home.Rendered.DOM == nil {
				t.Fatalf("%s: %s, %s, %+v", host, rep.Finish, v.line(s.URL("/")), home)
			}
			refused := 0
			for _, f := range home.Rendered.Requests {
				if !strings.Contains(f.URL, host) && f.Refused == crawler.ReasonHostBudget {
					t.Errorf("%s: %+v", host, f)
				}
				if f.Refused == crawler.ReasonHostBudget {
					refused++
				}
			}
			if want := map[string]int{"app.example": 3, "cdn.example": 1}[host]; refused != want || w.Count(s.URL("/app.js")) != 1-want/3 {
				t.Errorf("%s: %d refused, want %d: %+v", host, refused, want, home.Rendered.Requests)
			}
		})
	}
}

// A host whose renderings bring nothing is left static for a while, and its visits say so.
func TestRenderingWithoutGain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://app.example")
		s.Page("/app.js", "").Type("text/javascript")
		var seeds []string
		for i := range 7 {
			path := fmt.Sprint("/", i)
			s.Page(path, fmt.Sprintf(shell, "")+"the same text for everybody, and some more of it")
			seeds = append(seeds, s.URL(path))
		}
		rep, v := crawl(t, w, rendering(&rendertest.Fake{}), seeds...)
		static := 0
		for _, u := range seeds {
			if r := v.by[u].Rendered; r != nil && r.Cut == "render_no_gain" && r.Why == "app_root" && r.DOM == nil {
				static++
			}
		}
		if static != 2 || rep.Rendering.Cut["render_no_gain"] != 2 || rep.Rendering.Pages != 5 {
			t.Errorf("%d left static, %+v", static, rep.Rendering)
		}
	})
}

// A host is left static after three consecutive renderings that were stuck, also if they were those of two processes. A rendering
// that is not stuck begins the count again.
func TestStuckHostIsLeftStatic(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, other, j := w.Site("http://app.example"), w.Site("http://other.example"), job{t, t.TempDir()}
		s.Page("/", fmt.Sprintf(shell, "")+links("/1", "/fine", "/2", "/3", "/4", "/5", "/6", other.URL("/")))
		for _, path := range []string{"/1", "/fine", "/2", "/3", "/4", "/5", "/6"} {
			s.Page(path, fmt.Sprintf(shell, ""))
		}
		other.Page("/", fmt.Sprintf(shell, ""))
		r := stuckRenderer{fine: []string{s.URL("/"), s.URL("/fine"), s.URL("/6"), other.URL("/")}, rounds: map[string]int{}}
		run := func(pages crawler.Limit) *crawler.Report {
			c := config(w, rendering(r))
			c.Scope.Kind, c.Limits.Pages, c.Render.Mode, c.RenderDir = crawler.ScopeAny, pages, render.Always, filepath.Join(j.dir, "resources")
			rep, err := j.run(t.Context(), c, s.URL("/"))
			if err != nil {
				t.Fatal(err)
			}
			return rep
		}
		run(5)
		rep := run(100)
		if n := rep.Rendering.Cut[render.CutStuck]; n != 4 || rep.Rendering.Cut[crawler.CutHost] != 2 || r.rounds["app.example:80"] != 6 {
			t.Errorf("%d renderings were stuck, %+v, rounds %v", n, rep.Rendering, r.rounds)
		}
		if r.rounds["other.example:80"] != 1 {
			t.Errorf("another host had rounds %v", r.rounds)
		}
	})
}

// stuckRenderer is stuck on all pages but some.
type stuckRenderer struct {
	fine   []string
	rounds map[string]int
}

func (r stuckRenderer) Round(_ context.Context, t render.Task) (*render.Result, error) {
	r.rounds[t.URL.Host()]++
	if slices.Contains(r.fine, t.URL.String()) {
		return &render.Result{DOM: t.Document.Body, URL: t.URL}, nil
	}
	return &render.Result{Cut: render.CutStuck}, nil
}

// In an order by hash the next page of a host waits until the links of those before are durable. A page that is being rendered is not
// the next one: it keeps its rendering, and is requested once.
func TestRenderingInOrder(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, slow, j := w.Site("http://app.example"), w.Site("http://slow.example"), job{t, t.TempDir()}
		slow.Robots("User-agent: *\nCrawl-delay: 4\n")
		s.Page("/", links("/a", "/b", "/c", "/d", "/e")+strings.Repeat(" word", 100))
		for _, at := range []string{"/a", "/b"} {
			s.Page(at, fmt.Sprintf(shell, "fetch http://slow.example"+at+"\ntext end"))
			slow.Page(at, "answer for "+at)
		}
		for _, at := range []string{"/c", "/d", "/e"} {
			s.Page(at, at+strings.Repeat(" word", 100))
		}
		s.Page("/app.js", "").Type("text/javascript")
		c := config(w, rendering(&rendertest.Fake{}))
		c.Order, c.Commits.Interval = crawler.OrderHash("s"), 3*time.Second
		rep, err := j.run(t.Context(), c, s.URL("/"))
		if err != nil || rep.Pages != 6 || rep.Rendering == nil || rep.Rendering.Pages != 2 {
			t.Errorf("%+v, %v", rep, err)
		}
		for _, u := range []string{s.URL("/a"), s.URL("/b"), slow.URL("/a"), slow.URL("/b")} {
			if n := w.Count(u); n != 1 {
				t.Errorf("%s was requested %d times", u, n)
			}
		}
	})
}
