package crawler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// Renderer runs one round of the rendering of a page. It makes no requests: if the page requests a resource that Task.Have lacks, the
// request is listed in Result.Missing. A Renderer is called concurrently, for at most half of Config.Concurrency pages at a time. If it
// returns an error other than that of its context, the page is used as fetched.
type Renderer interface {
	Round(ctx context.Context, t render.Task) (*render.Result, error)
}

// Rendered describes the result of rendering a page: its state after its scripts have run.
type Rendered struct {
	Why        string         // the rule that selected the page for rendering, one of render's Rule constants
	Rounds     int            // number of rounds of rendering
	Virtual    time.Duration  // time that has passed on the page's clock
	DOM        []byte         // the document after rendering, as HTML in UTF-8; nil: the Visit has the page as fetched
	Routes     []render.Route // addresses to which scripts tried to go: links of the page
	Requests   []render.Fate  // requests of the page, with their outcomes
	Dropped    int            // number of requests beyond the limit, which Requests omits
	Console    []string       // the first lines written to the console
	Dialogs    int            // number of dialogs opened
	Screenshot []byte         // a PNG, if Config.Render wants one
	// Cut is the reason why rendering ended early, or "": a Cut constant of package render, [CutHost], or
	//
	//	render_failed    the Renderer returned an error: no DOM
	//	render_no_room   there was no memory for another page that waits for responses: no DOM
	//	render_no_gain   earlier renderings of its host gave nothing new: no DOM
	Cut string
}

// content returns the page to parse: the rendered page, or the fetched page if it was not rendered.
func (v *Visit) content() *fetcher.Page {
	if v.shown != nil {
		return v.shown
	}
	return v.Page
}

// rendering is the state of a page between two rounds of rendering.
type rendering struct {
	*render.Rendering
	page    *fetcher.Page // the page as fetched
	attempt int           // attempt number of the claim when the page was fetched
	tries   int           // failed requests for the first of the missing resources
}

// begin starts the rendering of a visit's page. It returns nil if the page is used as fetched. In that case it sets v.Rendered, with the
// reason, if a rule had selected the page for rendering.
func (s *renders) begin(v *Visit, j *judge, c *frontier.Claim) *rendering {
	if s == nil || !v.Page.IsHTML() || v.Page.Truncated != "" {
		return nil
	}
	probe := *v
	if out, followed := j.outOfType(&probe); out && !followed {
		return nil
	}
	text, err := v.Page.Text()
	if err != nil {
		return nil
	}
	why := s.cfg.Render.Decide(v.Page.Status, text)
	switch {
	case why == "":
		return nil
	case s.static(v.Page.URL):
		v.Rendered = &Rendered{Why: why, Cut: CutHost}
		return nil
	case why != render.RuleAlways && s.gains.Skip(v.Page.URL.Host()):
		v.Rendered = &Rendered{Why: why, Cut: cutGain}
		return nil
	}
	page := v.Page.Clone()
	if s.store.Reserve(renderingSize + len(page.Body)) {
		document := &render.Answer{Status: page.Status, Header: page.Header, Body: page.Body}
		if r, err := render.Begin(&s.cfg.Render, s.store, page.URL, document, why, page.Started); err == nil {
			x := &rendering{Rendering: r, page: page, attempt: c.Attempt}
			s.attach(x)
			return x
		}
		s.store.Free(renderingSize + len(page.Body))
	}
	v.Rendered = &Rendered{Why: why, Cut: cutStore}
	return nil
}

// visit returns the visit of a page whose rendering has ended. res is nil if the Renderer failed.
func (s *renders) visit(x *rendering, res *render.Result) *Visit {
	v := &Visit{Page: x.page, Outcome: Fetched, Rendered: &Rendered{Why: x.Why(), Rounds: x.Rounds(), Cut: cutRenderer}}
	if res == nil {
		return v
	}
	r := v.Rendered
	r.Virtual, r.DOM, r.Routes, r.Requests, r.Dropped = res.Virtual, res.DOM, res.Routes, res.Requests, res.Dropped
	r.Console, r.Dialogs, r.Screenshot, r.Cut = res.Console, res.Dialogs, res.Screenshot, res.Cut
	if r.DOM == nil {
		return v
	}
	shown := *x.page.Clone()
	shown.Body, shown.Charset, shown.CharsetCertain = r.DOM, "utf-8", true
	v.shown, v.address = &shown, res.URL
	return v
}

