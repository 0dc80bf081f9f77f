package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// end makes a claim's visit final: the Handler gets it, then the sinks, and then the frontier records the URL's end, its links and the
// host's ready time in one step. If the Handler requests another attempt, the visit is discarded instead.
func (a *attempt) end(ctx context.Context, v *Visit, links []frontier.Request) {
	v.describe(a.claim.Request, a.claim.Attempt)
	a.run.partials.take(a.claim.URL) // drop the partial body kept for the URL
	a.run.terms.release(a.claim.URL)
	links, again := a.handle(ctx, v, links)
	if again != nil {
		if v.Outcome != Refused && v.Reason != reasonType {
			a.run.output.archive(ctx, v.Page, "attempt")
		}
		a.putBack(ctx, *again, nil)
		return
	}
	if !a.reserved.page {
		a.reserved.releasePage()
	}
	a.publish(ctx, v, links)
}

// describe sets the fields that all visits have.
func (v *Visit) describe(q frontier.Request, attempt int) {
	v.URL, v.Via, v.Depth, v.Hops, v.Beyond = q.URL, q.Via, q.Depth, q.Hops, int(q.Beyond)
	v.Priority, v.Score = q.Priority, q.Score
	v.Kind, v.Meta, v.Attempt, v.Queued = q.Kind, q.Meta, attempt, q.Queued
	if v.Page != nil {
		v.Started = v.Page.Started
	}
}

// handle calls the Handler, passes the visit to the loop over Pages, and returns the requests to queue. If again is not nil, the visit is
// discarded and the URL returns to the queue.
func (a *attempt) handle(ctx context.Context, v *Visit, links []frontier.Request) (_ []frontier.Request, again *frontier.Again) {
	if a.run.cfg.Handler == nil && a.run.deliver == nil && v.broken == nil {
		return links, nil
	}
	v.Ended = time.Now()
	v.work = &work{judge: a.run.judge, share: &a.share}
	a.reserved.work = v.work
	links, again = a.obey(ctx, v, links, a.callHandler(ctx, v))
	if again == nil && a.run.deliver != nil {
		a.run.deliver(v)
		if err := v.work.failed(); err != nil {
			a.spoil(v, err)
			links = nil
		}
	}
	extra, data := v.work.end()
	v.data = data
	// The URLs that the Handler added come first: they take precedence over equal links.
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
	case a.run.cfg.Handler == nil:
		return nil
	}
	return a.run.cfg.Handler.Handle(ctx, v)
}

// obey applies the Handler's return value to a visit.
func (a *attempt) obey(ctx context.Context, v *Visit, links []frontier.Request, answer error) (_ []frontier.Request, again *frontier.Again) {
	if err := v.work.failed(); err != nil {
		a.spoil(v, err)
		return nil, nil
	}
	var retry *RetryError
	switch {
	case !fatal(answer):
		if errors.Is(answer, Stop) {
			a.run.stop(stopReason(answer))
		}
		if errors.Is(answer, SkipLinks) {
			a.reserved.releasePageLinks()
			links = nil
		}
		return links, nil
	case ctx.Err() != nil && (errors.Is(answer, ctx.Err()) || errors.Is(answer, context.Cause(ctx))):
		return nil, &frontier.Again{}
	case !errors.As(answer, &retry) || a.run.cfg.Retries.Max.Reached(a.claim.Attempt):
		a.spoil(v, answer)
		return nil, nil
	case !a.run.tally.retry(a.claim.URL.Host()):
		a.spoil(v, answer)
		v.spent()
		return nil, nil
	}
	later := a.later(ReasonHandler, retry.After)
	return nil, &later
}

// spoil makes a visit Failed because the Handler failed. None of its links are queued.
func (a *attempt) spoil(v *Visit, err error) {
	v.Outcome, v.Err, v.Reason = Failed, err, orPanic(ReasonHandler, err)
	a.reserved.releaseLinks()
}

// publish passes a visit to the sinks, the frontier, the report and the trace. With a durable frontier the committer does this; otherwise
// the URL is settled after the sinks have the visit's record.
func (a *attempt) publish(ctx context.Context, v *Visit, links []frontier.Request) {
	v.Ended = time.Now()
	s := frontier.Settlement{ReadyAt: a.readyAt(links), Links: links, Page: a.reserved.page}
	var err error
	if a.run.commits != nil {
		err = a.run.commits.end(ctx, frontier.End{Claim: a.claim, Settlement: s}, a.run.output.record(v), a.values, func() { a.run.count(v) })
	} else if err = a.run.output.write(ctx, a.run.output.record(v)); err == nil {
		a.run.count(v)
	}
	switch {
	case errors.Is(err, frontier.ErrLost):
		return
	case err != nil && a.run.commits == nil:
		a.run.fail(err)
		a.putBack(ctx, frontier.Again{}, nil)
		return
	case err != nil:
		a.run.fail(err)
		return
	}
	a.reserved.commit()
	a.run.cfg.Trace.visited(v)
	if a.run.commits == nil {
		a.settle(ctx, s)
		a.run.leave(a.claim.URL.Host())
	}
}

// count adds a visit to the report, and ends the crawl if too many visits have failed.
func (r *run) count(v *Visit) {
	if v.Outcome == Fetched {
		if err := r.sampler.collect(v.listed); err != nil {
			r.fail(err)
		}
		v.listed = nil
	}
	if failed := r.tally.visit(v); r.cfg.Limits.Errors > 0 && r.cfg.Limits.Errors.Reached(failed) {
		r.drain(FinishErrors)
	}
}

