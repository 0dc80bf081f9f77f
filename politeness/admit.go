package politeness

import (
	"net/netip"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// Request names a URL that the caller wants to request, for [Gate.Admit].
type Request struct {
	URL      weburl.URL // the URL that the caller wants
	Next     weburl.URL // result of [Gate.Next]; zero: URL's own host was resolved
	Addr     netip.Addr // the address of Next's host
	Purpose  Purpose    // Page, Sitemap, Login, Resource or Terms; the Gate itself issues the permits for robots.txt
	For      weburl.URL // for a Resource only: the page that needs it, written to the ledger
	Attempt  int        // 0 for the first; a repeated failure of the same page does not count towards Config.MaxFailures
	Queued   time.Time  // when the URL was queued, written to the ledger
	Deadline time.Time  // the Permit expires at this time at the latest; zero: after Config.PermitTTL
}

// Admit decides whether a request may be made now. It returns a Permit, whose URL is q.Next, or an error: *[Denied], which
// is final for q.URL; *[NotYet], with the time to try again; or an error for a Request without URL or address, or for a
// Resource without For.
//
// The Permit expires after Config.PermitTTL, at q.Deadline, or when the rules that judged it or the hours for requests end,
// whichever is first. Every Permit must be followed by one Report, used or not.
//
// With Config.Shared it may block as long as Sharing.Take does.
func (g *Gate) Admit(q Request) (Permit, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cfg.Shared != nil {
		return g.admitShared(now, q)
	}
	return g.admit(now, q)
}

func (g *Gate) admit(now time.Time, q Request) (Permit, error) {
	a, err := g.decide(now, q)
	if err != nil {
		return Permit{}, err
	}
	return g.mint(now, q, a, new(permit)), nil
}

// admission holds this Gate's own decision about a request, before other crawls are consulted.
type admission struct {
	host   *host // the host of the URL that the caller wants, not of step.url
	step   step
	clocks clocks
}

// admitShared takes a turn at the shared clocks for a request that the Gate itself admits, and returns the Permit.
func (g *Gate) admitShared(now time.Time, q Request) (Permit, error) {
	a, err := g.decide(now, q)
	if err != nil {
		return Permit{}, g.shareQuiet(q, err)
	}
	p := &permit{turn: g.turn(q, a)}
	if d := g.cfg.interval(); d > 0 {
		p.rate = &Turn{Gate: g.journal.run, Crawl: g.cfg.Name, Total: true, Delay: d}
	}
	// A *Hosts never blocks, so the Gate can stay locked, unless a robots.txt may be copied. Loopback addresses have no shared clocks.
	if _, quick := g.cfg.Shared.(*Hosts); quick && (a.step.purpose != Robots || q.Addr.IsLoopback()) {
		err = g.takeTurn(q, p, a.step.purpose)
	} else {
		a, err = g.takeTurnUnlocked(q, p, a)
	}
	if err != nil {
		return Permit{}, err
	}
	now = time.Now() // read the clock again, because the turn may have begun after the old value
	for _, t := range [...]*Turn{&p.turn, p.rate} {
		if t != nil && !t.Until.IsZero() && (q.Deadline.IsZero() || t.Until.Before(q.Deadline)) {
			q.Deadline = t.Until
		}
	}
	granted := g.mint(now, q, a, p)
	if p.rate != nil { // give the total rate back at once: only the admission of a request needs it
		g.cfg.Shared.Done(p.rate, Owed{Ended: now, Total: now.Add(p.rate.Delay)})
	}
	return granted, nil
}

// takeTurnUnlocked unlocks the Gate, takes the turns of p, and decides about the request again.
func (g *Gate) takeTurnUnlocked(q Request, p *permit, first admission) (a admission, err error) {
	g.mu.Unlock()
	err = g.takeTurn(q, p, first.step.purpose)
	now := time.Now()
	g.mu.Lock()
	if err != nil {
		return a, err
	}
	a, err = g.decide(now, q)
	if err == nil && a.step.url != first.step.url {
		err = notYet(ledger.Clause{Name: ledger.ClauseStale, Until: now})
	}
	if err != nil {
		if p.rate != nil {
			g.cfg.Shared.Done(p.rate, Owed{})
		}
		g.cfg.Shared.Done(&p.turn, Owed{})
	}
	return a, err
}

// takeTurn takes p's turn among other crawls. A robots.txt that another crawl has requested, before
// or during the wait, is copied and not requested. The turn at the total rate is taken last, when
// nothing else is missing. The Gate may be locked only if none of these steps can block: see admitShared.
func (g *Gate) takeTurn(q Request, p *permit, why Purpose) error {
	if why == Robots {
		if err := g.copyRobots(q, p); err != nil {
			return err
		}
	}
	err := g.cfg.Shared.Take(&p.turn)
	if err == nil && why == Robots {
		if err = g.copyRobots(q, p); err != nil {
			g.cfg.Shared.Done(&p.turn, Owed{})
		}
	}
	if err == nil && p.rate != nil {
		if err = g.cfg.Shared.Take(p.rate); err != nil {
			g.cfg.Shared.Done(&p.turn, Owed{})
		}
	}
	return err
}

// decide decides whether a request may be made, as far as this Gate knows.
func (g *Gate) decide(now time.Time, q Request) (admission, error) {
	if q.URL.IsZero() || !q.Addr.IsValid() || (q.Purpose == Resource) == q.For.IsZero() {
		return admission{}, errRequest
	}
	g.sweep(now)
	h := g.host(q.URL)
	s, err := g.step(now, h, q)
	if err == nil {
		err = g.cfg.permits(now, q, s.url)
	}
	if err != nil {
		return admission{}, err
	}
	th := h
	if s.url != q.URL {
		th = g.host(s.url)
	}
	if th != h && th.givenUp != nil {
		return admission{}, &Denied{URL: q.URL, Reason: ReasonRobotsUnreachable, Detail: "robots.txt redirects to a host that was given up: " + th.givenUp.detail}
	}
	c := g.clocks(now, th, s.url, q.Addr)
	if opens := th.opens(&g.cfg, g.pacer.opening, q.Addr); now.Before(opens) {
		return admission{}, notYet(ledger.Clause{Name: ledger.ClauseRestart, Until: opens})
	}
	if err := th.rested(&g.cfg, now, c.slot, q.Addr); err != nil {
		return admission{}, err
	}
	if err := g.pacer.wait(now, &c); err != nil {
		return admission{}, err
	}
	return admission{h, s, c}, nil
}

// permits checks the conditions of a Request that do not depend on the rules of its target.
func (c *Config) permits(now time.Time, q Request, target weburl.URL) error {
	switch {
	case q.Next != target && (!q.Next.IsZero() || target.Host() != q.URL.Host()):
		return notYet(ledger.Clause{Name: ledger.ClauseStale, Until: now})
	case target != q.URL && c.optedOut(target.Hostname()):
		return &Denied{URL: q.URL, Reason: ReasonOptOut, Detail: "robots.txt redirects to a host on the opt-out list"}
	case c.Contactless && !q.Addr.IsLoopback():
		return &Denied{URL: q.URL, Reason: ReasonNoContact, Detail: "a contact is required for hosts that are not loopback"}
	}
	return nil
}

func (c *Config) optedOut(hostname string) bool {
	return c.OptOut != nil && c.OptOut(strings.TrimSuffix(hostname, "."))
}

// step is one request on the way to a URL.
type step struct {
	url     weburl.URL
	purpose Purpose
	valid   instant // expiry of the rules that allow the request; 0 if the request needs no rules
}

// step returns the next request needed for q.URL: q.URL itself if the rules of its origin allow it, or the origin's
// robots.txt.
func (g *Gate) step(now time.Time, h *host, q Request) (step, error) {
	if g.cfg.optedOut(q.URL.Hostname()) {
		return step{}, &Denied{URL: q.URL, Reason: ReasonOptOut, Detail: "the host is on the opt-out list"}
	}
	o := h.origin(q.URL)
	v := g.rules.override(now, q.URL)
	if v != nil && v.requestedDelay > o.requestedDelay {
		h.slowDown(&g.cfg, o, v.requestedDelay, v.requestedBy)
		g.touchHost(q.URL, 0)
	}
	if h.givenUp != nil {
		return step{}, &Denied{URL: q.URL, Reason: h.givenUp.reason, Detail: h.givenUp.detail}
	}
	if err := g.cfg.quiet(now, o); err != nil {
		return step{}, err
	}
	g.takeBack(now, o.fetching)
	page := step{url: q.URL, purpose: Page}
	if q.Purpose != Robots && q.Purpose <= Terms { // a caller cannot pass a page off as a robots.txt
		page.purpose = q.Purpose
	}
	switch {
	case v != nil:
		page.valid = at(v.Until)
		return page, g.cfg.judge(v.group, v.source(), q.URL, q.Purpose)
	case isRobots(q.URL):
		return page, nil
	case o.usable(now):
		page.valid = o.validUntil(now)
		return page, g.rules.judge(now, o, q.URL, q.Purpose)
	}
	return g.cfg.robotsStep(now, o, q.URL)
}

// robotsStep returns the request for the robots.txt of o, the origin of u.
func (c *Config) robotsStep(now time.Time, o *origin, u weburl.URL) (step, error) {
	switch {
	case o.givenUp:
		return step{}, &Denied{URL: u, Reason: ReasonRobotsUnreachable, Detail: "the robots.txt of " + u.Origin() + " could not be fetched"}
	case o.retryAt().after(now):
		return step{}, notYet(ledger.Clause{Name: ledger.ClauseRobots, Until: o.retryAt().time()})
	case o.fetching != nil:
		return step{}, notYet(ledger.Clause{Name: ledger.ClauseBusy, Until: now.Add(max(c.Delay, recheck))})
	}
	return step{url: o.next(u), purpose: Robots}, nil
}

// clocks returns the clocks of a request, after releasing those held by Permits that expired unused.
func (g *Gate) clocks(now time.Time, h *host, target weburl.URL, addr netip.Addr) clocks {
	for p := range h.slots {
		g.takeBack(now, p.holder)
	}
	c := g.pacer.clocks(now, h, target, addr)
	if c.addr != nil {
		g.takeBack(now, c.addr.holder)
	}
	if c.domain != nil {
		g.takeBack(now, c.domain.holder)
	}
	return c
}

// life returns the lifetime of a Permit for step s that is granted now.
func (c *Config) life(now time.Time, q Request, s step, o *origin) time.Duration {
	d := c.PermitTTL
	if !q.Deadline.IsZero() {
		d = min(d, q.Deadline.Sub(now))
	}
	if s.valid != 0 {
		d = min(d, s.valid.until(now))
	}
	if last := c.openUntil(now, o); last != 0 {
		d = min(d, last.until(now))
	}
	return d
}

// mint makes p the Permit for an admitted request and starts its clocks. With shared clocks, p must have its turn already.
func (g *Gate) mint(now time.Time, q Request, a admission, p *permit) Permit {
	h, s, c := a.host, a.step, a.clocks
	o := h.origin(q.URL)
	p.gate, p.id, p.url, p.wanted, p.page = g, g.journal.number(), s.url, q.URL, q.For
	p.wantedHost, p.addr, p.purpose, p.attempt, p.queued = h, q.Addr, s.purpose, q.Attempt, q.Queued
	p.allowed, p.life, p.clocks, p.slot = now, g.cfg.life(now, q, s, o), c, c.host.number(c.slot)
	passed := p.passed[:0]
	if s.purpose == Robots {
		o.fetching = p
		if o.outage != nil && o.chain == nil { // only a new attempt has waited for the retry time; a redirect hop has not
			passed = append(passed, ledger.Clause{Name: ledger.ClauseRobots, Until: o.retryAt().time()})
		}
	} else { // a request that is admitted counts as a use of the rules
		o.use = usedLately
	}
	for _, t := range [...]*Turn{&p.turn, p.rate} {
		if t == nil {
			continue
		}
		for _, c := range [...]ledger.Clause{t.Waited, t.Away} {
			if c.Name != "" {
				passed = append(passed, c)
			}
		}
	}
	c.host.local = q.Addr.IsLoopback()
	p.clauses = g.pacer.take(now, p, passed)
	sortClauses(p.clauses)
	g.touch(p)
	return Permit{p}
}
