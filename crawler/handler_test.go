package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
)

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

// TestFailedHandlerLeavesNothing: if a handler fails in any way after Emit and Enqueue, no result is written and
// nothing is queued.
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
				_, got := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Retries: crawler.Retries{Max: crawler.Zero}}, s.URL("/"))
				same(t, got, "/ failed "+c.reason)
			})
		})
	}
}

// TestRetryRepeatsNothing: a handler asks for two retries after Emit and Enqueue. Each URL gets one record, one result
// and one visit. Retries keep the host's pause and use up no limit.
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
				t.Errorf("attempt %d came %v after the previous one", i, d)
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

// TestCanceledHandlerKeepsItsURL: if a crawl is cancelled while a handler runs, the URL is visited again after
// resuming.
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
