package politeness

import (
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Request names a URL that the caller is about to request, for [Gate.Admit].
type Request struct {
	URL      weburl.URL // what is wanted in the end
	Next     weburl.URL // what [Gate.Next] named for it; zero: the caller resolved URL's own host
	Addr     netip.Addr // the address of Next's host
	Purpose  Purpose    // Page or Sitemap; robots.txt permits the Gate makes by itself
	Attempt  int        // 0 for the first. That a page fails again does not count for Config.MaxFailures
	Queued   time.Time  // when the URL was queued, written to the ledger
	Deadline time.Time  // the Permit expires no later; zero: after Config.PermitTTL
}

// Admit decides about a request at this moment. It returns a Permit, whose URL is a.Next; or an
// error: *[Denied], the final word on a.URL; *[NotYet], with the time to ask again; or [ErrRequest] for a
// Request without URL or address.
//
// The Permit expires after Config.PermitTTL, at a.Deadline, or when the rules that it was judged by or the
// hours for requests run out, whichever is first. Every Permit must be followed by one Report, used or not.
func (g *Gate) Admit(a Request) (Permit, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admit(now, a)
}

func (g *Gate) admit(now time.Time, a Request) (Permit, error) {
	if a.URL.IsZero() || !a.Addr.IsValid() {
		return Permit{}, ErrRequest
	}
	g.sweep(now)
	h := g.host(a.URL)
	s, err := g.step(now, h, a)
	if err == nil {
		err = g.mayAsk(now, a, s.url)
	}
	if err != nil {
		return Permit{}, err
	}
	th := h
	if s.url != a.URL {
		th = g.host(s.url)
	}
	if th != h && th.gone != nil {
		return Permit{}, &Denied{URL: a.URL, Reason: ReasonRobotsUnreachable, Detail: "robots.txt redirects to a host that was given up: " + th.gone.detail}
	}
	if now.Before(g.opening) {
		return Permit{}, notYet(ledger.Clause{Name: ledger.ClauseRestart, Until: g.opening})
	}
	c := g.clocks(now, th, s.url, a.Addr)
	if err := g.wait(now, &c); err != nil {
		return Permit{}, err
	}
	return g.mint(now, a, h, s, c), nil
}

// mayAsk holds a Request to what is settled for its target whatever its rules say.
func (g *Gate) mayAsk(now time.Time, a Request, target weburl.URL) error {
	switch {
	case a.Next != target && (!a.Next.IsZero() || target.Host() != a.URL.Host()):
		return notYet(ledger.Clause{Name: ledger.ClauseStale, Until: now})
	case target != a.URL && g.optedOut(target):
		return &Denied{URL: a.URL, Reason: ReasonOptOut, Detail: "robots.txt redirects to a host on the opt-out list"}
	case g.cfg.Contactless && !a.Addr.IsLoopback():
		return &Denied{URL: a.URL, Reason: ReasonNoContact, Detail: "a contact is required for hosts that are not loopback"}
	}
	return nil
}

func (g *Gate) optedOut(u weburl.URL) bool { return g.cfg.OptOut != nil && g.cfg.OptOut(u.Hostname()) }

// step is one thing to ask for on the way to a URL.
type step struct {
	url     weburl.URL
	purpose Purpose
	valid   instant // the end of the rules that allow it; 0: none were needed
}

// step is what a.URL needs next: itself when its origin's rules allow it, or a robots request.
func (g *Gate) step(now time.Time, h *host, a Request) (step, error) {
	if g.optedOut(a.URL) {
		return step{}, &Denied{URL: a.URL, Reason: ReasonOptOut, Detail: "the host is on the opt-out list"}
	}
	o := h.origin(a.URL)
	v := g.override(now, a.URL)
	if v != nil && v.requestedDelay > o.requestedDelay {
		g.learnRequestedDelay(h, o, v.requestedDelay, v.requestedBy)
	}
	if h.gone != nil {
		return step{}, &Denied{URL: a.URL, Reason: h.gone.reason, Detail: h.gone.detail}
	}
	if err := g.quiet(now, o); err != nil {
		return step{}, err
	}
	g.takeBack(now, o.asking)
	page := step{url: a.URL, purpose: Page}
	if a.Purpose == Sitemap { // nothing else can be asked for: a page cannot pass for a robots.txt
		page.purpose = Sitemap
	}
	switch {
	case v != nil:
		page.valid = at(v.Until)
		return page, g.judge(v.group, v.source(), a.URL)
	case isRobots(a.URL):
		return page, nil
	case o.usable(now):
		page.valid = o.validUntil(now)
		return page, g.judgeBy(now, o, a.URL)
	case o.gone:
		return step{}, &Denied{URL: a.URL, Reason: ReasonRobotsUnreachable, Detail: "the robots.txt of " + a.URL.Origin() + " could not be had"}
	case o.retryAt().after(now):
		return step{}, notYet(ledger.Clause{Name: ledger.ClauseRobots, Until: o.retryAt().time()})
	case o.asking != nil:
		return step{}, notYet(ledger.Clause{Name: ledger.ClauseBusy, Until: now.Add(max(g.cfg.Delay, recheck))})
	}
	return step{url: o.next(a.URL), purpose: Robots}, nil
}

// judgeBy applies the rules of u's origin to u.
func (g *Gate) judgeBy(now time.Time, o *origin, u weburl.URL) error {
	group := o.group()
	if group == nil {
		return nil
	}
	if v := group.Test(u.PathQuery()); !v.Allowed || len(g.cfg.RefuseUsage) > 0 {
		if err := g.judge(group, o.source(now, u), u); err != nil {
			o.use = usedLately
			return err
		}
	}
	return nil
}

// judge applies a group's rules to u.
func (g *Gate) judge(group *robots.Group, src robots.Source, u weburl.URL) error {
	if group == nil {
		return nil
	}
	if v := group.Test(u.PathQuery()); !v.Allowed {
		return &Denied{URL: u, Reason: ReasonRobots, Verdict: v, Detail: robots.Explain(v, src)}
	}
	return g.judgeUsage(group, src, u)
}

// judgeUsage refuses u when the site disallows a use that the operator wants to honour.
func (g *Gate) judgeUsage(group *robots.Group, src robots.Source, u weburl.URL) error {
	if len(g.cfg.RefuseUsage) == 0 {
		return nil
	}
	usage := robots.PageUsage(group, u.PathQuery(), nil, nil, robots.Directives{})
	for _, use := range g.cfg.RefuseUsage {
		if usage.For(use) == robots.Disallowed {
			return &Denied{URL: u, Reason: ReasonUsage, Detail: "refused: " + src.RobotsURL + " disallows the use " + use}
		}
	}
	return nil
}

// life is how long a Permit for s lasts that is granted now.
func (g *Gate) life(now time.Time, a Request, s step, o *origin) time.Duration {
	d := g.cfg.PermitTTL
	if !a.Deadline.IsZero() {
		d = min(d, a.Deadline.Sub(now))
	}
	if s.valid != 0 {
		d = min(d, s.valid.until(now))
	}
	if last := g.open(now, o); last != 0 {
		d = min(d, last.until(now))
	}
	return d
}

// mint makes the Permit for s and starts its clocks.
func (g *Gate) mint(now time.Time, a Request, h *host, s step, c clocks) Permit {
	g.lastID++
	g.unlined++
	o := h.origin(a.URL)
	p := &permit{
		gate: g, id: g.lastID, url: s.url, wanted: a.URL, wantedHost: h, addr: a.Addr, purpose: s.purpose,
		attempt: a.Attempt, queued: a.Queued, allowed: now, life: g.life(now, a, s, o), clocks: c,
	}
	if s.purpose == Robots {
		o.asking = p
	} else { // not before: the rules of who still has to wait have decided about nothing
		o.use = usedLately
	}
	c.host.local = a.Addr.IsLoopback()
	g.take(now, p)
	return Permit{p}
}
