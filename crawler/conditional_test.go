package crawler_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

// again allows two crawls to make the same requests.
func again(w *crawltest.Web) {
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
}

// visitsOf crawls w and returns the crawl's JSON lines and visits.
func visitsOf(t *testing.T, w *crawltest.Web, c crawler.Config, seeds ...string) (string, *visits) {
	t.Helper()
	var out bytes.Buffer
	c.Sinks = []sink.Sink{sink.NewJSONL(&out)}
	_, v := crawl(t, w, c, seeds...)
	return out.String(), v
}

// A crawl with an earlier crawl's visits checks whether pages have changed, and records unchanged ones as not_modified.
// A later crawl can use its visits in turn.
func TestCrawlAgainFetchesWhatChanged(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		version := 1
		serve := func(etag, modified, body string) http.HandlerFunc {
			return func(rw http.ResponseWriter, r *http.Request) {
				tag := strings.ReplaceAll(etag, "%d", strconv.Itoa(version))
				rw.Header().Set("Content-Type", "text/html")
				if etag != "" {
					rw.Header().Set("ETag", tag)
				}
				if modified != "" {
					rw.Header().Set("Last-Modified", modified)
				}
				if etag != "" && r.Header.Get("If-None-Match") == tag || modified != "" && r.Header.Get("If-Modified-Since") == modified {
					rw.Header().Del("Last-Modified")
					rw.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = fmt.Fprint(rw, body)
			}
		}
		const day = "Tue, 01 Sep 2026 10:00:00 GMT"
		s.Page("/", links("/tagged", "/dated", "/both", "/changes", "/plain"))
		s.Handle("/tagged", serve(`"same"`, "", "tagged"+links("/behind")))
		s.Handle("/dated", serve("", day, "dated"))
		s.Handle("/both", serve(`"b"`, day, "both"))
		s.Handle("/changes", serve(`W/"%d"`, "", "changes"))
		s.Page("/plain", "plain")
		s.Page("/behind", "")
		again(w)
		out, _ := visitsOf(t, w, crawler.Config{}, s.URL("/"))
		for round := 2; round <= 3; round++ {
			time.Sleep(time.Minute) // virtual time; the second process does not know the pauses of the first one
			past, err := crawler.ReadHistory(strings.NewReader(out), 0)
			if err != nil {
				t.Fatal(err)
			}
			version = round
			var v *visits
			cfg := crawler.Config{Since: past}
			cfg = config(w, cfg)
			again(w)
			seen := &visits{}
			var buf bytes.Buffer
			cfg.Handler, cfg.Sinks = seen, []sink.Sink{sink.NewJSONL(&buf)}
			c, err := crawler.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(t.Context(), s.URL("/")); err != nil {
				t.Fatal(err)
			}
			v, before := seen, out
			out = buf.String()
			v.expect(t, map[string]string{
				s.URL("/"): "fetched 200", s.URL("/tagged"): "not_modified 304", s.URL("/dated"): "not_modified 304",
				s.URL("/both"): "not_modified 304", s.URL("/changes"): "fetched 200", s.URL("/plain"): "fetched 200", s.URL("/behind"): "fetched 200",
			})
			if x := v.by[s.URL("/both")]; x.Validators.ETag != `"b"` || x.Validators.LastModified != day {
				t.Errorf("validators %+v", x.Validators)
			}
			sum := v.by[s.URL("/tagged")].SHA256
			if !strings.Contains(before, hex.EncodeToString(sum[:])) || !strings.Contains(out, hex.EncodeToString(sum[:])) {
				t.Error("the hash of the copy from before is lost")
			}
		}
	})
}

