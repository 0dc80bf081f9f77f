package crawler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// work is a worker: it serves one claim after the other until there are none. It never sleeps for
// politeness: a URL that may not be requested yet goes back to the frontier with its time.
func (r *run) work(ctx context.Context) {
	for r.budget.take(r.claims) {
		c, err := r.frontier.Claim(r.claims)
		if err != nil {
			r.budget.settle(false)
			if !errors.Is(err, frontier.ErrDrained) && r.claims.Err() == nil {
				r.fail(err)
			}
			return
		}
		r.cfg.Trace.claimed(c)
		r.budget.settle(r.serve(ctx, c))
	}
}

// serve is the life of one URL from its claim to its settlement. It reports whether a page was
// fetched.
func (r *run) serve(ctx context.Context, c frontier.Claim) bool {
	if !r.tally.reserve(c.URL.Host(), r.cfg.Limits.PagesPerHost) {
		r.end(ctx, c, &Visit{Outcome: Deferred, Reason: ReasonHostBudget}, time.Time{}, nil)
		return false
	}
	if v := r.outside(c); v != nil {
		r.tally.unreserve(c.URL.Host())
		r.end(ctx, c, v, time.Time{}, nil)
		return false
	}
	fetched := r.request(ctx, c)
	if !fetched {
		r.tally.unreserve(c.URL.Host())
	}
	return fetched
}

// request makes the request that a claim needs next, and acts on its outcome.
func (r *run) request(ctx context.Context, c frontier.Claim) bool {
	ctx, share := r.inflight.withShare(ctx)
	defer share.end()
	a, err := r.client.Try(ctx, politeness.Request{
		URL: c.URL, Purpose: purpose(c.Kind), Attempt: c.Attempt, Queued: c.Queued, Deadline: c.Deadline,
	})
	if err != nil {
		return r.notRequested(ctx, c, err)
	}
	r.account(ctx, c, a)
	page := a.Page
	switch {
	case fetcher.ReasonOf(a.Err) == fetcher.ReasonLedger:
		r.fail(a.Err)
		fallthrough
	case ctx.Err() != nil && (page == nil || page.Truncated != ""):
		r.again(ctx, c, frontier.Settlement{ReadyAt: a.Ready, Again: &frontier.Again{}})
		return false
	case a.Permit.Purpose() == politeness.Robots:
		r.causes.note(a.Permit.URL().Origin(), page, a.Err)
		r.robotsAnswered(ctx, c, a)
		return false
	case a.Err != nil:
		return r.unanswered(ctx, c, a.Ready, a.Err)
	}
	defer page.Release()
	return r.answered(ctx, c, page, a.Ready)
}

// admitted is called before each request.
func (r *run) admitted(ctx context.Context, u weburl.URL, p politeness.Permit) {
	r.cfg.Trace.admitted(u, p)
	if err := r.missedSitemaps(ctx, u, p.Purpose()); err != nil {
		r.fail(err)
	}
}

// account counts a request, whatever its outcome.
func (r *run) account(ctx context.Context, c frontier.Claim, a *fetcher.Answer) {
	r.received(a)
	switch {
	case a.Page != nil:
		r.hear()
	case !a.Aborted:
		r.tried(c, a.Permit.URL(), a.Err)
	}
	if a.Permit.Purpose() == politeness.Robots {
		r.archive(ctx, a.Page, politeness.Robots.String())
	}
	r.measure(a)
}

func purpose(k frontier.Kind) politeness.Purpose {
	if k == frontier.KindSitemap {
		return politeness.Sitemap
	}
	return politeness.Page
}

// temporary reports whether another attempt may fare better. Errors of a Fetcher that is not ours
// say so by a method, as net.Error does.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// received adds a request to the report and ends the crawl when it has received enough.
func (r *run) received(a *fetcher.Answer) {
	if a.Aborted {
		return
	}
	bytes := int64(0)
	if a.Page != nil {
		bytes = a.Page.WireBytes
	} else if failed := failure(a.Err); failed != nil {
		bytes = failed.WireBytes
	}
	all := r.tally.request(bytes, a.Page != nil && a.Page.Reused)
	if most := r.cfg.Limits.Bytes; most > 0 && all >= most {
		r.drain(FinishBytes)
	}
}

