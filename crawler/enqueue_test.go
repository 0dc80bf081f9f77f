package crawler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// run crawls w with a handler, one worker at a time, and returns what the sinks had: "url outcome
// reason data", in order.
func run(t *testing.T, w *crawltest.Web, c crawler.Config, seeds ...string) (*crawler.Report, []string) {
	t.Helper()
	var out bytes.Buffer
	c = config(w, c)
	c.Sinks = append(c.Sinks, sink.NewJSONL(&out))
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return rep, recordLines(t, out.String())
}

func recordLines(t *testing.T, jsonl string) (lines []string) {
	t.Helper()
	for l := range strings.Lines(jsonl) {
		var r sink.Record
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		path := r.URL[strings.Index(r.URL, ".example")+len(".example"):]
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", path, r.Outcome, r.Reason))
		for _, d := range r.Data {
			line += " " + string(d)
		}
		lines = append(lines, line)
	}
	return lines
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// repeats lets the auditor accept what a handler asked for again.
func repeats(w *crawltest.Web) {
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
}

func TestEnqueue(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
		s.Page("/dir/", `<base href="/other/">`+links("/link"))
		for _, p := range []string{"/link", "/other/low", "/other/high", "/next"} {
			s.Page(p, "")
		}
		var got []string
		h := func(_ context.Context, v *crawler.Visit) error {
			got = append(got, fmt.Sprintf("%s depth %d via %q meta %q", v.URL.Path(), v.Depth, v.Via.Path(), v.Meta))
			if v.Depth > 0 || v.Via != v.URL && !v.Via.IsZero() {
				return nil
			}
			meta := []byte("of low")
			err := errors.Join(
				v.Enqueue(crawler.Request{URL: "low", Priority: -1, Meta: meta}),
				v.Enqueue(crawler.Request{URL: "high", Priority: 9}),
				v.Enqueue(crawler.Request{URL: "/private/x"}),
				v.Enqueue(crawler.Request{URL: "/link", Meta: []byte("a link as well")}),
				v.Enqueue(crawler.Request{URL: s.URL("/next"), SameDepth: true, Priority: 1}),
				v.Enqueue(crawler.Request{URL: s.URL("/dir/")}), // known: nothing happens
			)
			copy(meta, "changed")
			return err
		}
		rep, _ := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Concurrency: 1}, s.URL("/dir/"))
		same(t, got,
			`/dir/ depth 0 via "" meta ""`,
			`/other/high depth 1 via "/dir/" meta ""`,
			`/next depth 0 via "/dir/" meta ""`,
			`/private/x depth 1 via "/dir/" meta ""`,
			`/link depth 1 via "/dir/" meta "a link as well"`,
			`/other/low depth 1 via "/dir/" meta "of low"`,
		)
		if rep.Pages != 5 || rep.Reasons["robots_disallow"] != 1 {
			t.Errorf("report %+v", rep)
		}
	})
}

func TestEnqueueIsJudged(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/deep", "/nofollow"))
		s.Page("/deep", "")
		s.Page("/nofollow", `<meta name=robots content=nofollow>`)
		s.Page("/x?q=1", "")
		s.Page("/y", "")
		fates := map[string]crawler.Fate{}
		h := func(_ context.Context, v *crawler.Visit) error {
			ask := func(ref string) {
				err := v.Enqueue(crawler.Request{URL: ref})
				var e *crawler.EnqueueError
				switch {
				case errors.As(err, &e):
					fates[v.URL.Path()+" "+ref] = e.Fate
					if e.Ref != ref || e.Rule == "" || (e.Fate == crawler.FateInvalid) != e.URL.IsZero() {
						t.Errorf("%+v", e)
					}
				case err != nil:
					t.Error(err)
				}
			}
			switch v.URL.Path() {
			case "/":
				for _, ref := range []string{"http://b.example/", "mailto:x@y.example", "/a/a/a/a", "/x?q=1", "/x?q=2", "/y", "/z"} {
					ask(ref)
				}
			case "/deep", "/nofollow":
				ask("/y?")
			}
			return nil
		}
		run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Limits: crawler.Limits{Depth: 1, LinksPerPage: 2}, Traps: crawler.Traps{Queries: 1}}, s.URL("/"))
		want := map[string]crawler.Fate{
			"/ http://b.example/": crawler.FateScope, "/ mailto:x@y.example": crawler.FateInvalid, "/ /a/a/a/a": crawler.FateTrap,
			"/ /x?q=2": crawler.FateTrap, "/ /z": crawler.FateLimit, "/deep /y?": crawler.FateDepth, "/nofollow /y?": crawler.FateNoFollow,
		}
		if fmt.Sprint(fates) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", fates, want)
		}
	})
}

