package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// answered ends a claim whose request got a response.
func (a *attempt) answered(ctx context.Context, page *fetcher.Page) {
	v, u := &Visit{Page: page}, a.claim.URL
	switch {
	case page.Challenged: // retry: the Fetcher will sign the next request for this URL
		a.run.output.archive(ctx, page, "attempt")
		a.putBack(ctx, frontier.Again{}, nil)
		return
	case page.Wall != "": // another request would be challenged, too: no retry
		v.Outcome, v.Reason = Refused, politeness.ReasonChallenge
		v.Detail = "the answer is a challenge of " + page.Wall + ", not the page"
		a.end(ctx, v, nil)
		return
	case a.loggedOut(ctx, v):
		return
	case isRedirect(page.Status):
		a.redirected(ctx, v)
		return
	case a.run.cfg.Retries.Max.Reached(a.claim.Attempt), !retryable(page.Status) && !(brokeOff(page) && a.run.partials.keep(u, page)):
	case !a.run.tally.retry(u.Host()):
		v.spent()
	default:
		if v.Reason = page.Truncated; retryable(page.Status) {
			v.Reason = fmt.Sprintf("http_%d", page.Status)
		}
		a.run.output.archive(ctx, page, "attempt")
		a.putBack(ctx, a.later(v.Reason, 0), nil)
		return
	}
	v.Page = better(page, a.run.partials.take(u))
	a.accept(ctx, v)
}