// measure adds a request to the bound of its host and, unless the host is an own one, its address.
func (r *run) measure(a *fetcher.Answer) {
	var took time.Duration
	var ended time.Time
	if page := a.Page; page != nil {
		took, ended = page.Ended.Sub(page.Written), page.Ended
	} else if failed := failure(a.Err); failed != nil && !failed.Written.IsZero() {
		took, ended = failed.Ended.Sub(failed.Written), failed.Ended
	} else {
		return
	}
	host, pause := a.Permit.URL().Host(), a.Ready.Sub(ended)
	slots := 0
	if r.cfg.Politeness.OwnHosts != nil {
		slots = r.cfg.Politeness.OwnHosts(host)
	}
	r.bound.add(party{host: host}, slots, took, pause)
	if slots == 0 {
		r.bound.add(party{addr: a.Addr}, 1, took, pause)
	}
}

// failure is the fetcher's error in err, nil if there is none.
func failure(err error) *fetcher.Error {
	var failed *fetcher.Error
	errors.As(err, &failed)
	return failed
}

// robotsAnswered puts the page back for which a robots.txt was requested; it is requested next, a delay later.
func (r *run) robotsAnswered(ctx context.Context, c frontier.Claim, a *fetcher.Answer) {
	r.cfg.Trace.robots(c.URL, r.gate)
	if trouble := robotsTrouble(a); trouble != "" && r.gate.Origin(c.URL).Unreachable {
		r.cfg.Trace.retrying(c.URL, trouble, a.Ready)
	}
	r.again(ctx, c, frontier.Settlement{
		ReadyAt: a.Ready, Again: &frontier.Again{}, Links: r.sitemaps(c.URL),
	})
}

// robotsTrouble is the reason code of a request for a robots.txt that may have to be repeated, "" of an aborted one.
func robotsTrouble(a *fetcher.Answer) string {
	switch {
	case a.Aborted:
		return ""
	case a.Err != nil:
		return reasonOf(a.Err)
	case a.Page.Truncated != "":
		return a.Page.Truncated
	}
	return fmt.Sprintf("http_%d", a.Page.Status)
}

// notRequested ends a claim for which nothing was requested: it waits, or this is final. Like the other ends of a
// claim without a page, it reports whether there is one after all: see salvage.
func (r *run) notRequested(ctx context.Context, c frontier.Claim, err error) bool {
	var wait *politeness.NotYet
	var denied *politeness.Denied
	var lookup *fetcher.LookupError
	switch {
	case errors.As(err, &wait):
		r.cfg.Trace.waiting(c.URL, wait)
		r.again(ctx, c, frontier.Settlement{ReadyAt: wait.Until, Again: &frontier.Again{}})
	case errors.As(err, &denied):
		return r.denied(ctx, c, denied)
	case errors.As(err, &lookup):
		return r.unresolved(ctx, c, lookup)
	case errors.Is(err, fetcher.ErrKeepRobots):
		r.fail(err)
		r.again(ctx, c, frontier.Settlement{Again: &frontier.Again{}})
	default:
		r.end(ctx, c, &Visit{Outcome: Failed, Reason: "gate", Err: err}, time.Time{}, nil)
	}
	return false
}

// denied ends a claim that the gate denied.
func (r *run) denied(ctx context.Context, c frontier.Claim, d *politeness.Denied) bool {
	v := &Visit{Outcome: Refused, Reason: d.Reason, Rule: d.Verdict.Rule, Detail: d.Detail}
	v.Err = r.causes.of(c.URL.Origin(), d)
	if d.Deferred() {
		v.Outcome = Deferred
		return r.salvage(ctx, c, v, time.Time{})
	}
	r.end(ctx, c, v, time.Time{}, nil)
	return false
}

