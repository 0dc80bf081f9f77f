package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Handler receives the outcome of every URL. Handle is called concurrently for different URLs, once per URL and once more for each
// [Retry], before the visit goes to the sinks and its links to the frontier.
//
// A Handler may add URLs with priority and metadata ([Visit.Enqueue]), add results to the visit's record ([Visit.Emit]), skip the page's
// links ([SkipLinks]), end the crawl ([Stop]) or request another attempt ([Retry]). All of this takes effect with the end of the visit,
// completely or not at all: a Handler that fails, panics or is cancelled has no effect, and if a Handler is called again for a visit,
// nothing of the earlier call remains. For effects elsewhere, for example in a database, the Handler itself must ensure the same.
//
// The additions to a visit take effect if the Handler returns nil, [SkipLinks] or [Stop]. Any other error makes the visit Failed with
// ReasonHandler: its links are not followed, and enqueued URLs and emitted results are dropped; the crawl continues. A panic counts as
// such an error. An error that wraps the error of ctx, after ctx has ended, does not fail the visit: the URL stays queued, for the crawl
// that resumes this one.
type Handler interface {
	Handle(ctx context.Context, v *Visit) error
}

// HandlerFunc is an adapter that makes a function a Handler.
type HandlerFunc func(ctx context.Context, v *Visit) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, v *Visit) error { return f(ctx, v) }

// StopError is returned by a Handler to end the crawl as [Stop] does, for a stated reason.
type StopError struct {
	Reason string // becomes [Report.Stopped], cut to 300 bytes; if several Handlers stop a crawl, the first reason is kept
}

// StopBecause returns a StopError with the reason.
func StopBecause(reason string) *StopError { return &StopError{Reason: reason} }

func (e *StopError) Error() string { return "crawler: stop: " + e.Reason }

func (e *StopError) Unwrap() error { return Stop }

// stopReason returns the reason in an error that is, wraps or joins Stop. It returns "" if no reason was given.
func stopReason(err error) string {
	const limit = 300
	var e *StopError
	if !errors.As(err, &e) {
		return ""
	}
	return strings.ToValidUTF8(e.Reason[:min(len(e.Reason), limit)], "")
}

// RetryError is returned by a Handler to have the URL fetched again: this visit has no effect, and the URL returns to the queue as after
// a network error. If no attempts are left (Config.Retries.Max), the visit is Failed with ReasonHandler and this error; if the retry
// budget is used up (RetriesPerHost), it is Failed with reasonRetryBudget.
type RetryError struct {
	Err error // the cause; may be nil
	// After is the minimum time until the next attempt, if it is longer than the pause before retries and the host's delay. 0: only that
	// pause and that delay apply.
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
func Retry(cause error) *RetryError { return &RetryError{Err: cause} }

// fatal reports whether the error that a Handler returned fails the visit: it is, wraps or joins an error other than SkipLinks and Stop.
func fatal(answer error) bool {
	switch e := answer.(type) { //nolint:errorlint // wrapped errors are examined one by one
	case nil:
		return false
	case *RetryError, *PanicError:
		return true
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), fatal)
	case interface{ Unwrap() error }:
		return e.Unwrap() == nil || fatal(e.Unwrap())
	}
	return answer != SkipLinks && answer != Stop //nolint:errorlint // wrapped errors were examined above
}

// Request is a URL for the crawl with its attributes: a seed ([Config.Seeds]) or a URL that a Handler adds
// ([Visit.Enqueue]).
type Request struct {
	URL      string  // absolute, or relative to the visit's page, like a link on it
	Priority int8    // higher comes earlier within the host; links have 0 unless Config.Priority returns another. With an Order by hash: 0
	Score    float64 // higher comes earlier within the priority; links have 0 unless Config.Score returns another
	Meta     []byte  // data of the caller: Visit.Meta of the URL's visit, even after retries and redirects
	// SameDepth gives the URL the depth of the visit, for example for the next page of a list. Otherwise it is one deeper, like a link.
	// It has no effect on seeds.
	SameDepth bool
}

// EnqueueError reports why a Handler's Request does not enter the crawl.
type EnqueueError struct {
	Ref  string     // Request.URL
	URL  weburl.URL // zero with FateInvalid
	Fate Fate       // the fate that a link with the same URL would have had
	Rule string     // rule that rejected the URL
	Err  error      // with FateInvalid: a *weburl.Error, or nil for a URL that is too long
}

func (e *EnqueueError) Error() string {
	return fmt.Sprintf("crawler: %q is not queued: %s (%s)", e.Ref, e.Fate, e.Rule)
}

// Unwrap returns the cause, nil if a rule decided.
func (e *EnqueueError) Unwrap() error { return e.Err }

