package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestChainOrder(t *testing.T) {
	var got []string
	around := func(name string) crawler.Middleware {
		return func(h crawler.Handler) crawler.Handler {
			return crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
				got = append(got, "in "+name)
				err := h.Handle(ctx, v)
				got = append(got, "out "+name)
				return err
			})
		}
	}
	h := crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { got = append(got, "handler"); return crawler.Stop })
	if err := crawler.Chain(h, around("first"), around("second")).Handle(t.Context(), visitOf(t, "http://a.example/")); !errors.Is(err, crawler.Stop) {
		t.Error(err)
	}
	same(t, got, "in first", "in second", "handler", "out second", "out first")
}

func TestOnly(t *testing.T) {
	calls := 0
	h := crawler.Chain(crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { calls++; return nil }), crawler.Only(crawler.Fetched))
	for _, o := range []crawler.Outcome{crawler.Fetched, crawler.Refused, crawler.Failed} {
		if err := h.Handle(t.Context(), &crawler.Visit{Outcome: o}); err != nil {
			t.Error(err)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// TestTimeoutFailsTheVisit: a handler that exceeds the timeout fails its visit, and the crawl continues.
func TestTimeoutFailsTheVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/quick"))
		s.Page("/quick", "")
		h := crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
			_ = v.Emit("work")
			if v.URL.Path() == "/quick" {
				return nil
			}
			_ = v.Enqueue(crawler.Request{URL: "/quick"})
			<-ctx.Done()
			return ctx.Err()
		})
		_, got := run(t, w, crawler.Config{Handler: crawler.Chain(h, crawler.Timeout(time.Minute))}, s.URL("/"), s.URL("/quick"))
		same(t, got, `/ failed handler_error`, `/quick fetched "work"`)
	})
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, done := 0, 0, 0
		h := crawler.Chain(crawler.HandlerFunc(func(context.Context, *crawler.Visit) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			done++
			mu.Unlock()
			return nil
		}), crawler.MaxCalls(3))
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _ = h.Handle(ctx, nil) })
		}
		wg.Wait()
		if most != 3 || done != 10 {
			t.Errorf("%d at once, %d done", most, done)
		}
		cancel()
		full := crawler.MaxCalls(0)(crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
			time.Sleep(time.Hour)
			return nil
		}))
		wg.Go(func() { _ = full.Handle(context.Background(), nil) })
		synctest.Wait()
		if err := full.Handle(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wg.Wait()
	})
}

// logTo returns a logger without times, so that its lines can be compared.
func logTo(b *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLogging(t *testing.T) {
	var b bytes.Buffer
	for _, answer := range []error{nil, crawler.Stop, errors.New("no")} {
		h := crawler.Chain(crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return answer }), crawler.Logging(logTo(&b, slog.LevelInfo)))
		synctest.Test(t, func(t *testing.T) {
			if err := h.Handle(t.Context(), visitOf(t, "http://a.example/")); !errors.Is(err, answer) {
				t.Error(err)
			}
		})
	}
	same(t, strings.Split(strings.TrimSpace(b.String()), "\n"),
		`level=INFO msg="visit handled" url=http://a.example/ outcome=fetched status=200 took=0s`,
		`level=INFO msg="visit handled" url=http://a.example/ outcome=fetched status=200 took=0s`,
		`level=WARN msg="visit not handled" url=http://a.example/ outcome=fetched status=200 took=0s error=no`)
}

// TestHandlerReturnValues checks a handler's return values SkipLinks and Stop, also when wrapped or joined.
func TestHandlerReturnValues(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		answer  error
		outcome string
		finish  crawler.Finish
		links   bool
	}{
		"nil":              {nil, "fetched", crawler.FinishDone, true},
		"skip":             {fmt.Errorf("uninteresting: %w", crawler.SkipLinks), "fetched", crawler.FinishDone, false},
		"stop":             {fmt.Errorf("enough: %w", crawler.Stop), "fetched", crawler.FinishDrained, true},
		"stop and skip":    {errors.Join(crawler.Stop, crawler.SkipLinks), "fetched", crawler.FinishDrained, false},
		"stop and error":   {errors.Join(no, crawler.Stop), "failed handler_error", crawler.FinishDone, false},
		"skip and error":   {fmt.Errorf("%w, %w", crawler.SkipLinks, no), "failed handler_error", crawler.FinishDone, false},
		"error":            {no, "failed handler_error", crawler.FinishDone, false},
		"without a cause":  {&crawler.EnqueueError{}, "failed handler_error", crawler.FinishDone, false},
		"retry with stop":  {crawler.Retry(crawler.Stop), "failed handler_error", crawler.FinishDone, false},
		"a foreign cancel": {context.Canceled, "failed handler_error", crawler.FinishDone, false},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/link"))
				s.Page("/link", "")
				h := func(_ context.Context, v *crawler.Visit) error {
					if v.Depth > 0 {
						return nil
					}
					return c.answer
				}
				rep, got := run(t, w, crawler.Config{Handler: crawler.HandlerFunc(h), Retries: crawler.Retries{Max: crawler.Zero}, Concurrency: 1}, s.URL("/"))
				want := []string{"/ " + c.outcome}
				if c.links && c.finish == crawler.FinishDone {
					want = append(want, "/link fetched")
				}
				same(t, got, want...)
				if rep.Finish != c.finish || (rep.Left > 0) != (c.links && c.finish == crawler.FinishDrained) {
					t.Errorf("%s, %d left", rep.Finish, rep.Left)
				}
			})
		})
	}
}