// unresolved ends a claim whose host has no address: it is tried again, or this is final.
func (r *run) unresolved(ctx context.Context, c frontier.Claim, e *fetcher.LookupError) bool {
	v := &Visit{Outcome: Failed, Reason: reasonOf(e.Err), Err: e.Err}
	switch reason := fetcher.ReasonOf(e.Err); {
	case reason == fetcher.ReasonPin:
		r.fail(e.Err)
		fallthrough
	case ctx.Err() != nil && e.Ready.IsZero():
		r.again(ctx, c, frontier.Settlement{Again: &frontier.Again{}})
	case reason == fetcher.ReasonNoResources: // nobody was asked: not an attempt
		r.again(ctx, c, frontier.Settlement{Again: &frontier.Again{NotBefore: time.Now().Add(pause(r.cfg.Retries.Pause, 0))}})
	case reason == fetcher.ReasonAddress, reason == fetcher.ReasonPort:
		v.Outcome = Refused
		r.end(ctx, c, v, time.Time{}, nil)
	case e.Ready.IsZero():
		return r.salvage(ctx, c, v, time.Time{})
	default:
		if c.Attempt < r.cfg.Retries.Max { // else the URL is at its end by itself
			r.tried(c, e.URL, e.Err)
		}
		return r.retry(ctx, c, v, e.Ready)
	}
	return false
}

// unanswered ends a claim whose request got no usable answer.
func (r *run) unanswered(ctx context.Context, c frontier.Claim, ready time.Time, err error) bool {
	v := &Visit{Outcome: Failed, Reason: reasonOf(err), Err: err}
	switch {
	case fetcher.ReasonOf(err) == fetcher.ReasonPermit: // nothing was sent: not an attempt
		r.again(ctx, c, frontier.Settlement{ReadyAt: ready, Again: &frontier.Again{}})
	case temporary(err):
		return r.retry(ctx, c, v, ready)
	default:
		return r.salvage(ctx, c, v, ready)
	}
	return false
}

// retry puts the URL back for another attempt, or ends it as failed when it, or its host, has had them all.
func (r *run) retry(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time) bool {
	v.Outcome = Failed
	switch {
	case c.Attempt >= r.cfg.Retries.Max:
		return r.salvage(ctx, c, v, ready)
	case !r.tally.retry(c.URL.Host()):
		v.spent()
		return r.salvage(ctx, c, v, ready)
	}
	r.putBack(ctx, c, v, ready)
	return false
}

// putBack puts the URL back for another attempt.
func (r *run) putBack(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time) {
	at := time.Now().Add(pause(r.cfg.Retries.Pause, c.Attempt))
	r.cfg.Trace.retrying(c.URL, v.Reason, at)
	r.again(ctx, c, frontier.Settlement{ReadyAt: ready, Again: &frontier.Again{NotBefore: at, Retry: true}})
}

// salvage ends a claim with v, which has no page; or with what an earlier attempt brought of the page before its
// connection broke. It reports whether there was such a page.
func (r *run) salvage(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time) bool {
	if page := r.cuts.take(c.URL); page != nil {
		return r.accept(ctx, c, &Visit{Page: page}, ready)
	}
	r.end(ctx, c, v, ready, nil)
	return false
}

// pause is the wait before a retry: doubling, up to a minute, with up to half as much again at
// random so that URLs that failed together do not come back together.
func pause(first time.Duration, attempt int) time.Duration {
	d := min(first<<min(attempt, 16), time.Minute)
	return d + rand.N(d/2+1)
}