// complete adds information that the document of a rendered page lacks: addresses to which scripts tried to go, META elements that
// scripts have removed, and links that only the fetched page has, such as those in noscript elements.
func (s *renders) complete(v *Visit, k *linker) {
	if v.shown == nil {
		return
	}
	s.rebase(v)
	known := map[string]bool{}
	for i := range v.Doc.Links {
		known[v.Doc.Links[i].Ref] = true
	}
	before := len(v.Doc.Links)
	static, err := k.extract(v.Page)
	if err == nil && static != nil {
		s.gain(v, static, known)
		for _, m := range static.Metas { // META directives of the fetched page apply even if scripts remove them
			if !slices.Contains(v.Doc.Metas, m) {
				v.Doc.Metas = append(v.Doc.Metas, m)
			}
		}
		for _, l := range static.Links {
			if !known[l.Ref] {
				v.Doc.Links = append(v.Doc.Links, l)
			}
		}
	}
	for _, r := range v.Rendered.Routes {
		if ref := r.URL.String(); !known[ref] {
			known[ref] = true
			v.Doc.Links = append(v.Doc.Links, extract.Link{Ref: ref, Kind: extract.Anchor, Tag: "script"})
		}
	}
	if limit := s.cfg.Limits.LinksPerPage; len(v.Doc.Links) > limit {
		v.Doc.Links = v.Doc.Links[:max(limit, before)]
	}
}

// rebase makes the document's links relative to the address that scripts have set for the page.
func (*renders) rebase(v *Visit) {
	if v.address.IsZero() || v.address == v.URL {
		return
	}
	if base, err := v.address.Resolve(v.Doc.Base); err == nil {
		v.Doc.Base = base.String()
	}
}

// gain records whether the rendered page has links or text that the fetched page lacks.
func (s *renders) gain(v *Visit, static *extract.Document, shown map[string]bool) {
	if v.Rendered.Why == render.RuleAlways {
		return
	}
	without := map[string]bool{}
	for i := range static.Links {
		without[static.Links[i].Ref] = true
	}
	added := len(v.Rendered.Routes)
	for ref := range shown {
		if !without[ref] {
			added++
		}
	}
	before, err := v.Page.Text()
	if err == nil {
		s.gains.Note(v.URL.Host(), added, render.Scan(before).Text, render.Scan(v.shown.Body).Text)
	}
}

// renders holds the renderings of a run.
type renders struct {
	cfg   *Config
	store *render.Store
	kept  *keptRenders   // nil if renderings are lost when the process ends
	found *sharedRenders // nil unless the store is shared with other crawls
	gains render.Gains
	slots chan struct{} // limits the rounds that run at the same time: has an element for each

	mu      sync.Mutex
	waiting map[weburl.URL]*rendering // renderings that wait for responses, keyed by the URL of the claim
	hosts   map[string]int            // number of waiting renderings of each host
	stuck   map[string]int            // number of consecutive stuck renderings of each host, in which the page used up its processor time
}

// renderingSize is the memory that a page takes during rendering, in addition to its body.
const renderingSize = 16 << 10

// roundPause is the time after which a page is tried again if as many rounds as permitted are running.
const roundPause = time.Second

func newRenders(c *Config) *renders {
	return &renders{
		cfg: c, slots: make(chan struct{}, max(1, c.Concurrency/2)),
		waiting: map[weburl.URL]*rendering{}, hosts: map[string]int{}, stuck: map[string]int{},
	}
}

// rendering returns the waiting rendering of the claim's URL and removes it from the waiting renderings. It returns nil if there is none.
func (a *attempt) rendering() *rendering {
	x := a.run.renders.of(a.claim.URL)
	if x != nil && x.attempt != a.claim.Attempt { // x belongs to an earlier attempt: the page must be fetched again
		a.drop(x)
		return nil
	}
	return x
}

func (s *renders) of(u weburl.URL) *rendering {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.waiting[u]
	if x == nil {
		return nil
	}
	delete(s.waiting, u)
	if s.hosts[u.Host()]--; s.hosts[u.Host()] == 0 {
		delete(s.hosts, u.Host())
	}
	return x
}

// room reports whether another page may be requested although renderings are waiting. A waiting rendering does not count towards the page
// limits, but must count when it ends, so room keeps a page of the limits for it. h has the settings of the host.
func (s *renders) room(b *budget, t *tally, u weburl.URL, h *HostSettings) bool {
	if s == nil {
		return true
	}
	left, host := b.unspent(), u.Host()
	s.mu.Lock()
	waiting, here := len(s.waiting), s.hosts[host]
	s.mu.Unlock()
	if waiting > left {
		return false
	}
	most, _ := s.cfg.pagesOf(host, h)
	return here == 0 || most <= 0 || !most.Reached(t.pagesOf(host)+here)
}

// keep stores a rendering until its URL is claimed again.
func (s *renders) keep(u weburl.URL, x *rendering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[u] = x
	s.hosts[u.Host()]++
}