// Only page requests are conditional, and only with validators from a complete response.
func TestWhatMakesRequestsConditional(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/cut", "/long")).Header("ETag", `"1"`)
		s.Page("/cut", strings.Repeat("x", 2000)).Header("ETag", `"2"`).Fault(crawltest.CutShort(1000))
		s.Page("/long", "").Header("ETag", `"`+strings.Repeat("3", 2000)+`"`).Header("Last-Modified", strings.Repeat("4", 2000))
		past, err := crawler.ReadHistory(strings.NewReader(`{"schema":"amble.visit/1","url":"http://a.example/","outcome":"fetched","status":200,"etag":"\"0\""}`), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, v := crawl(t, w, crawler.Config{Since: past}, s.URL("/"))
		for path, want := range map[string]string{"/": `"1"`, "/cut": "", "/long": ""} {
			if got := v.by[s.URL(path)].Validators; got.ETag != want || got.LastModified != "" {
				t.Errorf("%s: %+v", path, got)
			}
		}
		for _, r := range w.Requests() {
			if got := r.Header.Get("If-None-Match"); (got != "") != (r.URL == s.URL("/")) {
				t.Errorf("%s is requested with If-None-Match %s", r.URL, got)
			}
		}
	})
}

// A 304 response to an unconditional request is treated like any other response.
func TestNotModifiedForUnconditionalRequest(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "").Status(http.StatusNotModified)
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 304"})
	})
}

// The record of an unchanged page has the hash of the earlier copy, if known, and never the hash of the empty body.
func TestHashOfUnchangedPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "").Status(http.StatusNotModified).Header("ETag", `"1"`)
		past, err := crawler.ReadHistory(strings.NewReader(`{"schema":"amble.visit/1","url":"http://a.example/","outcome":"fetched","status":200,"etag":"\"1\""}`), 0)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := visitsOf(t, w, crawler.Config{Since: past}, s.URL("/"))
		if !strings.Contains(out, `"outcome":"not_modified"`) || !strings.Contains(out, `"etag":"\"1\""`) || strings.Contains(out, "sha256") {
			t.Error(out)
		}
	})
}

func TestReadHistory(t *testing.T) {
	line := func(more string) string { return `{"schema":"amble.visit/1","url":"http://a.test/` + more + "}\n" }
	text := line(`whole","outcome":"fetched","status":200,"etag":"\"1\"","sha256":"`+strings.Repeat("ab", 32)+`"`) +
		line(`cut","outcome":"fetched","status":200,"etag":"\"1\"","truncated":"length"`) +
		line(`gone","outcome":"fetched","status":404,"etag":"\"1\""`) +
		line(`later","outcome":"fetched","status":200,"etag":"\"1\""`) +
		line(`later","outcome":"failed","reason":"reset"`) +
		line(`again","outcome":"not_modified","status":304,"last_modified":"x"`) +
		line(`more","outcome":"fetched","status":200,"depth":3`) +
		line(`none","outcome":"fetched","status":200`)
	h, err := crawler.ReadHistory(strings.NewReader(text+`{"schema":"ambl`), 4)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for u, depth := range h.All() {
		all = append(all, fmt.Sprint(u, " ", depth))
	}
	if got, want := strings.Join(all, " "), "http://a.test/whole 0 http://a.test/later 0 http://a.test/again 0 http://a.test/more 3"; got != want || h.Len() != 4 {
		t.Errorf("URLs %s, want %s", got, want)
	}
	for path, tag := range map[string]string{"whole": `"1"`, "later": "", "again": ""} {
		p, ok := h.Past(mustParse(t, "http://a.test/"+path))
		if !ok || p.Validators.ETag != tag {
			t.Errorf("%s: %+v %v", path, p, ok)
		}
	}
	if p, _ := h.Past(mustParse(t, "http://a.test/whole")); p.SHA256[31] != 0xab {
		t.Errorf("hash %x", p.SHA256)
	}
	if _, ok := h.Past(mustParse(t, "http://a.test/cut")); ok {
		t.Error("a page that was cut is known")
	}
	for _, bad := range []string{"x\n", `{"schema":"other/1","url":"http://a.test/"}` + "\n", line(`x"`)[:20] + "\n", `{"schema":"amble.visit/1","url":"mailto:x"}` + "\n", strings.Repeat("x", 17<<20) + "\n"} {
		if _, err := crawler.ReadHistory(strings.NewReader(bad), 0); !errors.Is(err, crawler.ErrHistory) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%.30q: %v", bad, err)
		}
	}
}