// Enqueue adds a URL to the crawl in addition to the page's links. It is judged like a link: a page's nofollow,
// Config.Limits.LinksPerPage, the form and length of URLs, depth, scope and traps are checked here, and the *EnqueueError names the
// rule that rejected the URL. robots.txt and pacing are applied later, as for any URL. A URL that is already known is unchanged,
// without an error, except that a higher Priority or Score raises one that is queued (frontier.Frontier, F20). With a Config.Order
// by hash, the order sets the priority, and q.Priority is ignored. rel=nofollow, Config.Scope.Beyond, Config.Priority and
// Config.Score concern links and do not apply.
//
// The additions are queued together with the visit's end if the Handler returns nil, [Stop] or [SkipLinks], and dropped if it
// fails, panics or requests another attempt. Enqueue may be called concurrently. After the Handler has returned, the error is
// [ErrOver].
func (v *Visit) Enqueue(q Request) error {
	if v.work == nil {
		return ErrOver
	}
	return v.work.enqueue(v, q)
}

// Emit adds a result to the visit: x as JSON, which the sinks get as an element of Record.Data. Results are written with the visit
// or not at all, so that a crawl that is killed and resumed has each result once.
//
// Emit marshals x immediately. The error is encoding/json's, or [ErrOver]; a visit with a result that cannot be marshalled fails,
// whatever the Handler returns. Emit may be called concurrently.
func (v *Visit) Emit(x any) error {
	if v.work == nil {
		return ErrOver
	}
	return v.work.emit(x)
}

// work collects a Handler's additions to a visit until it is known whether they count.
type work struct {
	judge *judge
	share *share // share of the visit's page

	mu     sync.Mutex
	extra  []frontier.Request
	raises []frontier.Request // Requests for known URLs that only raise their priority; trapCounts does not count them
	data   []json.RawMessage
	err    error // error of a result that could not be marshalled
	over   bool
}

func (w *work) enqueue(v *Visit, q Request) error {
	u, err := v.target(q.URL)
	if err != nil {
		return &EnqueueError{Ref: q.URL, Fate: FateInvalid, Rule: weburl.ReasonOf(err), Err: err}
	}
	depth := v.Depth + 1
	if q.SameDepth {
		depth = v.Depth
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return ErrOver
	}
	known := w.judge.knows(u, depth, lowest)
	if fate, rule := w.decide(v, u, depth, known); fate != FateFollow {
		return &EnqueueError{Ref: q.URL, URL: u, Fate: fate, Rule: rule}
	}
	r := frontier.Request{URL: u, Depth: depth, Priority: w.judge.priorities.request(u, q.Priority), Score: q.Score, Via: v.URL, Meta: slices.Clone(q.Meta)}
	switch {
	case !known:
		w.extra = append(w.extra, r)
	case len(w.raises) < w.judge.cfg.Limits.LinksPerPage && (r.Score != 0 || !w.judge.knows(u, depth, r.Priority)):
		w.raises = append(w.raises, r)
	}
	return nil
}

func (w *work) decide(v *Visit, u weburl.URL, depth int, known bool) (Fate, string) {
	switch {
	case v.Directives.NoFollow:
		return FateNoFollow, "page nofollow"
	case len(w.extra) >= w.judge.cfg.Limits.LinksPerPage:
		return FateLimit, "MaxLinks"
	}
	d := w.judge.admissible(u, depth, frontier.KindPage)
	if d.fate != FateFollow || known {
		return d.fate, d.rule
	}
	if !w.judge.room().has(u) {
		return FateFull, "the queue has no room for it"
	}
	if trap := w.judge.trapCounts.enter(u); trap != "" {
		return FateTrap, trap
	}
	return FateFollow, ""
}

func (w *work) emit(x any) error {
	b, err := json.Marshal(x)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return ErrOver
	case err != nil:
		w.err = errors.Join(w.err, fmt.Errorf("crawler: a result of %T: %w", x, err))
		return err
	}
	w.data = append(w.data, b)
	return nil
}

func (w *work) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// failed returns the error of a result that could not be marshalled.
func (w *work) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// undo reverts the Handler's additions.
func (w *work) undo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge.uncount(w.extra)
	w.extra, w.raises, w.data, w.err = nil, nil, nil, nil
}

// end returns the additions and closes w: nothing can be added afterwards.
func (w *work) end() (extra []frontier.Request, data []json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return append(w.extra[:len(w.extra):len(w.extra)], w.raises...), w.data
}

// uncount removes URLs from trapCounts, because they are not queued after all.
func (j *judge) uncount(queue []frontier.Request) {
	for i := range queue {
		j.trapCounts.leave(queue[i].URL)
	}
}

// PanicError is the Err of a visit that failed because a part supplied by the caller panicked. The crawl
// continues.
type PanicError struct {
	Part  string // field of Config that holds the part
	Value any    // value of the panic
	Stack []byte // as debug.Stack writes it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("crawler: %s panicked: %v\n%s", e.Part, e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// orPanic returns ReasonPanic if err is a *PanicError, otherwise reason.
func orPanic(reason string, err error) string {
	var p *PanicError
	if errors.As(err, &p) {
		return ReasonPanic
	}
	return reason
}
