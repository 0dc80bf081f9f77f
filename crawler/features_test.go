package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

func TestQueryFloodEnds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 50 {
			refs = append(refs, fmt.Sprintf("/x?i=%d", i))
			s.Page(refs[i], "")
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Traps: crawler.Traps{Queries: 10}}, s.URL("/"))
		if rep.Pages != 11 || rep.Links[crawler.FateTrap] != 40 {
			t.Errorf("%d pages, links %v", rep.Pages, rep.Links)
		}
	})
}

// Who owns a host knows how many pages it has.
func TestOwnHostsHaveNoQueryCap(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 20 {
			refs = append(refs, fmt.Sprintf("/x?i=%d", i))
			s.Page(refs[i], fmt.Sprint(i))
		}
		s.Page("/", links(refs...))
		c := crawler.Config{Traps: crawler.Traps{Queries: 3, PerDir: 5}}
		c.Politeness.OwnHosts = func(string) int { return 1 }
		rep, _ := crawl(t, w, c, s.URL("/"))
		if rep.Pages != 21 || rep.Links[crawler.FateTrap] != 0 {
			t.Errorf("%d pages, links %v", rep.Pages, rep.Links)
		}
	})
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
		if rep.Outcomes[crawler.Duplicate] != 2 || rep.Reasons[crawler.ReasonSame] != 2 || rep.Pages != 6 {
			t.Errorf("report %+v", rep)
		}
		if x := v.by[s.URL("/3")]; x.SameAs != s.URL("/0") {
			t.Errorf("same as %q", x.SameAs)
		}
	})
}

func TestErrorBudget(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 20 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "").Fault(crawltest.Reset())
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Errors: 3}, Retries: crawler.Retries{Max: crawler.None}}, s.URL("/"))
		if rep.Finish != crawler.FinishErrors || rep.Outcomes[crawler.Failed] != 3 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestUsageSignals(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Page("/", links("/meta", "/header", "/free"))
		s.Page("/meta", `<meta name="robots" content="noai">`+links("/behind"))
		s.Page("/header", links("/free")).Header("Content-Usage", "train-ai=n")
		s.Page("/free", "")
		s.Page("/behind", "")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for path, want := range map[string]robots.Signal{"/meta": robots.Disallowed, "/header": robots.Disallowed, "/free": robots.Unsaid} {
			if got := v.by[s.URL(path)].Usage.For(robots.UseTrainAI); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
		w.MustRequest(s.URL("/behind")) // a signal on use is none on crawling
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{RefuseUsage: []string{robots.UseTrainAI}}}, s.URL("/"))
		if got := v.line(s.URL("/meta")); got != "refused 200 usage_signal" {
			t.Error(got)
		}
		w.MustNotRequest(s.URL("/behind"))
	})
}

func TestLinkHeadersAndFeeds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/feed")).Header("Link", `</next>; rel="next"`)
		s.Page("/next", "")
		s.Page("/feed", `<rss version="2.0"><channel><item><link>http://a.example/item</link></item></channel></rss>`).Type("application/rss+xml")
		s.Page("/item", "")
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Feeds: true}}, s.URL("/"))
		w.MustRequest(s.URL("/next"), s.URL("/item"))
	})
}

func TestResourcesByOption(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<link rel=stylesheet href=/s.css><img src=/i.png>`)
		s.Page("/s.css", `body{background:url(/bg.png)}`).Type("text/css")
		s.Page("/i.png", "x").Type("image/png")
		s.Page("/bg.png", "y").Type("image/png")
		crawl(t, w, crawler.Config{Follow: crawler.Follow{Resources: true}}, s.URL("/"))
		w.MustRequest(s.URL("/s.css"), s.URL("/i.png"), s.URL("/bg.png"))
	})
}

func TestRevisitedDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<meta name="robots" content="noindex">`+links("/x"))
		s.Page("/x", "")
		crawl(t, w, crawler.Config{RevisitedDirectives: true}, s.URL("/"))
		w.MustNotRequest(s.URL("/x")) // NOINDEX alone also stops the links
	})
}

func TestBeyondTheScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, o := w.Site("http://a.example"), w.Site("http://other.example")
		s.Page("/", links("http://other.example/", "http://other.example/moved", "/out"))
		s.Redirect("/out", "http://other.example/from-inside")
		o.Page("/from-inside", links("/deeper"))
		o.Page("/", links("/deeper", "http://a.example/back"))
		o.Page("/deeper", "")
		o.Redirect("/moved", "/target")
		o.Page("/target", "")
		s.Page("/back", "")
		_, v := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Beyond: 1}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", o.URL("/"): "fetched 200", o.URL("/moved"): "redirected 302", o.URL("/target"): "fetched 200",
			s.URL("/out"): "redirected 302", o.URL("/from-inside"): "fetched 200",
		})
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

