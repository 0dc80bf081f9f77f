package crawler

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/amble-crawler/amble/weburl"
)

// VisitError is a visit that failed, as [Collect] reports it: its page could not be fetched, or the
// function given to Collect or the Crawler's Handler returned the error.
type VisitError struct {
	URL    weburl.URL
	Reason string // Visit.Reason
	Err    error  // Visit.Err; may be nil
}

func (e *VisitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("crawler: %s: %s", e.URL, e.Reason)
	}
	return fmt.Sprintf("crawler: %s: %s: %v", e.URL, e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *VisitError) Unwrap() error { return e.Err }

// Collect runs a crawl and yields what read makes of its pages, one value at a time:
//
//	for article, err := range crawler.Collect(ctx, c, read, "https://site.to.crawl/") {
//
// Collect calls read for each page that was fetched with a status from 200 to 299, after c's Handler if it
// has one; read returns the page's values, nil for none. It is part of the Handler: it is called
// concurrently, it may use Visit.Enqueue and Visit.Emit, and it may return SkipLinks, Stop or a Retry. If
// it fails, none of its values is yielded; the values of a page that is read again are yielded once.
//
// A visit that failed, because of the network or of read, is yielded as a *VisitError, and the crawl
// continues. Any other error is the one of Run, and is the last. URLs that were refused, deferred or
// rejected are not errors: use c's Handler, the sinks or Trace to see them. Breaking out of the loop drains
// the crawl.
//
// If c has sinks, each value is also a result of its visit, as if read had given it to Visit.Emit: with [sink.NewItems],
// [sink.NewCSV] or a table of package sink/sqlite among them, the values are in a file, each once even if the crawl is killed
// and resumed, while the loop sees only those of this process. A value that is not JSON then fails its visit.
//
// The loop's body gets the values of one page at a time, while the page's host waits: a slow body makes the
// crawl slow.
func Collect[T any](ctx context.Context, c *Crawler, read func(context.Context, *Visit) ([]T, error), seeds ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		reading := func(cfg *Config) { cfg.Handler = reader(cfg.Handler, read, len(cfg.Sinks) > 0) }
		for v, err := range c.pages(ctx, reading, seeds) {
			var none T
			switch {
			case err != nil:
				yield(none, err)
				return
			case v.Outcome == Failed:
				if !yield(none, &VisitError{v.URL, v.Reason, v.Err}) {
					return
				}
				continue
			}
			values, _ := v.results.([]T)
			for _, x := range values {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// reader returns a Handler that does what h does, keeps the values that read returns, and emits them if that is wanted.
func reader[T any](h Handler, read func(context.Context, *Visit) ([]T, error), emit bool) Handler {
	return HandlerFunc(func(ctx context.Context, v *Visit) error {
		var err error
		if h != nil {
			err = h.Handle(ctx, v)
		}
		if fatal(err) || !had.holds(v) {
			return err
		}
		values, err2 := read(ctx, v)
		v.results = values
		for i := 0; emit && i < len(values) && !fatal(err2); i++ {
			err2 = errors.Join(err2, v.Emit(values[i]))
		}
		return errors.Join(err, err2)
	})
}
