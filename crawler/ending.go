package crawler

import (
	"context"
	"errors"
	"sync"
)

// ending decides how a run ends: no more URLs are claimed, for the first reason that is given.
type ending struct {
	claims     context.Context // ends when no more claims are to be made
	stopClaims context.CancelCauseFunc

	mu          sync.Mutex
	finish      Finish
	why         string // with FinishDrained: StopBecause's reason
	err         error
	unreachable *UnreachableError // with FinishUnreachable
}

var errDrain = errors.New("crawler: draining")

// begin makes the context that URLs are claimed with. Drain may have been called before.
func (e *ending) begin(ctx context.Context) context.CancelCauseFunc {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claims, e.stopClaims = context.WithCancelCause(ctx)
	if e.finish != "" {
		e.stopClaims(errDrain)
	}
	return e.stopClaims
}

// drain stops claiming; the first reason stands.
func (e *ending) drain(why Finish) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finish == "" {
		e.finish = why
	}
	if e.stopClaims != nil {
		e.stopClaims(errDrain)
	}
}

// stop drains the crawl for a Handler's reason, which may be "".
func (e *ending) stop(why string) {
	e.mu.Lock()
	if e.finish == "" {
		e.why = why
	}
	e.mu.Unlock()
	e.drain(FinishDrained)
}

// reason returns why a Handler stopped the crawl, "" if none did or another end came first.
func (e *ending) reason() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finish != FinishDrained || e.err != nil {
		return ""
	}
	return e.why
}

// fail ends the crawl because one of its own parts failed.
func (e *ending) fail(err error) {
	e.mu.Lock()
	if e.err == nil {
		e.err = err
	}
	e.mu.Unlock()
	e.drain(FinishError)
}

// giveUp ends the crawl because no host answers.
func (e *ending) giveUp(err *UnreachableError) {
	e.mu.Lock()
	if e.finish == "" {
		e.unreachable = err
	}
	e.mu.Unlock()
	e.drain(FinishUnreachable)
}

// finished returns why the crawl ended, once all workers have. cut says that its pages are used up and URLs
// are left.
func (e *ending) finished(ctx context.Context, cut bool) Finish {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return FinishError
	case e.finish != "":
		return e.finish
	case ctx.Err() != nil:
		return FinishCanceled
	case cut:
		return FinishPages
	}
	return FinishDone
}

// outcome returns the error of the run.
func (e *ending) outcome(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return e.err
	case e.unreachable != nil:
		return e.unreachable
	case e.finish == "":
		return context.Cause(ctx)
	}
	return nil
}
