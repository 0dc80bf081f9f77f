package crawler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// config is a crawl of w with a visitor that notes every visit.
func config(w *crawltest.Web, c crawler.Config) crawler.Config {
	c.Agent, c.Contact = "testbot/1.0", contact
	c.Fetch.DialContext, c.Fetch.Resolver, c.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	delay := cmp.Or(c.Politeness.Delay, time.Second)
	if delay < 0 {
		delay = 100 * time.Millisecond
	}
	w.Expect(crawltest.Expect{
		Delay: delay, PerAddress: true, Agent: "testbot", Contact: contact, MaxRetryAfter: 5 * time.Minute,
		AllowRepeats: false,
	})
	return c
}

// visits notes what a Handler is told.
type visits struct {
	mu    sync.Mutex
	all   []string
	by    map[string]crawler.Visit
	links map[string]int // how many a page had
}

func (v *visits) Handle(_ context.Context, x *crawler.Visit) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by, v.links = map[string]crawler.Visit{}, map[string]int{}
	}
	v.all = append(v.all, x.URL.String())
	kept := *x
	if x.Doc != nil { // it is the next page's afterwards
		doc := *x.Doc
		kept.Doc = &doc
	}
	v.by[x.URL.String()], v.links[x.URL.String()] = kept, len(x.Links())
	return nil
}

// line is what became of a URL: "outcome status reason".
func (v *visits) line(u string) string {
	x, ok := v.by[u]
	if !ok {
		return "no visit"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", x.Outcome, x.Status(), x.Reason))
}

// expect compares the visits with want, and holds that each URL has exactly one.
func (v *visits) expect(t *testing.T, want map[string]string) {
	t.Helper()
	for u, line := range want {
		if got := v.line(u); got != line {
			t.Errorf("%s: %s, want %s", u, got, line)
		}
	}
	for _, u := range v.all {
		if _, ok := want[u]; !ok {
			t.Errorf("%s: %s, want no visit", u, v.line(u))
		}
	}
	if len(v.all) != len(v.by) {
		slices.Sort(v.all)
		t.Errorf("%d visits of %d URLs: %v", len(v.all), len(v.by), v.all)
	}
}

// crawl runs a crawl to its end and returns its visits.
func crawl(t *testing.T, w *crawltest.Web, c crawler.Config, seeds ...string) (*crawler.Report, *visits) {
	t.Helper()
	v := &visits{}
	c = config(w, c)
	if c.Handler == nil {
		c.Handler = v
	}
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return rep, v
}

func links(refs ...string) string {
	var b strings.Builder
	for _, r := range refs {
		fmt.Fprintf(&b, "<a href=%q>x</a>\n", r)
	}
	return b.String()
}

func TestEveryURLHasOneVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(50 * time.Millisecond)
		s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
		s.Page("/", links("/b", "b#frag", "./b", "/private/x", "/gone", "/moved", "http://other.example/", "mailto:x@y", "//a.example/c?q=1"))
		s.Page("/b", links("/", "/c?q=1", "/d"))
		s.Page("/c?q=1", links("/"))
		s.Page("/d", "<!-- <a href='/comment'> --><script>var a='<a href=/script>'</script>")
		s.Page("/gone", "no").Status(404)
		s.Redirect("/moved", "/target")
		s.Page("/target", "here")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/b"): "fetched 200", s.URL("/c?q=1"): "fetched 200", s.URL("/d"): "fetched 200",
			s.URL("/gone"): "fetched 404", s.URL("/moved"): "redirected 302", s.URL("/target"): "fetched 200",
			s.URL("/private/x"): "refused 0 robots_disallow",
		})
		if rep.Finish != crawler.FinishDone || rep.Pages != 6 || rep.Left != 0 {
			t.Errorf("report %+v", rep)
		}
		if x := v.by[s.URL("/private/x")]; x.Rule != "Disallow: /private/" || !strings.Contains(x.Detail, "line 2") {
			t.Errorf("rule %q, detail %q", x.Rule, x.Detail)
		}
		if x := v.by[s.URL("/target")]; x.Depth != 1 || len(x.Hops) != 1 || x.Hops[0] != s.URL("/moved") || x.Via.String() != s.URL("/moved") {
			t.Errorf("redirect target: depth %d, hops %v, via %v", x.Depth, x.Hops, x.Via)
		}
		if n := v.links[s.URL("/")]; n != 9 {
			t.Errorf("%d links", n)
		}
	})
}

func TestDepth(t *testing.T) {
	for _, c := range []struct{ depth, pages int }{{crawler.SeedsOnly, 1}, {1, 2}, {3, 4}, {0, 6}, {crawler.None, 9}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			for i := range 9 {
				s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1)))
			}
			s.Page("/9", "end").Status(404)
			rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: c.depth}}, s.URL("/0"))
			if c.depth == crawler.None {
				c.pages = 10
			}
			if rep.Pages != c.pages {
				t.Errorf("depth %d: %d pages, want %d", c.depth, rep.Pages, c.pages)
			}
		})
	}
}

