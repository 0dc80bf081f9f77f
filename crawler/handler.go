package crawler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Handler receives the outcome of every URL. Handle is called concurrently for different URLs, once per
// URL and once more for each [Retry], before the visit goes to the sinks and its links to the
// frontier.
//
// A Handler may add URLs with priority and metadata ([Visit.Enqueue]), add results to the visit's record
// ([Visit.Emit]), skip the page's links ([SkipLinks]), end the crawl ([Stop]) or request another attempt
// ([Retry]). All of it belongs to the end of the visit and counts as a whole or not at all: a Handler that
// fails, panics or is cancelled halfway leaves nothing behind, and one that is called again repeats
// nothing. For effects elsewhere, for example in a database, the Handler itself must ensure the same.
//
// What it adds to the visit counts when it returns nil, [SkipLinks] or [Stop]. Any other error makes the
// visit Failed with ReasonHandler: its links are not followed, and what was enqueued and emitted is
// dropped; the crawl continues. A panic counts as such an error. An error that wraps the error of ctx, when
// ctx has ended, does not: the URL stays queued, for the crawl that resumes this one.
type Handler interface {
	Handle(ctx context.Context, v *Visit) error
}

// HandlerFunc is an adapter that makes a function a Handler.
type HandlerFunc func(ctx context.Context, v *Visit) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, v *Visit) error { return f(ctx, v) }

// Errors by which a Handler keeps the visit and changes what follows it.
var (
	// SkipLinks follows none of the page's links. URLs that the Handler enqueued are still queued.
	SkipLinks = errors.New("crawler: skip links")
	// Stop drains the crawl; [StopBecause] adds why. It may be joined with SkipLinks; if it is joined with any
	// other error, neither applies.
	Stop = errors.New("crawler: stop")
)

// StopBecause returns a Stop with its reason, which becomes [Report.Stopped]. Of a longer text, the first 300 bytes
// are kept. If several Handlers stop a crawl, the first reason stands.
func StopBecause(reason string) error { return &stopError{reason} }

// stopError is Stop with a reason.
type stopError struct{ reason string }

func (e *stopError) Error() string { return "crawler: stop: " + e.reason }

func (e *stopError) Unwrap() error { return Stop }

// stopReason returns the reason of an error that is, wraps or joins Stop; "" if none was given.
func stopReason(err error) string {
	const most = 300
	var e *stopError
	if !errors.As(err, &e) {
		return ""
	}
	return strings.ToValidUTF8(e.reason[:min(len(e.reason), most)], "")
}

// RetryError is returned by a Handler to have the URL fetched again: nothing of this visit counts, and the
// URL returns to the queue as after a network error. When it has had all its attempts (Config.Retries.Max),
// the visit is Failed with ReasonHandler and this error; when there is no budget for another one
// (RetriesPerHost), with reasonRetryBudget.
type RetryError struct {
	Err error // the cause; may be nil
	// After is the least time until the next attempt, if it is longer than the pause before retries and
	// the host's delay. 0: these alone.
	After time.Duration
}

func (e *RetryError) Error() string {
	if e.Err == nil {
		return "crawler: another attempt is requested"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// Retry returns a *RetryError with this cause.
func Retry(cause error) error { return &RetryError{Err: cause} }

// fatal reports whether a Handler's answer is a failure: whether it is, wraps or joins anything other than
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