// retryable reports whether a status means that another attempt may succeed (RFC 9110 section 15.6, RFC 6585 section 4).
func retryable(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// isRedirect reports whether the status is that of a redirect (RFC 9110 section 15.4).
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirected queues the target of a redirect. The target is a separate URL, at the same depth: scope, robots.txt and pacing apply
// to it as to any other, and it always gets a visit.
func (a *attempt) redirected(ctx context.Context, v *Visit) {
	v.Outcome, v.Reason = Redirected, ""
	c := &a.claim
	location := v.Page.Header.Get("Location")
	to, err := c.URL.Resolve(location)
	switch {
	case location == "" || err != nil:
		v.Outcome, v.Reason, v.Err = Failed, reasonRedirectBad, err
	case len(c.Hops) >= a.run.cfg.Limits.Redirects:
		v.Outcome, v.Reason = Failed, reasonRedirectLimit
	case to == c.URL || slices.Contains(c.Hops, to.String()):
		v.Outcome, v.Reason = Failed, ReasonRedirectLoop
	}
	if v.Outcome != Failed && a.run.cfg.Politeness.LeavesTarget(v.Page.Header, v.Page.Ended) {
		v.Outcome, v.Reason, v.Location = Deferred, politeness.ReasonRetryAfter, to
		v.Detail = "the redirect requests a longer pause before its target than this crawl waits"
	}
	if v.Outcome != Redirected {
		a.end(ctx, v, nil)
		return
	}
	v.Location = to
	a.end(ctx, v, []frontier.Request{{
		URL: to, Depth: c.Depth, Priority: c.Priority, Score: c.Score, Via: c.URL, Kind: targetKind(c.Kind),
		Beyond: a.run.judge.beyondAfter(*c, to),
		Hops:   append(c.Hops[:len(c.Hops):len(c.Hops)], c.URL.String()), Meta: c.Meta,
	}})
}

// targetKind returns the kind of a redirect's target: the target of a redirected sitemap is a sitemap, too.
func targetKind(k frontier.Kind) frontier.Kind {
	if k == frontier.KindSitemap {
		return k
	}
	return frontier.KindRedirect
}

// accept uses the response as the page of the claimed URL.
func (a *attempt) accept(ctx context.Context, v *Visit) {
	page, c := v.Page, a.claim
	v.Outcome = Fetched
	if page.Truncated != "" {
		v.Reason = page.Truncated
	}
	switch {
	case c.Kind == frontier.KindSitemap && !isPage(page):
		a.reserved.page = true // a sitemap counts towards the page limits of the crawl and of its host
		a.end(ctx, v, a.readSitemap(v))
		return
	case a.run.cfg.unchanged(v, c):
		a.end(ctx, v, nil)
		return
	}
	if x := a.run.renders.begin(v, a.run.judge, &a.claim); x != nil {
		a.render(ctx, x)
		return
	}
	a.finish(ctx, v)
}

// finish reads the page of a visit and ends the visit.
func (a *attempt) finish(ctx context.Context, v *Visit) {
	a.reserved.page = true
	a.awaitRoom(ctx, v.content())
	k := a.run.linkers.take(a.run.judge)
	defer a.run.linkers.put(k)
	if links := a.read(ctx, k, v); a.held {
		a.putBack(ctx, frontier.Again{}, nil)
	} else {
		a.end(ctx, v, links)
	}
}

// awaitRoom waits until a large page may be read: the texts of its links and the requests queued from them
// each take as much memory as its body.
func (a *attempt) awaitRoom(ctx context.Context, p *fetcher.Page) {
	if len(p.Body) > largePage && a.run.cfg.reads(p.ContentType) {
		_ = reserve(ctx, 2*len(p.Body)) // an error only means that the crawl is about to end; the page is read all the same
	}
}

// read parses the page of a visit and returns the links to queue.
func (a *attempt) read(ctx context.Context, k *linker, v *Visit) []frontier.Request {
	v.describe(a.claim.Request, a.claim.Attempt)
	v.Validators = validators(v.Page)
	a.group, _ = a.run.gate.Group(v.URL)
	if s := v.Page.Status; s == http.StatusUnauthorized || s == http.StatusPaymentRequired {
		if a.judgeUsage(ctx, v, nil) {
			return nil
		}
	}
	out, followed := a.run.judge.outOfType(v)
	if out && !followed {
		return nil
	}
	var duplicate bool
	if !out { // pages outside the wanted types are not kept, so they are not counted as bodies
		if a.reserved.body, duplicate = a.run.duplicates.meet(v); duplicate {
			return nil
		}
	}
	doc, err := k.extract(v.content())
	if err != nil {
		v.Outcome, v.Reason, v.Err = Failed, orPanic(ReasonExtractor, err), err
		return nil
	}
	if v.Doc = doc; v.Rendered != nil && doc != nil {
		other := a.run.linkers.take(a.run.judge) // k still holds the links of doc, so complete needs a second linker
		a.run.renders.complete(v, other)
		a.run.linkers.put(other)
	}
	metas := metasOf(doc)
	v.Directives = a.run.cfg.directives(v, metas)
	v.Usage = robots.PageUsage(a.group, v.URL.PathQuery(), v.Page.Header, metas, v.Directives)
	if a.judgeUsage(ctx, v, metas) || doc == nil {
		return nil
	}
	if !out {
		a.run.duplicates.similar(v)
	}
	var raises []frontier.Request
	a.reserved.links, raises = k.sort(v)
	return append(a.reserved.links[:len(a.reserved.links):len(a.reserved.links)], raises...)
}

// judgeUsage sets v.Terms and reports whether to stop reading the page: because the site forbids its use, which is recorded in v, or
// because it names documents of terms that must be read first. In that case, a.held is set.
func (a *attempt) judgeUsage(ctx context.Context, v *Visit, metas []robots.Meta) (over bool) {
	p := v.speaks(metas)
	p.Robots = a.group
	var more *consent.Page
	if len(p.Links) > 0 || len(p.Header["Link"]) > 0 {
		more = &consent.Page{URL: p.URL, Header: p.Header, Links: p.Links}
	}
	names := a.run.terms.named(v.URL, a.group, more)
	if a.waitsForTerms(ctx, v, names) {
		a.held = true
		return true
	}
	asks := p.Status == http.StatusUnauthorized || p.Status == http.StatusPaymentRequired
	if len(names) == 0 && len(v.Usage.Statements) == 0 && len(v.Directives.Terms()) == 0 && !asks {
		return false
	}
	v.Terms = a.run.terms.judge(ctx, p, a.run.gate.Origin(v.URL).Source, names)
	return v.refuse()
}

// heldPage continues with a page that was held until documents of terms were read, and reports whether the claim has ended.
func (a *attempt) heldPage(ctx context.Context) bool {
	names := a.run.terms.waiting(a.claim.URL)
	if names == nil {
		return false
	}
	if ended, _ := a.readTerms(ctx, a.claim.URL, names, nil); ended {
		return true
	}
	page := a.run.terms.release(a.claim.URL)
	if page != nil {
		a.accept(ctx, &Visit{Page: page})
	}
	return page != nil
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

// directives returns the page's robots directives, from its two header fields and its META elements.
func (c *Config) directives(v *Visit, metas []robots.Meta) robots.Directives {
	var opts []robots.Option
	if values := v.Page.Header.Values("Robots-Tag"); len(values) > 0 {
		opts = append(opts, robots.WithRobotsTag(values...))
	}
	if c.RevisitedDirectives {
		opts = append(opts, robots.WithDialect(robots.Revisited1996))
	}
	return robots.PageDirectives(c.Identity().Product, v.Page.Header.Values("X-Robots-Tag"), metas, opts...)
}

// partials keeps, for each URL that is requested again because its response was incomplete, the longest response so far. It is in memory
// only: if the process is killed, the responses are lost, but the URLs are not.
type partials struct {
	max int // maximum bytes of all pages

	mu    sync.Mutex
	pages map[weburl.URL]*fetcher.Page
	bytes int
}

// maxPartials limits the bytes of partial bodies that wait for another attempt. cutOverhead is added to each
// for its bookkeeping.
const (
	maxPartials = 64 << 20
	cutOverhead = 8 << 10
)

func newPartials() *partials {
	return &partials{max: maxPartials, pages: map[weburl.URL]*fetcher.Page{}}
}

// keep keeps a copy of an incomplete response, unless there is a longer one. It returns false if the memory limit is reached: then
// the response must be accepted as it is.
func (c *partials) keep(u weburl.URL, p *fetcher.Page) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.pages[u]
	if old != nil && len(old.Body) >= len(p.Body) {
		return true
	}
	bytes := c.bytes + cutSize(p) - cutSize(old)
	if bytes > c.max {
		return false
	}
	c.pages[u], c.bytes = p.Clone(), bytes
	c.pages[u].Raw = nil // Raw is not needed: every attempt is archived separately
	return true
}

func cutSize(p *fetcher.Page) int {
	if p == nil {
		return 0
	}
	return len(p.Body) + cutOverhead
}

// take removes and returns the response kept for u, or nil.
func (c *partials) take(u weburl.URL) *fetcher.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pages[u]
	delete(c.pages, u)
	c.bytes -= cutSize(p)
	return p
}