// TestFailedHandlerLeavesNothing: whichever way a handler fails after it has emitted and enqueued, no
// result is written and nothing is queued.
func TestFailedHandlerLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(v *crawler.Visit) error
		reason string
	}{
		"error":     {func(*crawler.Visit) error { return errors.New("no") }, "handler_error"},
		"panic":     {func(*crawler.Visit) error { panic("no") }, "panic"},
		"bad value": {func(v *crawler.Visit) error { _ = v.Emit(func() {}); return nil }, "handler_error"},
		"and stop":  {func(v *crawler.Visit) error { _ = v.Emit(func() {}); return crawler.Stop }, "handler_error"},
		"retry":     {func(*crawler.Visit) error { return crawler.Retry(nil) }, "handler_error"},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/link"))
				s.Page("/link", "")
				s.Page("/extra", "")
				h := func(_ context.Context, v *crawler.Visit) error {
					if err := errors.Join(v.Emit("half a result"), v.Enqueue(crawler.Request{URL: "/extra"})); err != nil {
						t.Error(err)
					}
					return c.fail(v)
				}
				_, got := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Retries: crawler.Retries{Max: crawler.None}}, s.URL("/"))
				same(t, got, "/ failed "+c.reason)
			})
		})
	}
}

// TestRetryRepeatsNothing: a handler that asks for another attempt twice, after it has emitted and
// enqueued, leaves one record, one result and one visit of each URL, no sooner than the host's pause
// allows, and the attempts that do not count take nothing of a limit.
func TestRetryRepeatsNothing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "the same each time "+links("/l?1", "/l?2", "/l?3"))
		for _, p := range []string{"/l?1", "/l?2", "/l?3", "/e?1", "/e?2"} {
			s.Page(p, p)
		}
		attempts := 0
		var began []time.Time
		h := func(_ context.Context, v *crawler.Visit) error {
			if v.URL.Path() != "/" {
				return nil
			}
			began = append(began, v.Started)
			attempts++
			err := errors.Join(v.Emit(attempts), v.Enqueue(crawler.Request{URL: "/e?1"}), v.Enqueue(crawler.Request{URL: "/e?2"}))
			if attempts < 3 {
				return fmt.Errorf("not yet: %w", &crawler.RetryError{Err: err, After: time.Minute})
			}
			return err
		}
		c := config(w, crawler.Config{Handler: crawler.HandlerFunc(h), Concurrency: 1, Limits: crawler.Limits{Pages: 6, PagesPerHost: 6}, Traps: crawler.Traps{Queries: 3}, Duplicates: crawler.Duplicates{Same: 1}})
		repeats(w)
		var out bytes.Buffer
		c.Sinks = []sink.Sink{sink.NewJSONL(&out)}
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, recordLines(t, out.String()), "/ fetched 3", "/e?1 fetched", "/e?2 fetched", "/l?1 fetched", "/l?2 fetched", "/l?3 fetched")
		if rep.Pages != 6 || rep.Requests != 9 || rep.Same != 0 || rep.Outcomes[crawler.Fetched] != 6 {
			t.Errorf("report %+v", rep)
		}
		for i := 1; i < len(began); i++ {
			if d := began[i].Sub(began[i-1]); d < time.Minute {
				t.Errorf("attempt %d came %v after the one before", i, d)
			}
		}
	})
}