// putBack returns the claim to the queue without counting a visit.
func (a *attempt) putBack(ctx context.Context, again frontier.Again, links []frontier.Request) {
	a.reserved.release()
	if len(a.values) > 0 {
		a.run.commits.keep(ctx, a.values, nil)
	}
	a.settle(ctx, frontier.Settlement{ReadyAt: a.ready, Again: &again, Links: links})
}

// settle ends a claim, even if the crawl has been cancelled. If the claim was lost, another worker has the URL; any other error ends the
// crawl.
func (a *attempt) settle(ctx context.Context, s frontier.Settlement) {
	err := a.run.frontier.Settle(context.WithoutCancel(ctx), a.claim, s)
	if err != nil && !errors.Is(err, frontier.ErrLost) {
		a.run.fail(err)
	}
}

// reservation holds the counts of a visit while it is unknown whether the visit is final: a page of the crawl and of its host, a body
// in duplicates, and in trapCounts its links and the Handler's additions. commit makes the counts permanent when the visit is final. When
// an attempt ends, counts that it has not committed are released: see attempt.serve.
type reservation struct {
	run *run

	ticket bool               // a ticket for one of the crawl's pages, taken before the claim
	host   string             // host whose page limit counts the visit; "": none
	maps   string             // host whose sitemap limit counts the visit; "": none
	page   bool               // the visit's count in duplicates
	body   meeting            // the count in duplicates
	links  []frontier.Request // links of the page, counted in trapCounts
	work   *work              // additions of the Handler, counted in trapCounts
}

// pageOf reserves a page of a host; h is the host's entry in Config.Hosts, or nil. If the host has used up a budget, pageOf returns false
// and the rule that sets the budget. A page that was begun before (see rendering) is finished even if a budget is used up.
func (s *reservation) pageOf(host string, h *HostSettings, begun bool) (rule string, ok bool) {
	if rule := s.run.tally.overBudget(host, h, time.Now()); rule != "" && !begun {
		return rule, false
	}
	most, rule := s.run.cfg.pagesOf(host, h)
	if !s.run.tally.reserve(host, most) {
		return rule, false
	}
	s.host = host
	return "", true
}

// sitemapOf reserves a sitemap of a host. If the host has used up its budget, sitemapOf returns false and the rule that sets the budget.
func (s *reservation) sitemapOf(host string) (rule string, ok bool) {
	most := budgets[kindSitemaps].host.of(&s.run.cfg, nil)
	if !s.run.tally.reserveSitemap(host, most) {
		return fmt.Sprintf("%d sitemaps", most), false
	}
	s.maps = host
	return "", true
}

// commit makes the reservation permanent, because the visit is final.
func (s *reservation) commit() {
	if s.ticket {
		s.run.budget.settle(true)
	}
	*s = reservation{run: s.run}
}

// release reverts all counts of the reservation.
func (s *reservation) release() {
	s.releasePage()
	s.releaseLinks()
	s.run.duplicates.forget(s.body)
	*s = reservation{run: s.run}
}

// releasePage reverts the count of the page. It runs before the URL is settled: a URL that returns to the queue, or that is not a page,
// must not use up a page of the limit that the next claim could have.
func (s *reservation) releasePage() {
	if s.ticket {
		s.run.budget.settle(false)
	}
	if s.host != "" {
		s.run.tally.unreserve(s.host)
	}
	if s.maps != "" {
		s.run.tally.unreserveSitemap(s.maps)
	}
	s.ticket, s.host, s.maps = false, "", ""
}

// releaseLinks reverts the counts of the links and of the Handler's additions, because they are not queued.
func (s *reservation) releaseLinks() {
	s.releasePageLinks()
	if s.work != nil {
		s.work.undo()
	}
}

// releasePageLinks reverts only the counts of the page's links.
func (s *reservation) releasePageLinks() {
	s.run.judge.uncount(s.links)
	s.links = nil
}

// forbidden counts the queued URLs that the robots.txt of their hosts forbids, as far as that was known when they were queued. If all
// remaining URLs of a host are forbidden, they end without pauses, because nothing is requested for them. A wrong count causes a claim or
// a pause too many, but never a request, because the gate decides. A pause also remains while the end of an earlier URL is not committed
// yet. forbidden is safe for concurrent use.
type forbidden struct {
	mu sync.Mutex
	by map[string]int // keyed by host; hosts with 0 are removed
}

// add counts n more forbidden URLs of a host and returns the host's total.
func (f *forbidden) add(host string, n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		if f.by == nil {
			f.by = map[string]int{}
		}
		f.by[host] += n
	}
	return f.by[host]
}

// none reports whether no host has forbidden URLs in the queue.
func (f *forbidden) none() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by) == 0
}

// ended records that a URL of a host ended as refused.
func (f *forbidden) ended(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := f.by[host]; {
	case n > 1:
		f.by[host] = n - 1
	case n == 1:
		delete(f.by, host)
	}
}

// forbids reports whether a group of rules forbids a URL.
func forbids(g *robots.Group, u weburl.URL) bool { return g != nil && !g.Test(u.PathQuery()).Allowed }

// readyAt returns the time at which the next URL of the claim's host may be claimed, given the links of the claim's page. The zero time,
// which means now, is returned if robots.txt forbids all remaining URLs of the host.
func (a *attempt) readyAt(links []frontier.Request) time.Time {
	u := a.claim.URL
	if !a.sent {
		return a.ready
	}
	own, more := 0, 0
	for i := range links {
		if links[i].URL.Origin() == u.Origin() {
			own++
			if forbids(a.group, links[i].URL) {
				more++
			}
		}
	}
	if more == 0 && a.run.forbidden.none() {
		return a.ready
	}
	host := u.Host()
	left := a.run.frontier.HostPending(host) - 1 + own // without the claimed URL
	if known := a.run.forbidden.add(host, more); left > 0 && known >= left {
		return time.Time{}
	}
	return a.ready
}