// brokeOff reports whether the connection ended too early, so that another attempt may get the complete page. A page that was cut off at
// one of the crawl's limits would be cut off again.
func brokeOff(p *fetcher.Page) bool {
	return p.Truncated == fetcher.ReasonCutShort && p.Status/100 == 2
}

// better returns the last response, or the longest earlier response if that is more complete. earlier may be nil.
func better(last, earlier *fetcher.Page) *fetcher.Page {
	worse := retryable(last.Status) || last.Status/100 == 2 && last.Truncated != "" && earlier != nil && len(last.Body) < len(earlier.Body)
	if earlier != nil && worse {
		return earlier
	}
	return last
}

// causes remembers why robots.txt files could not be fetched, so that visits of URLs that are given up for that reason can name the
// cause.
type causes struct {
	mu   sync.Mutex
	last map[string]error // keyed by origin
}

// maxCauses limits the number of causes. If the table is full, it is emptied.
const maxCauses = 10_000

// note records the outcome of a request for an origin's robots.txt.
func (c *causes) note(origin string, page *fetcher.Page, err error) {
	if err == nil && page != nil {
		switch {
		case page.Wall != "":
			err = &wallError{page.Wall}
		case robots.ForStatus(page.Status) == robots.Unreachable:
			err = fmt.Errorf("status %d", page.Status)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.last, origin)
		return
	}
	if c.last == nil || len(c.last) >= maxCauses {
		c.last = map[string]error{}
	}
	c.last[origin] = err
}

// wallError is the error of a request for robots.txt that a bot wall answered.
type wallError struct{ wall string }

func (e *wallError) Error() string { return "a challenge of " + e.wall }

// of returns the reason why the robots.txt that denies d could not be fetched, or nil.
func (c *causes) of(origin string, d *politeness.Denied) error {
	if d.Reason != politeness.ReasonRobotsUnreachable {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.last[origin]; err != nil {
		return fmt.Errorf("robots.txt: %w", err)
	}
	return nil
}