func TestMaxPagesIsExact(t *testing.T) {
	for _, n := range []int{1, 7, 50, 199} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			var seeds []string
			for h := range 20 {
				s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(time.Duration(h) * 30 * time.Millisecond)
				var all []string
				for i := range 10 {
					all = append(all, fmt.Sprintf("/%d", i))
					s.Page(all[i], links("/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"))
				}
				seeds = append(seeds, s.URL("/0"))
			}
			rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Pages: n}, Concurrency: 50}, seeds...)
			pages := 0
			for _, r := range w.Requests() {
				if !strings.HasSuffix(r.URL, "/robots.txt") {
					pages++
				}
			}
			if rep.Pages != n || pages != n || len(v.all) != n || rep.Finish != crawler.FinishPages {
				t.Errorf("want %d pages: report %d, requests %d, visits %d, finish %s", n, rep.Pages, pages, len(v.all), rep.Finish)
			}
		})
	}
}

func TestMaxPerHost(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3", "/4"))
		for i := range 4 {
			s.Page(fmt.Sprintf("/%d", i+1), "")
		}
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{PagesPerHost: 3}}, s.URL("/"))
		if rep.Pages != 3 || rep.Reasons[crawler.ReasonHostBudget] != 2 || len(v.all) != 5 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestRedirects(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /no/\n").Forbids("/no/*")
		o := w.Site("http://other.example")
		o.Page("/", "")
		s.Page("/", links("/loop", "/chain", "/no-target", "/out", "/nowhere", "/mail"))
		s.Redirect("/loop", "/loop2")
		s.Redirect("/loop2", "/loop")
		s.RedirectChain("/chain", 11, "/end")
		s.Page("/end", "")
		s.Redirect("/no-target", "/no/x")
		s.Redirect("/out", "http://other.example/")
		s.Page("/nowhere", "").Status(302)
		s.Redirect("/mail", "mailto:x@y.example")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for u, want := range map[string]string{
			s.URL("/loop"): "redirected 302", s.URL("/loop2"): "failed 302 redirect_loop", s.URL("/no/x"): "refused 0 robots_disallow",
			s.URL("/out"): "redirected 302", "http://other.example/": "out_of_scope 0 scope",
			s.URL("/nowhere"): "failed 302 redirect_bad", s.URL("/mail"): "failed 302 redirect_bad",
			s.URL("/end"): "no visit",
		} {
			if got := v.line(u); got != want {
				t.Errorf("%s: %s, want %s", u, got, want)
			}
		}
		if rep.Reasons[crawler.ReasonRedirectLimit] != 1 {
			t.Errorf("reasons %v", rep.Reasons)
		}
		w.MustNotRequest("http://other.example/", "http://other.example/robots.txt", s.URL("/no/x"))
	})
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
		rep, v := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.None}}, seeds...)
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

func TestDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/meta", "/header", "/named", "/other", "/noindex")+`<a rel="ugc nofollow" href="/rel">x</a>`)
		s.Page("/meta", `<meta name="robots" content="nofollow">`+links("/x1"))
		s.Page("/header", links("/x2")).Header("X-Robots-Tag", "none")
		s.Page("/named", `<meta name="testbot" content="nofollow">`+links("/x3"))
		s.Page("/other", `<meta name="otherbot" content="nofollow">`+links("/y1"))
		s.Page("/noindex", `<meta name="robots" content="noindex">`+links("/y2"))
		s.Page("/y1", "")
		s.Page("/y2", "")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for _, u := range []string{"/x1", "/x2", "/x3", "/rel"} {
			w.MustNotRequest(s.URL(u))
		}
		w.MustRequest(s.URL("/y1"), s.URL("/y2"))
		if !v.by[s.URL("/noindex")].Directives.NoIndex {
			t.Error("noindex is reported")
		}
	})
}

func TestBaseAndCanonical(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<title>T</title><base href="/dir/"><a href="x">x</a><link rel="canonical" href="/c">`)
		s.Page("/dir/x", "")
		s.Page("/dir/c", "").Status(404)
		s.Page("/c", "")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		w.MustRequest(s.URL("/dir/x"))
		if d := v.by[s.URL("/")].Doc; d.Title != "T" || d.Canonical != "/c" {
			t.Errorf("got %+v", d)
		}
	})
}

func TestSitemaps(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: http://a.example/index.xml\n")
		s.Page("/index.xml", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.example/map.xml</loc></sitemap></sitemapindex>`).Type("application/xml")
		s.Page("/map.xml", `<urlset><url><loc>http://a.example/hidden</loc></url><url><loc>http://other.example/</loc></url></urlset>`).Type("application/xml")
		s.Page("/", "no links")
		s.Page("/hidden", "found")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		rep, v := crawl(t, w, crawler.Config{Follow: crawler.Follow{Sitemaps: true}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/hidden"): "fetched 200", s.URL("/index.xml"): "fetched 200", s.URL("/map.xml"): "fetched 200",
		})
		if len(rep.Sitemaps) != 1 {
			t.Errorf("sitemaps %v", rep.Sitemaps)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		rep, _ := crawl(t, w, crawler.Config{}, s.URL("/"))
		if len(rep.Sitemaps) != 1 || rep.Pages != 1 {
			t.Errorf("sitemaps are announced, not read: %+v", rep)
		}
	})
}

func TestHandlerErrors(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Page("/", links("/a", "/b", "/c"))
		s.Page("/a", links("/a1"))
		s.Page("/b", links("/b1"))
		s.Page("/c", links("/c1"))
		s.Page("/a1", "")
		s.Page("/b1", "")
		s.Page("/c1", "")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		v := &visits{}
		h := crawler.HandlerFunc(func(ctx context.Context, x *crawler.Visit) error {
			_ = v.Handle(ctx, x)
			switch x.URL.Path() {
			case "/a":
				return crawler.SkipLinks
			case "/b":
				return errors.New("disk full")
			case "/c":
				panic("oops")
			}
			return nil
		})
		rep, _ := crawl(t, w, crawler.Config{Handler: h}, s.URL("/"))
		w.MustNotRequest(s.URL("/a1"), s.URL("/b1"), s.URL("/c1"))
		if rep.Outcomes[crawler.Failed] != 2 || rep.Reasons[crawler.ReasonHandler] != 1 || rep.Reasons[crawler.ReasonPanic] != 1 {
			t.Errorf("report %+v", rep)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		h := crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return crawler.Stop })
		rep, _ := crawl(t, w, crawler.Config{Handler: h}, s.URL("/"))
		if rep.Finish != crawler.FinishDrained || rep.Pages != 1 || rep.Left != 3 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestPagesAndBreak(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3"))
		for i := range 3 {
			s.Page(fmt.Sprintf("/%d", i+1), "")
		}
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil || v.Outcome != crawler.Fetched {
				t.Fatal(v, err)
			}
			if n++; n == 2 {
				break
			}
		}
		if got := len(w.Requests()); got > 4 {
			t.Errorf("%d requests after a break at the second page", got)
		}
		for _, err := range cr.Pages(t.Context(), "no url") {
			var seed *crawler.SeedError
			if !errors.As(err, &seed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestCancelIsAHardStop(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rep, err := cr.Run(ctx, s.URL("/"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 15*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if rep.Finish != crawler.FinishCanceled || rep.Left != 1 || len(rep.Outcomes) != 0 {
			t.Errorf("the URL in flight stays queued: %+v", rep)
		}
	})
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(25*time.Second, cr.Drain)
		defer stop.Stop()
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDrained || rep.Pages != 1 || rep.Left != 1 {
			t.Errorf("%v %+v", err, rep)
		}
	})
}

func TestMaxTimeAndBytes(t *testing.T) {
	for _, c := range []struct {
		config crawler.Config
		finish crawler.Finish
	}{{crawler.Config{Limits: crawler.Limits{Time: 5 * time.Second}}, crawler.FinishTime}, {crawler.Config{Limits: crawler.Limits{Bytes: 5000}}, crawler.FinishBytes}} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://a.example")
			for i := range 30 {
				s.Page(fmt.Sprintf("/%d", i), links(fmt.Sprintf("/%d", i+1))+strings.Repeat("x", 1000))
			}
			c.config.Limits.Depth = crawler.None
			rep, _ := crawl(t, w, c.config, s.URL("/0"))
			if rep.Finish != c.finish || rep.Left != 1 || rep.Pages > 6 {
				t.Errorf("report %+v", rep)
			}
		})
	}
}

func TestTraps(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a/a/a/x", "/a/b/a/b/a/b/a/b/a/b", "/ok/ok/x", "/"+strings.Repeat("s/", 26)))
		s.Page("/ok/ok/x", "")
		rep, _ := crawl(t, w, crawler.Config{}, s.URL("/"))
		if rep.Links[crawler.FateTrap] != 3 || rep.Pages != 2 {
			t.Errorf("links %v, %d pages", rep.Links, rep.Pages)
		}
	})
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		name   string
		config crawler.Config
		seeds  []string
		want   string
	}{
		{"no seeds", crawler.Config{}, nil, "no seeds"},
		{"no URL", crawler.Config{}, []string{"::"}, `seed "::"`},
		{"mail", crawler.Config{}, []string{"mailto:x@y.org"}, "url_scheme"},
		{"no contact", crawler.Config{}, []string{"http://site.org/"}, "contact is empty"},
		{"placeholder", crawler.Config{Contact: "you@example.com"}, []string{"http://site.org/"}, "placeholder"},
		{"agent", crawler.Config{Agent: "my bot/1"}, nil, "product token"},
		{"scope", crawler.Config{Scope: crawler.ScopeConfig{Kind: "world"}}, nil, "host, domain, prefix or any"},
		{"rule", crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Pattern: "("}}}}, nil, `scope rule "("`},
		{"any without limit", crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: crawler.None}}, nil, "explicit limit"},
		{"concurrency", crawler.Config{Concurrency: -3}, nil, "Concurrency is -3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cr, err := crawler.New(c.config)
			if err == nil {
				_, err = cr.Run(t.Context(), c.seeds...)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