// drop ends a rendering; x may be nil. It adds the changes that must be committed with the end of the page to a.values.
func (a *attempt) drop(x *rendering) {
	if x == nil {
		return
	}
	records := x.End(renderKey(x.page.URL))
	if a.run.renders.kept != nil {
		a.values = recordValues(a.values, records)
	}
	a.run.renders.store.Free(renderingSize + len(x.page.Body))
}

// maxStuck is the number of consecutive stuck renderings after which pages of a host are no longer rendered.
const maxStuck = 3

// static reports whether pages of u's host are no longer rendered, because too many renderings of the host were stuck.
func (s *renders) static(u weburl.URL) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuck[u.Host()] >= maxStuck
}

// noteStuck updates the number of consecutive stuck renderings of a host, and reports whether it has changed.
func (s *renders) noteStuck(host string, stuck bool) (n int, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.stuck[host]
	switch {
	case stuck:
		s.stuck[host] = min(before+1, maxStuck)
	case before < maxStuck: // a host with maxStuck stuck renderings in a row stays excluded, even if a rendering begun earlier succeeds
		delete(s.stuck, host)
	}
	return s.stuck[host], s.stuck[host] != before
}

// render runs the first round for a page that was just fetched.
func (a *attempt) render(ctx context.Context, x *rendering) {
	a.saveRendering(ctx, x, nil) // saved before the first round, which may take long
	if a.round(ctx, x) {
		a.wait(ctx, x, time.Time{})
	}
}

// resume continues a rendering. It requests missing resources first, at most one for each claim. If none is missing, it runs the next
// round.
func (a *attempt) resume(ctx context.Context, x *rendering) {
	for {
		now := time.Now()
		if want, missing := x.Next(now); missing && now.Before(x.Deadline()) {
			if a.spentResources() {
				x.Refused(want, reasonResources)
				continue
			}
			if a.resource(ctx, x, want) {
				return
			}
		} else if !a.round(ctx, x) {
			return
		}
	}
}

// spentResources reports whether the limit on requests for rendered pages is reached. Requests in flight are still completed, so a crawl
// can exceed the limit by the number of requests in flight.
func (a *attempt) spentResources() bool {
	most := budgets[kindResources].crawl.of(&a.run.cfg, nil)
	return most.Reached(a.run.tally.resources())
}

// wait returns the page to the queue until the given time, at which its rendering may continue.
func (a *attempt) wait(ctx context.Context, x *rendering, until time.Time) {
	if last := x.Deadline(); until.After(last) {
		until = last
	}
	a.keepRendering(x)
	a.run.renders.keep(a.claim.URL, x)
	a.putBack(ctx, frontier.Again{NotBefore: until}, nil)
}

// round runs a round and reports whether the page needs further resources. If it needs none, round has ended the claim.
func (a *attempt) round(ctx context.Context, x *rendering) (needs bool) {
	if a.run.renders.static(x.page.URL) {
		a.drop(x)
		v := a.run.renders.visit(x, nil)
		v.Rendered.Cut = CutHost
		a.finish(ctx, v)
		return false
	}
	select {
	case a.run.renders.slots <- struct{}{}:
	default:
		a.wait(ctx, x, time.Now().Add(roundPause))
		return false
	}
	identity := a.run.cfg.Identity()
	res, err := a.run.cfg.Renderer.Round(ctx, x.Task(identity.UserAgent(), time.Now()))
	<-a.run.renders.slots
	switch {
	case ctx.Err() != nil:
		a.wait(ctx, x, time.Time{})
		return false
	case err == nil && !x.Took(res):
		return true
	case err != nil:
		res = nil
	}
	a.drop(x)
	if res != nil {
		a.keepStuck(x.page.URL.Host(), res.Cut == render.CutStuck)
	}
	a.finish(ctx, a.run.renders.visit(x, res))
	return false
}

// resource requests a missing resource of a page, and reports whether the claim has ended. The claim continues if no request was made;
// the page can then continue at once.
func (a *attempt) resource(ctx context.Context, x *rendering, w render.Want) (ended bool) {
	if d := a.run.judge.decide(w.URL, frontier.KindPage); !d.In && d.Firm {
		x.Refused(w, reasonScope)
		return false
	}
	if host := w.URL.Host(); a.run.tally.overBudget(host, a.run.entry(host), time.Now()) != "" {
		x.Refused(w, ReasonHostBudget)
		return false
	}
	if a.overRobots(w.URL) != "" {
		x.Refused(w, ReasonRobotsBudget)
		return false
	}
	switch reason, ended := a.resourceForbidden(ctx, x, w.URL); {
	case ended:
		return true
	case reason != "":
		x.refuse(w, reason)
		return false
	}
	answer, err := a.run.client.Try(ctx, politeness.Request{
		URL: w.URL, Purpose: politeness.Resource, For: a.claim.URL, Attempt: x.tries, Queued: a.claim.Queued, Deadline: a.claim.Deadline,
	})
	if err != nil {
		return a.resourceNotRequested(ctx, x, w, err)
	}
	if w.URL.Host() == a.claim.URL.Host() {
		a.ready = answer.Ready
	}
	a.account(ctx, answer)
	a.run.cfg.Trace.answered(w.URL, answer)
	a.resourceAnswered(ctx, x, w, answer)
	return true
}