func TestRetryEndsWithTheAttempts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		cause := errors.New("the database is away")
		var attempts []int
		h := func(_ context.Context, v *crawler.Visit) error {
			attempts = append(attempts, v.Attempt)
			return crawler.Retry(cause)
		}
		var last *crawler.Visit
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(h), Retries: crawler.Retries{Max: 2}, Trace: &crawler.Trace{Visited: func(v *crawler.Visit) { last = v }},
		})
		repeats(w)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(attempts, []int{0, 1, 2}) || last.Outcome != crawler.Failed || !errors.Is(last.Err, cause) {
			t.Errorf("attempts %v, then %s %v", attempts, last.Outcome, last.Err)
		}
	})
}

// TestMetaArrives: what is said of a URL comes with its visit, also when the server made it wait, when
// it was moved, and when the handler wanted it again.
func TestMetaArrives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		s.Redirect("/moved", "/moved-again")
		s.Redirect("/moved-again", "/target")
		s.Page("/target", "").Fault(crawltest.RetryAfter(503, time.Second).First(1))
		s.Page("/seed", "")
		metas := map[string]string{}
		again := true
		h := func(_ context.Context, v *crawler.Visit) error {
			metas[v.URL.Path()] = string(v.Meta)
			switch v.URL.Path() {
			case "/":
				return v.Enqueue(crawler.Request{URL: "/moved", Meta: []byte("M")})
			case "/target":
				if again {
					again = false
					return crawler.Retry(nil)
				}
			}
			return nil
		}
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(h), Seeds: []crawler.Request{{URL: s.URL("/seed"), Meta: []byte("S")}},
		})
		repeats(w)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/"), s.URL("/seed")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"/": "", "/seed": "S", "/moved": "M", "/moved-again": "M", "/target": "M"}
		if fmt.Sprint(metas) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", metas, want)
		}
	})
}

func TestSeedsHavePriority(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		for _, p := range []string{"/1", "/2", "/3"} {
			s.Page(p, "")
		}
		c := crawler.Config{Concurrency: 1, Seeds: []crawler.Request{{URL: s.URL("/1")}, {URL: s.URL("/2"), Priority: 5}}}
		_, got := run(t, w, c, s.URL("/3"))
		same(t, got, "/2 fetched", "/1 fetched", "/3 fetched")
	})
}

func TestSeedsAreValidated(t *testing.T) {
	err := crawler.Config{
		Seeds: []crawler.Request{{URL: "http://a.example/"}, {URL: "/relative"}}, Limits: crawler.Limits{Pages: -7, Bytes: -1}, Sinks: []sink.Sink{nil},
	}.Validate()
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var fields []string
	for _, err := range all.Unwrap() {
		var c *crawler.ConfigError
		if errors.As(err, &c) {
			fields = append(fields, c.Field+" "+c.Problem)
		}
	}
	same(t, fields, `Seeds[1].URL is no URL to crawl: weburl: url_syntax: "/relative"`, "Limits.Pages is -7: must be 1 or more, or None",
		"Limits.Bytes is -1: must not be negative", "Sinks[0] is nil")
	var bad *weburl.Error
	if !errors.As(err, &bad) {
		t.Errorf("%v does not wrap weburl's error", err)
	}
}

func TestSkipLinksKeepsWhatWasEnqueued(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/link"))
		s.Page("/extra", "")
		h := func(_ context.Context, v *crawler.Visit) error {
			if v.URL.Path() == "/" {
				return errors.Join(v.Enqueue(crawler.Request{URL: "/extra"}), v.Emit("kept"), crawler.SkipLinks)
			}
			return nil
		}
		_, got := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h)}, s.URL("/"))
		same(t, got, `/ fetched "kept"`, "/extra fetched")
	})
}