// A robots.txt that changes while the crawl runs binds the URLs that were queued before.
func TestChangedRulesApplyToQueuedURLs(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow:\n").Header("Cache-Control", "max-age=300")
		s.Robots("User-agent: *\nDisallow: /p\n").Header("Cache-Control", "max-age=300").At(10 * time.Minute).Forbids("/p*")
		var refs []string
		for i := range 40 {
			refs = append(refs, fmt.Sprintf("/p%d", i))
			s.Page(refs[i], "")
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Politeness: politeness.Config{Delay: time.Minute}}, s.URL("/"))
		if n := rep.Reasons[politeness.ReasonRobots]; n < 20 || n > 36 || rep.Pages+n != 41 {
			t.Errorf("report %+v", rep)
		}
	})
}

// Hosts that hang cost the others nothing as long as there are more workers than they.
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
			c := config(w, crawler.Config{Limits: crawler.Limits{Depth: crawler.None, Pages: crawler.None}, Concurrency: 32, Handler: v})
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

// lastPage notes when the last page was fetched.
type lastPage struct {
	mu     sync.Mutex
	at     time.Time
	except string // a host that does not count
}

func (l *lastPage) Handle(_ context.Context, v *crawler.Visit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.Outcome == crawler.Fetched && v.URL.Host() != l.except {
		l.at = time.Now()
	}
	return nil
}

// With workers enough, a crawl takes what its slowest host takes.
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
		rep, _ := crawl(t, w, crawler.Config{Limits: crawler.Limits{Depth: crawler.None, Pages: crawler.None}}, seeds...)
		took := rep.Ended.Sub(rep.Started)
		if ratio := took.Seconds() / rep.Bound.Seconds(); ratio < 1 || ratio > 1.05 {
			t.Errorf("took %v, bound %v by %s: ratio %.3f", took, rep.Bound, rep.BoundBy, ratio)
		}
	})
}

func TestBodiesNobodyParsesAreReadWhenSomebodyLooks(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", strings.Repeat("x", 200_000)).Type("application/pdf")
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil || len(v.Page.Body) != 200_000 {
				t.Error(v, err)
			}
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", strings.Repeat("x", 200_000)).Type("application/pdf")
		var out bytes.Buffer
		cr, err := crawler.New(config(w, crawler.Config{Sinks: []sink.Sink{sink.NewJSONL(&out)}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil || !strings.Contains(out.String(), `"truncated":"unwanted"`) {
			t.Error(err, out.String())
		}
	})
}

func TestArchive(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /no\n").Forbids("/no*")
		s.Page("/", links("/moved", "/no", "/pdf"))
		s.Redirect("/moved", "/to")
		s.Page("/to", "here").Fault(crawltest.Fail(503).First(1))
		s.Page("/pdf", strings.Repeat("x", 100_000)).Type("application/pdf")
		dir := t.TempDir()
		arc, err := warc.Open(dir, warc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cr, err := crawler.New(config(w, crawler.Config{Sinks: []sink.Sink{arc, sink.NewJSONL(&out)}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		if err := arc.Close(); err != nil {
			t.Fatal(err)
		}
		index, err := filepath.Glob(filepath.Join(dir, "*.cdxj"))
		if err != nil || len(index) != 1 {
			t.Fatal(index, err)
		}
		text, err := os.ReadFile(index[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"/robots.txt", "/moved", `"status": "503"`, "/pdf"} {
			if !strings.Contains(string(text), strings.TrimPrefix(want, "http://a.example")) && !strings.Contains(string(text), strings.ReplaceAll(want, ": ", ":")) {
				t.Errorf("no %s in the index:\n%s", want, text)
			}
		}
		if n := strings.Count(out.String(), `"warc":{"file":`); n != 4 {
			t.Errorf("%d visits name their place in the archive, want 4:\n%s", n, out.String())
		}
	})
}

func TestErrorPagesLeadNowhere(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/gone", "/fails"))
		s.Page("/gone", links("deeper")).Status(404)
		s.Page("/fails", links("deeper")).Status(500)
		s.Page("/deeper", "")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		w.MustNotRequest(s.URL("/deeper"))
		if rep.Links[crawler.FateNoFollow] != 2 || v.by[s.URL("/gone")].Doc == nil {
			t.Errorf("links %v", rep.Links)
		}
	})
}
