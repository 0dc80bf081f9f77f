package crawler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// work runs a worker, which handles claims until there are none. It never sleeps for politeness: a URL that may not be requested yet
// returns to the frontier, with the earliest time of its request.
func (r *run) work(ctx context.Context) {
	a := &attempt{run: r, share: share{of: r.inflight}}
	ctx = withShare(ctx, &a.share)
	for drawn := false; ; {
		claims := r.halt.wait(r.claims)
		c, err := r.claim(claims)
		if paused := claims.Err() != nil && r.claims.Err() == nil; paused {
			if err == nil {
				a.take(c)
				a.putBack(ctx, frontier.Again{}, nil)
			}
			continue
		}
		if errors.Is(err, frontier.ErrDrained) && r.sampler != nil && !drawn {
			drawn = true // before the call of draw, which queues pages
			r.draw(ctx)
			continue
		}
		if err != nil {
			return
		}
		r.cfg.Trace.claimed(c)
		a.take(c)
		a.serve(ctx)
	}
}

// errEnough reports that the page limit is reached or that claiming has stopped.
var errEnough = errors.New("crawler: no ticket for another page")

// claim takes a ticket and claims a URL. Any error except that of an empty queue ends the crawl.
func (r *run) claim(claims context.Context) (frontier.Claim, error) {
	if !r.budget.take(claims) {
		return frontier.Claim{}, errEnough
	}
	c, err := r.frontier.Claim(claims)
	if err != nil {
		r.budget.settle(false)
		if !errors.Is(err, frontier.ErrDrained) && claims.Err() == nil {
			r.fail(err)
		}
	}
	return c, err
}

// take makes c the claim that the attempt works on.
func (a *attempt) take(c frontier.Claim) {
	a.login = 0
	a.claim, a.ready, a.sent, a.held, a.group, a.reserved, a.values = c, time.Time{}, false, false, nil, reservation{run: a.run, ticket: true}, nil
}

// attempt is the work on one URL, from its claim to its settlement. A worker reuses its attempt for the next claim. reserved has the
// counts of the visit until it is final.
type attempt struct {
	run      *run
	claim    frontier.Claim
	ready    time.Time     // time from which the host may be requested again; zero: unchanged
	sent     bool          // a request was made, so that the host must pause until ready
	held     bool          // the claim is held until documents of the site's terms are read
	group    *robots.Group // the robots.txt rules that apply to the parsed page; nil if there are none
	reserved reservation
	login    int               // serial number of the login with which the page was requested
	share    share             // the memory reserved for the page
	values   map[string][]byte // values of the page's rendering, to be committed with the end of the visit
}

func (a *attempt) serve(ctx context.Context) {
	defer a.share.end()
	defer a.reserved.release()
	h, err := a.settings(ctx)
	if err != nil {
		a.notRequested(ctx, err)
		return
	}
	x := a.rendering()
	if x == nil && !a.run.renders.room(a.run.budget, a.run.tally, a.claim.URL, h) {
		a.putBack(ctx, frontier.Again{NotBefore: time.Now().Add(roundPause)}, nil)
		return
	}
	if rule, ok := a.reserved.pageOf(a.claim.URL.Host(), h, x != nil); !ok {
		a.drop(x)
		a.end(ctx, &Visit{Outcome: Deferred, Reason: ReasonHostBudget, Rule: rule}, nil)
		return
	}
	if v := a.run.judge.outside(a.claim); v != nil {
		a.drop(x)
		a.end(ctx, v, nil)
		return
	}
	if v := a.overSitemaps(); v != nil {
		a.end(ctx, v, nil)
		return
	}
	if a.entered(ctx) {
		return
	}
	if x != nil {
		a.resume(ctx, x)
		return
	}
	a.request(ctx)
}

// request makes the request that a claim needs next, and acts on its outcome.
func (a *attempt) request(ctx context.Context) {
	c := &a.claim
	u := a.wanted()
	if rule := a.overRobots(u); rule != "" {
		a.end(ctx, &Visit{
			Outcome: Deferred, Reason: ReasonRobotsBudget, Rule: rule,
			Detail: "its robots.txt is not known, and the crawl has requested as many as it may",
		}, nil)
		return
	}
	next := a.run.gate.Next(u)
	if u == c.URL && a.heldPage(ctx) {
		return
	}
	if u == c.URL && next == u && c.Kind != frontier.KindSitemap && u.PathQuery() != "/robots.txt" && a.forbiddenBefore(ctx) {
		return
	}
	a.login = a.run.sessions.serial(c.URL)
	answer, err := a.run.client.Try(ctx, politeness.Request{
		URL: u, Next: next, Purpose: purpose(c.Kind), Attempt: c.Attempt, Queued: c.Queued, Deadline: c.Deadline,
	})
	if err != nil {
		a.notRequested(ctx, err)
		return
	}
	a.ready, a.sent = answer.Ready, true
	if answer.Page == nil || !answer.Page.Cached {
		a.account(ctx, answer)
	}
	a.run.cfg.Trace.answered(c.URL, answer)
	page := answer.Page
	if a.run.commits != nil && (a.run.cfg.Commits.Gate || page == nil || answer.Permit.Purpose() == politeness.Robots) { // for requests that end no visit
		a.run.commits.wake()
	}
	switch {
	case fetcher.ReasonOf(answer.Err) == fetcher.ReasonLedger:
		a.run.fail(answer.Err)
		fallthrough
	case (ctx.Err() != nil || answer.TurnLost) && (page == nil || page.Truncated != ""): // aborted by the crawler: no attempt
		a.putBack(ctx, frontier.Again{}, nil)
	case fetcher.ReasonOf(answer.Err) == fetcher.ReasonHeader: // a request for robots.txt with this header would fail, too
		a.unanswered(ctx, answer.Err)
	case answer.Permit.Purpose() == politeness.Robots:
		a.robotsAnswered(ctx, answer)
	case u != c.URL: // a seed's robots.txt was requested in place of the seed: now the seed can be requested
		a.putBack(ctx, frontier.Again{}, nil)
	case answer.Err != nil:
		a.unanswered(ctx, answer.Err)
	default:
		defer page.Release()
		a.answered(ctx, page)
	}
}

