package crawler

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Handler is told the fate of every URL. Handle is called concurrently for different URLs, once per
// URL and once more for each [Retry], before the visit goes to the sinks and its links to the
// frontier.
//
// What it adds to the visit counts when it returns nil, [SkipLinks] or [Stop]. Any other error makes
// the visit Failed with ReasonHandler: its links are not followed, and what was enqueued and emitted is
// dropped; the crawl goes on. A panic is such an error. An error that wraps the one of ctx, when ctx
// has ended, is none: the URL stays queued, for the crawl that resumes this one.
type Handler interface {
	Handle(ctx context.Context, v *Visit) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, v *Visit) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, v *Visit) error { return f(ctx, v) }

// SkipLinks is returned by a Handler to keep the visit and follow none of its page's links. What the
// Handler enqueued is.
var SkipLinks = errors.New("crawler: skip links")

// Stop is returned by a Handler to keep the visit and then drain the crawl. It may be joined with
// SkipLinks; joined with any other error neither counts.
var Stop = errors.New("crawler: stop")

// RetryError is returned by a Handler that wants the URL to be fetched again: nothing of this visit
// counts, and the URL goes back to the queue as after a network error. When it has had all its attempts
// (Config.Retries.Max) the visit is Failed with ReasonHandler and this error; when there is no budget for one more
// (RetriesPerHost), with ReasonRetryBudget.
type RetryError struct {
	Err error // the cause; nil: none is named
	// After is the least time until the next attempt, beside the pause that retries have anyway and
	// the host's own. 0: these alone.
	After time.Duration
}

func (e *RetryError) Error() string {
	if e.Err == nil {
		return "crawler: another attempt, please"
	}
	return e.Err.Error()
}

// Unwrap is the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry is a *RetryError: see there.
func Retry(cause error) error { return &RetryError{Err: cause} }

// handle calls the Handler, gives the visit to the loop over Pages, and returns what is to be queued
// after it. When again is not nil nothing of the visit counts and the URL goes back.
func (r *run) handle(ctx context.Context, c frontier.Claim, v *Visit, links []frontier.Request) (_ []frontier.Request, again *frontier.Again) {
	if r.cfg.Handler == nil && r.deliver == nil && v.broken == nil {
		return links, nil
	}
	v.Ended = time.Now()
	v.work = &work{run: r}
	links, again = r.obey(ctx, c, v, links, r.callHandler(ctx, v))
	if again == nil && r.deliver != nil {
		r.deliver(v)
		if err := v.work.failed(); err != nil {
			links = r.spoil(v, links, err)
		}
	}
	extra, data := v.work.end()
	v.data = data
	// The Handler's own come first: what it says of a URL that is also a link holds.
	return append(extra, links...), again
}

// obey does with a visit what the Handler's answer means.
func (r *run) obey(ctx context.Context, c frontier.Claim, v *Visit, links []frontier.Request, answer error) (_ []frontier.Request, again *frontier.Again) {
	if err := v.work.failed(); err != nil {
		return r.spoil(v, links, err), nil
	}
	var retry *RetryError
	switch {
	case !fatal(answer):
		if errors.Is(answer, Stop) {
			r.drain(FinishDrained)
		}
		if errors.Is(answer, SkipLinks) {
			links = r.drop(v, links)
		}
		return links, nil
	case ctx.Err() != nil && (errors.Is(answer, ctx.Err()) || errors.Is(answer, context.Cause(ctx))):
		again = &frontier.Again{}
	case errors.As(answer, &retry) && c.Attempt < r.cfg.Retries.Max:
		if !r.tally.retry(c.URL.Host()) {
			links = r.spoil(v, links, answer)
			v.spent()
			return links, nil
		}
		at := time.Now().Add(max(retry.After, pause(r.cfg.Retries.Pause, c.Attempt)))
		r.cfg.Trace.retrying(c.URL, ReasonHandler, at)
		again = &frontier.Again{NotBefore: at, Retry: true}
	default:
		return r.spoil(v, links, answer), nil
	}
	v.work.undo()
	r.unsame(v)
	return r.drop(v, links), again
}

// fatal reports whether a Handler's answer is a failure: whether it is, wraps or joins anything but
// SkipLinks and Stop.
func fatal(answer error) bool {
	switch e := answer.(type) { //nolint:errorlint // the errors it wraps are looked at one by one
	case nil:
		return false
	case *RetryError, *PanicError:
		return true
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), fatal)
	case interface{ Unwrap() error }:
		return e.Unwrap() == nil || fatal(e.Unwrap())
	}
	return answer != SkipLinks && answer != Stop //nolint:errorlint // likewise
}

// spoil makes the visit one whose handling failed.
func (r *run) spoil(v *Visit, links []frontier.Request, err error) []frontier.Request {
	v.Outcome, v.Err, v.Reason = Failed, err, orPanic(ReasonHandler, err)
	v.work.undo()
	return r.drop(v, links)
}

// drop is what remains of the links when they are not followed. Those of a page were counted as queued
// when they were found.
func (r *run) drop(v *Visit, links []frontier.Request) []frontier.Request {
	if v.linker != nil {
		r.uncount(links)
	}
	return nil
}

func (r *run) callHandler(ctx context.Context, v *Visit) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &PanicError{"Config.Handler", x, debug.Stack()}
		}
	}()
	switch {
	case v.broken != nil:
		return v.broken
	case r.cfg.Handler == nil:
		return nil
	}
	return r.cfg.Handler.Handle(ctx, v)
}