// pastOf returns a history of pages with the ETag "1", each at the given depth.
func pastOf(t *testing.T, pages map[string]int) *crawler.Visited {
	t.Helper()
	var text strings.Builder
	for _, u := range slices.Sorted(maps.Keys(pages)) {
		fmt.Fprintf(&text, `{"schema":"amble.visit/1","url":%q,"depth":%d,"outcome":"fetched","status":200,"etag":"\"1\""}`+"\n", u, pages[u])
	}
	past, err := crawler.ReadHistory(strings.NewReader(text.String()), 0)
	if err != nil {
		t.Fatal(err)
	}
	return past
}

// Known pages from an earlier crawl are visited again at their old depth, and only if they are in this crawl's scope.
// Their hosts do not become seed hosts.
func TestSinceKeepsDepthAndScope(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, other := w.Site("http://a.example"), w.Site("http://b.example")
		same := func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("ETag", `"1"`)
			rw.WriteHeader(http.StatusNotModified)
		}
		for _, path := range []string{"/", "/1", "/2", "/3", "/no", "/docs"} {
			s.Handle(path, http.HandlerFunc(same))
		}
		other.Handle("/", http.HandlerFunc(same))
		past := pastOf(t, map[string]int{
			s.URL("/"): 0, s.URL("/1"): 1, s.URL("/2"): 2, s.URL("/3"): 3, s.URL("/no"): 1, s.URL("/x/x/x/x/x"): 1, other.URL("/"): 0,
		})
		rules := []crawler.ScopeRule{{Exclude: true, Pattern: "/no"}}
		rep, v := crawl(t, w, crawler.Config{Since: past, Limits: crawler.Limits{Depth: 2, Pages: 1}, Scope: crawler.ScopeConfig{Rules: rules}}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "not_modified 304", s.URL("/1"): "not_modified 304", s.URL("/2"): "not_modified 304",
		})
		for path, depth := range map[string]int{"/": 0, "/1": 1, "/2": 2} {
			if got := v.by[s.URL(path)].Depth; got != depth {
				t.Errorf("%s at depth %d, want %d", path, got, depth)
			}
		}
		// Unchanged pages do not count towards the page limit.
		if rep.Finish != crawler.FinishDone || rep.Pages != 0 {
			t.Errorf("ended by %s with %d pages", rep.Finish, rep.Pages)
		}
	})
}

// A page with a body counts towards MaxPages; unchanged pages before it do not.
func TestSinceAndMaxPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		pages := map[string]int{s.URL("/"): 0}
		for i := range 6 {
			page := s.Page(fmt.Sprint("/", i), "").Header("ETag", `"1"`)
			if i%2 == 0 {
				page.Status(http.StatusNotModified)
			}
			pages[s.URL(fmt.Sprint("/", i))] = 1
		}
		s.Page("/", "").Status(http.StatusNotModified)
		rep, _ := crawl(t, w, crawler.Config{Since: pastOf(t, pages), Limits: crawler.Limits{Pages: 3, PagesPerHost: 3}}, s.URL("/"))
		if rep.Pages != 3 || rep.Outcomes[crawler.NotModified] != 4 || rep.Left != 0 {
			t.Errorf("%+v", rep)
		}
	})
}

// A resumed crawl does not queue its history twice, because queued URLs count for trap detection.
func TestSinceOfAResumedCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		pages := map[string]int{s.URL("/"): 0}
		for i := range 4 {
			s.Page(fmt.Sprint("/d/", i), links("/d/4")).Header("ETag", `"2"`)
			pages[s.URL(fmt.Sprint("/d/", i))] = 1
		}
		s.Page("/", "").Header("ETag", `"2"`)
		s.Page("/d/4", "")
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Since: pastOf(t, pages), Limits: crawler.Limits{Pages: 1}, Traps: crawler.Traps{PerDir: 5}})
		for c.Limits.Pages = 1; c.Limits.Pages < 10; c.Limits.Pages++ {
			if _, err := j.run(t.Context(), c, s.URL("/")); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(j.records()); n != 6 {
			t.Errorf("%d visits, want 6", n)
		}
	})
}