func purpose(k frontier.Kind) politeness.Purpose {
	if k == frontier.KindSitemap {
		return politeness.Sitemap
	}
	return politeness.Page
}

// account counts a request, whatever its outcome is.
func (a *attempt) account(ctx context.Context, answer *fetcher.Answer) {
	if all := a.run.requested(ctx, answer); a.run.cfg.Limits.Bytes > 0 && Limit(all) >= a.run.cfg.Limits.Bytes {
		a.run.drain(FinishBytes)
	}
	if p := answer.Permit.Purpose(); (p == politeness.Robots || p == politeness.Terms) && !answer.Aborted && !a.ofSeed() {
		a.run.tally.needsRobots(a.claim.URL.Host(), a.robotsOfHost() >= 0)
	}
	if a.run.hosts != nil {
		host := answer.Permit.URL().Host()
		a.run.locate(host, answer.Addr)
		if a.run.counts(host) != nil {
			a.run.tally.receives(host, wireBytes(answer))
		}
		a.run.hosts.metAt(host, answer.Addr)
	}
	if answer.Page == nil && !answer.Aborted {
		a.run.unanswered.tried(a.claim, answer.Permit.URL(), answer.Err)
	}
}

// requested counts a request of any kind, and archives exchanges for robots.txt and for documents of terms. It returns the total
// bytes of all bodies so far.
func (r *run) requested(ctx context.Context, answer *fetcher.Answer) (all int64) {
	all = r.tally.request(answer)
	r.bound.answer(answer, r.cfg.Politeness.OwnHosts)
	if answer.Page != nil {
		r.unanswered.hear()
	}
	if answer.Permit.Purpose() == politeness.Robots {
		if p := answer.Page; p != nil && p.Wall == "" && robots.ForStatus(p.Status) == robots.Obey && robots.LooksLikeHTML(p.Body) {
			r.tally.htmlRobots(p.URL.Origin())
		}
		r.output.archive(ctx, answer.Page, politeness.Robots.String())
	}
	if answer.Permit.Purpose() == politeness.Terms {
		r.output.archive(ctx, answer.Page, politeness.Terms.String())
	}
	return all
}

// robotsAnswered ends a claim whose request was for robots.txt: the page returns to the queue, and is requested after the host's delay.
func (a *attempt) robotsAnswered(ctx context.Context, answer *fetcher.Answer) {
	a.run.causes.note(answer.Permit.URL().Origin(), answer.Page, answer.Err)
	u := a.claim.URL
	a.run.cfg.Trace.robots(u, a.run.gate)
	if trouble := robotsTrouble(answer); trouble != "" && a.run.gate.Origin(u).Unreachable {
		a.run.cfg.Trace.retrying(u, trouble, answer.Ready)
	}
	if group, _ := a.run.gate.Group(u); forbids(group, u) {
		a.ready = time.Time{} // do not wait for the host's delay: the gate will deny the URL without a request
	}
	a.putBack(ctx, frontier.Again{}, a.sitemaps(u))
}

// robotsTrouble returns the reason code of a request for a robots.txt that may have to be repeated, or "" if it was aborted.
func robotsTrouble(a *fetcher.Answer) string {
	switch {
	case a.Aborted:
		return ""
	case a.Err != nil:
		return reasonOf(a.Err)
	case a.Page.Wall != "":
		return politeness.ReasonChallenge
	case a.Page.Truncated != "":
		return a.Page.Truncated
	}
	return fmt.Sprintf("http_%d", a.Page.Status)
}

