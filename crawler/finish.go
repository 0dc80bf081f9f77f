package crawler

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// end makes a claim's visit final: the Handler sees it, the sinks get it, and then the frontier takes the
// URL's end, its links and the host's ready time in one step. Or the Handler requests another attempt.
func (a *attempt) end(ctx context.Context, v *Visit, links []frontier.Request) {
	v.describe(a.claim.Request, a.claim.Attempt)
	a.cuts.take(a.claim.URL) // it is no longer needed
	links, again := a.handle(ctx, v, links)
	if again != nil {
		if v.Outcome != Refused && v.Reason != reasonType {
			a.output.archive(ctx, v.Page, "attempt")
		}
		a.putBack(ctx, *again, nil)
		return
	}
	if !a.reserved.page {
		a.reserved.releasePage()
	}
	a.publish(ctx, v, links)
}

// describe fills in what the visits of all requests have in common.
func (v *Visit) describe(q frontier.Request, attempt int) {
	v.URL, v.Via, v.Depth, v.Hops, v.Beyond = q.URL, q.Via, q.Depth, q.Hops, int(q.Beyond)
	v.Priority = q.Priority
	v.Kind, v.Meta, v.Attempt, v.Queued = q.Kind, q.Meta, attempt, q.Queued
	if v.Page != nil {
		v.Started = v.Page.Started
	}
}

// handle calls the Handler, passes the visit to the loop over Pages, and returns what is to be queued after
// it. When again is not nil, nothing of the visit counts and the URL returns to the queue.
func (a *attempt) handle(ctx context.Context, v *Visit, links []frontier.Request) (_ []frontier.Request, again *frontier.Again) {
	if a.cfg.Handler == nil && a.deliver == nil && v.broken == nil {
		return links, nil
	}
	v.Ended = time.Now()
	v.work = &work{judge: a.judge, share: &a.share}
	a.reserved.work = v.work
	links, again = a.obey(ctx, v, links, a.callHandler(ctx, v))
	if again == nil && a.deliver != nil {
		a.deliver(v)
		if err := v.work.failed(); err != nil {
			a.spoil(v, err)
			links = nil
		}
	}
	extra, data := v.work.end()
	v.data = data
	// The Handler's additions come first: they take precedence for a URL that is also a link.
	return append(extra[:len(extra):len(extra)], links...), again
}

func (a *attempt) callHandler(ctx context.Context, v *Visit) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &PanicError{"Config.Handler", x, debug.Stack()}
		}
	}()
	switch {
	case v.broken != nil:
		return v.broken
	case a.cfg.Handler == nil:
		return nil
	}
	return a.cfg.Handler.Handle(ctx, v)
}

// obey applies the Handler's answer to a visit.
func (a *attempt) obey(ctx context.Context, v *Visit, links []frontier.Request, answer error) (_ []frontier.Request, again *frontier.Again) {
	if err := v.work.failed(); err != nil {
		a.spoil(v, err)
		return nil, nil
	}
	var retry *RetryError
	switch {
	case !fatal(answer):
		if errors.Is(answer, Stop) {
			a.stop(stopReason(answer))
		}
		if errors.Is(answer, SkipLinks) {
			a.reserved.releasePageLinks()
			links = nil
		}
		return links, nil
	case ctx.Err() != nil && (errors.Is(answer, ctx.Err()) || errors.Is(answer, context.Cause(ctx))):
		return nil, &frontier.Again{}
	case !errors.As(answer, &retry) || a.claim.Attempt >= a.cfg.Retries.Max:
		a.spoil(v, answer)
		return nil, nil
	case !a.tally.retry(a.claim.URL.Host()):
		a.spoil(v, answer)
		v.spent()
		return nil, nil
	}
	later := a.later(ReasonHandler, retry.After)
	return nil, &later
}

// spoil marks the visit as one whose handling failed. Nothing of it is queued.
func (a *attempt) spoil(v *Visit, err error) {
	v.Outcome, v.Err, v.Reason = Failed, err, orPanic(ReasonHandler, err)
	a.reserved.releaseLinks()
}

// publish makes a visit known to the sinks and the frontier, the report and the trace. With a durable
// frontier the committer takes over from here; otherwise the URL is settled when the sinks have its record.
func (a *attempt) publish(ctx context.Context, v *Visit, links []frontier.Request) {
	v.Ended = time.Now()
	s := frontier.Settlement{ReadyAt: a.readyAt(links), Links: links, Page: a.reserved.page}
	var err error
	if a.commits != nil {
		err = a.commits.end(ctx, frontier.End{Claim: a.claim, Settlement: s}, a.output.record(v), a.values, func() { a.count(v) })
	} else if err = a.output.write(ctx, a.output.record(v)); err == nil {
		a.count(v)
	}
	switch {
	case errors.Is(err, frontier.ErrLost):
		return
	case err != nil && a.commits == nil:
		a.fail(err)
		a.putBack(ctx, frontier.Again{}, nil)
		return
	case err != nil:
		a.fail(err)
		return
	}
	a.reserved.commit()
	a.cfg.Trace.visited(v)
	if a.commits == nil {
		a.settle(ctx, s)
		a.leave(a.claim.URL.Host())
	}
}

// count adds a visit to the report, and ends the crawl when too many have failed.
func (r *run) count(v *Visit) {
	if v.Outcome == Fetched {
		if err := r.sampler.collect(v.listed); err != nil {
			r.fail(err)
		}
		v.listed = nil
	}
	if failed := r.tally.visit(v); r.cfg.Limits.Errors > 0 && failed >= r.cfg.Limits.Errors {
		r.drain(FinishErrors)
	}
}

// putBack returns the claim to the queue. Nothing of it counts.
func (a *attempt) putBack(ctx context.Context, again frontier.Again, links []frontier.Request) {
	a.reserved.release()
	if len(a.values) > 0 {
		a.commits.keep(ctx, a.values, nil)
	}
	a.settle(ctx, frontier.Settlement{ReadyAt: a.ready, Again: &again, Links: links})
}

// settle ends a claim, even when the crawl has been cancelled. A claim that was lost is served elsewhere;
// every other failure ends the crawl.
func (a *attempt) settle(ctx context.Context, s frontier.Settlement) {
	err := a.frontier.Settle(context.WithoutCancel(ctx), a.claim, s)
	if err != nil && !errors.Is(err, frontier.ErrLost) {
		a.fail(err)
	}
}