// answered ends a claim whose request was answered.
func (r *run) answered(ctx context.Context, c frontier.Claim, page *fetcher.Page, ready time.Time) bool {
	v := &Visit{Page: page}
	switch {
	case isRedirect(page.Status):
		r.redirected(ctx, c, v, ready)
		return false
	case c.Attempt >= r.cfg.Retries.Max, !retryable(page.Status) && !(brokeOff(page) && r.cuts.keep(c.URL, page)):
	case !r.tally.retry(c.URL.Host()):
		v.spent()
	default:
		if v.Reason = page.Truncated; retryable(page.Status) {
			v.Reason = fmt.Sprintf("http_%d", page.Status)
		}
		r.archive(ctx, page, "attempt")
		r.putBack(ctx, c, v, ready)
		return false
	}
	v.Page = better(page, r.cuts.take(c.URL))
	return r.accept(ctx, c, v, ready)
}

// accept makes an answer the URL's page.
func (r *run) accept(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time) bool {
	page := v.Page
	v.Outcome = Fetched
	if page.Truncated != "" {
		v.Reason = page.Truncated
	}
	switch {
	case c.Kind == frontier.KindSitemap && !isPage(page):
		r.end(ctx, c, v, ready, r.readSitemap(c, page))
		return false
	case r.unchanged(v, c):
		r.end(ctx, c, v, ready, nil)
		return false
	}
	r.awaitRoom(ctx, page)
	k := r.linkers.take(r)
	defer r.linkers.put(k)
	return r.end(ctx, c, v, ready, r.read(k, v, c))
}