// TestCanceledHandlerKeepsItsURL: a crawl that is broken off while a handler works has the URL again
// when it goes on.
func TestCanceledHandlerKeepsItsURL(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		var calls atomic.Int32
		h := func(ctx context.Context, v *crawler.Visit) error {
			if calls.Add(1) > 1 {
				return v.Emit("whole")
			}
			_ = v.Emit("half")
			<-ctx.Done()
			return fmt.Errorf("storing: %w", ctx.Err())
		}
		var out bytes.Buffer
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(h), Frontier: frontier.NewMemory(frontier.MemoryConfig{}), Sinks: []sink.Sink{sink.NewJSONL(&out)},
		})
		repeats(w)
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if rep, err := cr.Run(ctx, s.URL("/")); !errors.Is(err, context.DeadlineExceeded) || rep.Left != 1 {
			t.Fatalf("%+v, %v", rep, err)
		}
		if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		same(t, recordLines(t, out.String()), `/ fetched "whole"`)
	})
}

func TestPriority(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a", "/b", "/c", "/", "http://out.example/"))
		s.Page("/a", links("/b", "/"))
		s.Page("/b", links("/a"))
		s.Page("/c", "")
		var asked []string
		c := crawler.Config{Concurrency: 1, Priority: func(v *crawler.Visit, l *crawler.Link) int8 {
			asked = append(asked, v.URL.Path()+" "+l.URL.Path()+" "+string(l.Fate)+" "+l.Ref)
			return int8(l.URL.Path()[1])
		}}
		_, got := run(t, w, c, s.URL("/"))
		same(t, got, "/ fetched", "/c fetched", "/b fetched", "/a fetched")
		same(t, asked, "/ /a follow /a", "/ /b follow /b", "/ /c follow /c")
	})
}

func TestPriorityThatPanicsFailsTheVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/a"))
		s.Page("/a", "")
		_, got := run(t, w, crawler.Config{Priority: func(*crawler.Visit, *crawler.Link) int8 { panic("no") }}, s.URL("/"))
		same(t, got, "/ failed panic")
	})
}

// TestPagesIsAHandlerToo: the loop's body may add to the visit, and only while it has it.
func TestPagesIsAHandlerToo(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		s.Page("/extra", "")
		var out bytes.Buffer
		c := config(w, crawler.Config{Sinks: []sink.Sink{sink.NewJSONL(&out)}})
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var last *crawler.Visit
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(v.Emit(v.Depth), v.Enqueue(crawler.Request{URL: "/extra"})); err != nil {
				t.Error(err)
			}
			last = v
		}
		same(t, recordLines(t, out.String()), "/ fetched 0", "/extra fetched 1")
		if err := last.Emit(1); !errors.Is(err, crawler.ErrOver) {
			t.Error(err)
		}
		if err := last.Enqueue(crawler.Request{URL: "/more"}); !errors.Is(err, crawler.ErrOver) {
			t.Error(err)
		}
	})
}

// TestRetryCountsABodyOnce: a page that is fetched again is no further page with the same body, or /4 were one too many.
func TestRetryCountsABodyOnce(t *testing.T) {
	for name, c := range map[string]crawler.Config{"same": {Duplicates: crawler.Duplicates{Same: 3, Soft: crawler.None}}, "soft": {Duplicates: crawler.Duplicates{Soft: 3}}} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				var seeds []string
				for _, p := range []string{"/1", "/2", "/3", "/4"} {
					s.Page(p, "the same")
					seeds = append(seeds, s.URL(p))
				}
				c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
					if v.URL.Path() == "/2" && v.Attempt < 2 {
						return crawler.Retry(nil)
					}
					return nil
				})
				c.Concurrency, c.Retries.Pause, c.Limits.Depth = 1, time.Millisecond, crawler.SeedsOnly
				var out bytes.Buffer
				c.Sinks = []sink.Sink{sink.NewJSONL(&out)}
				cr := newCrawler(t, w, c)
				repeats(w)
				if _, err := cr.Run(t.Context(), seeds...); err != nil {
					t.Fatal(err)
				}
				reason := map[string]string{"same": "same_body", "soft": "soft_404"}[name]
				same(t, recordLines(t, out.String()), "/1 fetched", "/3 fetched", "/4 fetched", "/2 duplicate "+reason) // /2 comes last again
			})
		})
	}
}