// resourceAnswered ends a claim whose request was for a resource, or for the robots.txt of that resource.
func (a *attempt) resourceAnswered(ctx context.Context, x *rendering, w render.Want, answer *fetcher.Answer) {
	page, forbidden := answer.Page, ""
	if page != nil {
		defer page.Release()
		forbidden = a.run.terms.resourceReason(ctx, consent.Page{URL: w.URL, Status: page.Status, Header: page.Header, Body: page.Body}, nil)
	}
	var later time.Time
	switch {
	case fetcher.ReasonOf(answer.Err) == fetcher.ReasonLedger:
		a.run.fail(answer.Err)
	case ctx.Err() != nil && (page == nil || page.Truncated != ""):
	case answer.Permit.Purpose() == politeness.Robots:
		a.run.causes.note(answer.Permit.URL().Origin(), page, answer.Err)
		a.run.cfg.Trace.robots(w.URL, a.run.gate)
	case fetcher.ReasonOf(answer.Err) == fetcher.ReasonPermit: // no request was sent, so there is nothing to note
	case page != nil && page.Challenged:
		a.run.output.archive(ctx, page, "attempt")
	case page != nil && page.Wall != "":
		x.refuse(w, politeness.ReasonChallenge)
	case (temporary(answer.Err) || page != nil && retryable(page.Status)) && a.again(x, w):
		later = time.Now().Add(pause(a.run.cfg.Retries.Pause, x.tries))
	case answer.Err != nil:
		x.refuse(w, reasonOf(answer.Err))
	case forbidden != "":
		x.refuse(w, forbidden)
	default:
		x.Answered(w, &render.Answer{Status: page.Status, Header: page.Header, Body: page.Body, Truncated: page.Truncated}, time.Now())
		x.tries = 0
		a.saveRendering(ctx, x, page)
	}
	a.wait(ctx, x, later)
}

// again reports whether a missing resource may be requested again, and counts this attempt.
func (a *attempt) again(x *rendering, w render.Want) bool {
	if a.run.cfg.Retries.Max.Reached(x.tries) || !a.run.tally.retry(w.URL.Host()) {
		return false
	}
	x.tries++
	return true
}

// refuse records that a missing resource will have no response.
func (x *rendering) refuse(w render.Want, reason string) {
	x.Refused(w, reason)
	x.tries = 0
}

// resourceNotRequested handles the error that prevented the request for a resource, and reports whether the claim has ended.
func (a *attempt) resourceNotRequested(ctx context.Context, x *rendering, w render.Want, err error) (ended bool) {
	var wait *politeness.NotYet
	var denied *politeness.Denied
	var lookup *fetcher.LookupError
	switch {
	case errors.As(err, &wait):
		a.run.cfg.Trace.waiting(w.URL, wait)
		a.wait(ctx, x, wait.Until)
	case errors.As(err, &denied):
		x.refuse(w, denied.Reason)
		return false
	case errors.As(err, &lookup):
		return a.resourceUnresolved(ctx, x, w, lookup)
	case errors.Is(err, fetcher.ErrKeepRobots):
		a.run.fail(err)
		a.wait(ctx, x, time.Time{})
	default:
		x.refuse(w, "gate")
		return false
	}
	return true
}

// resourceUnresolved handles a resource whose host name has no usable address. It reports whether the claim has ended.
func (a *attempt) resourceUnresolved(ctx context.Context, x *rendering, w render.Want, e *fetcher.LookupError) (ended bool) {
	switch reason := fetcher.ReasonOf(e.Err); {
	case reason == fetcher.ReasonPin:
		a.run.fail(e.Err)
		a.wait(ctx, x, time.Time{})
	case ctx.Err() != nil && e.Ready.IsZero():
		a.wait(ctx, x, time.Time{})
	case reason == fetcher.ReasonNoResources:
		a.wait(ctx, x, time.Now().Add(pause(a.run.cfg.Retries.Pause, 0)))
	case e.Ready.IsZero() || !a.again(x, w):
		x.refuse(w, reasonOf(e.Err))
		return false
	default:
		a.wait(ctx, x, e.Ready)
	}
	return true
}