// retryable reports whether an answer says that another attempt may fare better (RFC 9110 section
// 15.6, RFC 6585 section 4).
func retryable(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// isRedirect reports whether the status sends the client elsewhere (RFC 9110 section 15.4).
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirected queues a redirect's target: a URL of its own, at the same depth, that passes scope,
// robots and pacing like any other, and gets a visit whatever they say.
func (r *run) redirected(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time) {
	v.Outcome, v.Reason = Redirected, ""
	location := v.Page.Header.Get("Location")
	to, err := c.URL.Resolve(location)
	switch {
	case location == "" || err != nil:
		v.Outcome, v.Reason, v.Err = Failed, ReasonRedirectBad, err
	case len(c.Hops) >= r.cfg.Limits.Redirects:
		v.Outcome, v.Reason = Failed, ReasonRedirectLimit
	case to == c.URL || slices.Contains(c.Hops, to.String()):
		v.Outcome, v.Reason = Failed, ReasonRedirectLoop
	}
	if v.Outcome == Failed {
		r.end(ctx, c, v, ready, nil)
		return
	}
	v.Location = to
	target := frontier.Request{
		URL: to, Depth: c.Depth, Priority: c.Priority, Via: c.URL, Kind: targetKind(c.Kind),
		Beyond: r.beyondAfter(c, to),
		Hops:   append(c.Hops[:len(c.Hops):len(c.Hops)], c.URL.String()), Meta: c.Meta,
	}
	r.end(ctx, c, v, ready, []frontier.Request{target})
}

// targetKind is the kind of a redirect's target: a sitemap is one wherever it lies.
func targetKind(k frontier.Kind) frontier.Kind {
	if k == frontier.KindSitemap {
		return k
	}
	return frontier.KindRedirect
}

// read parses an answered page and returns the links to queue.
func (r *run) read(k *linker, v *Visit, c frontier.Claim) []frontier.Request {
	v.describe(c.Request, c.Attempt)
	v.Validators = validators(v.Page)
	if r.outOfType(v) || r.same(v) {
		return nil
	}
	doc, err := k.extract(v.Page)
	if err != nil {
		v.Outcome, v.Reason, v.Err = Failed, orPanic(ReasonExtractor, err), err
		return nil
	}
	v.Doc = doc
	metas := metasOf(doc)
	v.Directives = r.directives(v, metas)
	v.Usage = robots.PageUsage(r.gate.Origin(v.URL).Group, v.URL.PathQuery(), v.Page.Header, metas, v.Directives)
	if use := r.refusedUse(v); use != "" {
		v.Outcome, v.Reason, v.Detail = Refused, politeness.ReasonUsage, "refused: the page disallows the use "+use
		return nil
	}
	if doc == nil {
		return nil
	}
	r.similar(v)
	return k.sort(v)
}

// minWords is how many words a page must have for its similarity to mean anything.
const minWords = 40

// similar looks for an earlier page that is nearly the same.
func (r *run) similar(v *Visit) {
	if r.hasher == nil || v.SameAs != "" {
		return
	}
	if text, err := v.Page.Text(); err == nil {
		if f, words := r.hasher.HTML(text); words >= minWords {
			if near := r.near.Meet(v.URL.String(), f); near != v.URL.String() { // itself: fetched again
				v.NearOf = near
			}
			if r.commits != nil {
				r.fresh.add(nearPage{v.URL.String(), f})
			}
		}
	}
}

// refusedUse is the use for which the page may not be taken, of those the operator honours; "" when
// there is none.
func (r *run) refusedUse(v *Visit) string {
	for _, use := range r.cfg.Politeness.RefuseUsage {
		if v.Usage.For(use) == robots.Disallowed {
			return use
		}
	}
	return ""
}

func metasOf(doc *extract.Document) []robots.Meta {
	if doc == nil || len(doc.Metas) == 0 {
		return nil
	}
	metas := make([]robots.Meta, len(doc.Metas))
	for i, m := range doc.Metas {
		metas[i] = robots.Meta{Name: m.Name, Content: m.Content}
	}
	return metas
}

// directives are the page's robots directives, of its headers and META elements.
func (r *run) directives(v *Visit, metas []robots.Meta) robots.Directives {
	var opts []robots.Option
	if r.cfg.RevisitedDirectives {
		opts = append(opts, robots.WithDialect(robots.Revisited1996))
	}
	return robots.PageDirectives(r.cfg.identity().Product, v.Page.Header.Values("X-Robots-Tag"), metas, opts...)
}

// end makes a claim's visit final: the Handler sees it, the sinks have it, and then the frontier
// takes the URL's end, its links and the host's ready time in one step. It reports whether the visit
// is final: the Handler may ask for another attempt.
func (r *run) end(ctx context.Context, c frontier.Claim, v *Visit, ready time.Time, links []frontier.Request) bool {
	v.describe(c.Request, c.Attempt)
	r.cuts.take(c.URL) // decided without it
	links, again := r.handle(ctx, c, v, links)
	if again != nil {
		if v.Outcome != Refused && v.Reason != ReasonType {
			r.archive(ctx, v.Page, "attempt")
		}
		r.again(ctx, c, frontier.Settlement{ReadyAt: ready, Again: again})
		return false
	}
	r.publish(ctx, v, c, frontier.Settlement{ReadyAt: ready, Links: links})
	return true
}

// leave closes the connections to a host that has nothing left: they stay open through the pauses
// of a host that has, and no longer.
func (r *run) leave(host string) {
	if r.counter != nil && r.idler != nil && r.counter.HostPending(host) == 0 {
		r.idler.CloseIdle(host)
	}
}

// describe fills in what every visit of a request has.
func (v *Visit) describe(q frontier.Request, attempt int) {
	v.URL, v.Via, v.Depth, v.Hops, v.Beyond = q.URL, q.Via, q.Depth, q.Hops, int(q.Beyond)
	v.Kind, v.Meta, v.Attempt, v.Queued = q.Kind, q.Meta, attempt, q.Queued
	if v.Page != nil {
		v.Started = v.Page.Started
	}
}

// again puts a claim back.
func (r *run) again(ctx context.Context, c frontier.Claim, s frontier.Settlement) {
	r.settle(ctx, c, s)
}

// settle ends a claim, also when the crawl has been cancelled. A lost claim is somebody else's by
// now; every other failure ends the crawl.
func (r *run) settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) {
	err := r.frontier.Settle(context.WithoutCancel(ctx), c, s)
	if err != nil && !errors.Is(err, frontier.ErrLost) {
		r.fail(err)
	}
}
