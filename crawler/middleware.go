package crawler

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// Middleware wraps a Handler.
type Middleware func(Handler) Handler

// Chain wraps h in middleware. The first is outermost: it is called first and returns last.
func Chain(h Handler, around ...Middleware) Handler {
	for _, m := range slices.Backward(around) {
		h = m(h)
	}
	return h
}

// Only passes to the Handler only the visits with these outcomes. All others are kept without it.
func Only(outcomes ...Outcome) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			if !slices.Contains(outcomes, v.Outcome) {
				return nil
			}
			return h.Handle(ctx, v)
		})
	}
}

// Timeout gives each call a context that ends after d. The Handler must observe it: nothing else can end a
// call, because the visit belongs to the Handler until it returns.
func Timeout(d time.Duration) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return h.Handle(ctx, v)
		})
	}
}

// Limit lets at most n calls (at least one) run at once, for Handlers that need a scarce resource. Other
// calls wait, and so do the hosts their pages came from. When the crawl is cancelled they return its
// context's error, and their URLs stay queued.
func Limit(n int) Middleware {
	places := make(chan struct{}, max(1, n))
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-places }()
			return h.Handle(ctx, v)
		})
	}
}

// Logging writes a record for each call: "visit handled" at level Info, or "visit not handled" at level
// Warn with the error. [SkipLinks] and [Stop] are not errors. The attributes are url, outcome, status,
// took, and error.
func Logging(l *slog.Logger) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			began := time.Now()
			err := h.Handle(ctx, v)
			attrs := []slog.Attr{
				slog.String("url", v.URL.String()), slog.String("outcome", string(v.Outcome)), slog.Int("status", v.Status()),
				slog.Duration("took", time.Since(began)),
			}
			if fatal(err) {
				l.LogAttrs(ctx, slog.LevelWarn, "visit not handled", append(attrs, slog.Any("error", err))...)
			} else {
				l.LogAttrs(ctx, slog.LevelInfo, "visit handled", attrs...)
			}
			return err
		})
	}
}