// notRequested ends a claim whose request was not made: the URL returns to the queue, or its visit becomes final.
func (a *attempt) notRequested(ctx context.Context, err error) {
	var wait *politeness.NotYet
	var denied *politeness.Denied
	var lookup *fetcher.LookupError
	switch {
	case errors.As(err, &wait):
		if wait.Copied {
			a.run.cfg.Trace.robots(a.claim.URL, a.run.gate)
			a.putBack(ctx, frontier.Again{}, a.sitemaps(a.wanted()))
			return
		}
		a.run.cfg.Trace.waiting(a.claim.URL, wait)
		a.ready = wait.Until
		a.putBack(ctx, frontier.Again{}, nil)
	case errors.As(err, &denied):
		a.denied(ctx, denied)
	case errors.As(err, &lookup):
		a.unresolved(ctx, lookup)
	case errors.Is(err, fetcher.ErrKeepRobots):
		a.run.fail(err)
		a.putBack(ctx, frontier.Again{}, nil)
	default:
		a.end(ctx, &Visit{Outcome: Failed, Reason: "gate", Err: err}, nil)
	}
}

// denied ends a claim that the gate denied.
func (a *attempt) denied(ctx context.Context, d *politeness.Denied) {
	v := &Visit{Outcome: Refused, Reason: d.Reason, Rule: d.Verdict.Rule, Detail: d.Detail}
	if d.Reason == politeness.ReasonUsage {
		info := a.run.gate.Origin(a.claim.URL)
		v.Terms = a.run.terms.judge(ctx, consent.Page{URL: a.claim.URL, Robots: info.Group}, info.Source, nil)
	}
	v.Err = a.run.causes.of(a.claim.URL.Origin(), d)
	a.run.forbidden.ended(a.claim.URL.Host())
	if d.Deferred() {
		v.Outcome = Deferred
		a.salvage(ctx, v)
		return
	}
	a.end(ctx, v, nil)
}

// unresolved ends a claim whose host name has no usable address: the URL is retried, or its visit becomes final.
func (a *attempt) unresolved(ctx context.Context, e *fetcher.LookupError) {
	v := &Visit{Outcome: Failed, Reason: reasonOf(e.Err), Err: e.Err}
	switch reason := fetcher.ReasonOf(e.Err); {
	case reason == fetcher.ReasonPin:
		a.run.fail(e.Err)
		fallthrough
	case ctx.Err() != nil && e.Ready.IsZero():
		a.putBack(ctx, frontier.Again{}, nil)
	case reason == fetcher.ReasonNoResources: // retry that does not count as an attempt: nothing was requested
		a.putBack(ctx, frontier.Again{NotBefore: time.Now().Add(pause(a.run.cfg.Retries.Pause, 0))}, nil)
	case reason == fetcher.ReasonAddress, reason == fetcher.ReasonPort:
		v.Outcome = Refused
		a.end(ctx, v, nil)
	case e.Ready.IsZero():
		a.salvage(ctx, v)
	default:
		a.ready = e.Ready
		if !a.run.cfg.Retries.Max.Reached(a.claim.Attempt) { // a retry follows: the host counts as not reached so far
			a.run.unanswered.tried(a.claim, e.URL, e.Err)
		}
		a.retry(ctx, v)
	}
}

// unanswered ends a claim whose request got no usable response.
func (a *attempt) unanswered(ctx context.Context, err error) {
	v := &Visit{Outcome: Failed, Reason: reasonOf(err), Err: err}
	switch {
	case fetcher.ReasonOf(err) == fetcher.ReasonPermit: // retry that does not count as an attempt: nothing was sent
		a.putBack(ctx, frontier.Again{}, nil)
	case temporary(err):
		a.retry(ctx, v)
	default:
		a.salvage(ctx, v)
	}
}

// temporary reports whether another attempt may succeed. Errors of a custom Fetcher have a Temporary method for this, like those of
// package net.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// retry returns the URL to the queue for another attempt. If no attempts are left, or the retry budget is used up, the visit ends as
// failed.
func (a *attempt) retry(ctx context.Context, v *Visit) {
	switch {
	case a.run.cfg.Retries.Max.Reached(a.claim.Attempt):
		a.salvage(ctx, v)
	case !a.run.tally.retry(a.claim.URL.Host()):
		v.spent()
		a.salvage(ctx, v)
	default:
		a.putBack(ctx, a.later(v.Reason, 0), nil)
	}
}

// later returns the settlement for another attempt, after a pause of at least the given length.
func (a *attempt) later(reason string, least time.Duration) frontier.Again {
	at := time.Now().Add(max(least, pause(a.run.cfg.Retries.Pause, a.claim.Attempt)))
	a.run.cfg.Trace.retrying(a.claim.URL, reason, at)
	return frontier.Again{NotBefore: at, Retry: true}
}

// pause returns the pause before a retry. It doubles with each attempt, up to a minute. Up to half of it is added at random, so that URLs
// that failed together are not retried together.
func pause(first time.Duration, attempt int) time.Duration {
	d := min(first<<min(attempt, 16), time.Minute)
	return d + rand.N(d/2+1)
}

// salvage ends a claim whose last request got no page. If an earlier attempt received a part of the page before its connection broke,
// that part becomes the page; otherwise the visit is v.
func (a *attempt) salvage(ctx context.Context, v *Visit) {
	if page := a.run.partials.take(a.claim.URL); page != nil {
		a.accept(ctx, &Visit{Page: page})
		return
	}
	a.end(ctx, v, nil)
}
