package politeness

import (
	"net/netip"
	"slices"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Ask is a wish to request a URL.
type Ask struct {
	URL      weburl.URL // what is wanted in the end
	Next     weburl.URL // what [Gate.Next] named for it; zero: the caller resolved URL's own host
	Addr     netip.Addr // the address of Next's host
	Purpose  Purpose    // Page or Sitemap; robots.txt permits the Gate makes by itself
	Attempt  int        // 0 for the first, written to the ledger
	Queued   time.Time  // when the URL was queued, written to the ledger
	Deadline time.Time  // the Permit expires no later; zero: after Config.PermitTTL
}

// Admit decides about a request at this moment. It returns a Permit, whose URL is a.Next; or an
// error: *[Denied], the final word on a.URL; or *[NotYet], with the time to ask again.
//
// Every Permit must be followed by one Report, used or not.
func (g *Gate) Admit(a Ask) (Permit, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admit(now, a)
}

func (g *Gate) admit(now time.Time, a Ask) (Permit, error) {
	if g.cfg.OptOut != nil && g.cfg.OptOut(a.URL.Hostname()) {
		return Permit{}, &Denied{URL: a.URL, Reason: ReasonOptOut, Detail: "the host is on the opt-out list"}
	}
	h := g.host(a.URL.Host())
	if h.gone != "" {
		return Permit{}, &Denied{URL: a.URL, Reason: h.gone, Detail: h.detail}
	}
	target, purpose, err := g.step(now, h, a)
	if err != nil {
		return Permit{}, err
	}
	if a.Next != target && (!a.Next.IsZero() || target.Host() != a.URL.Host()) {
		return Permit{}, &NotYet{Until: now, Clauses: []Clause{{Name: ClauseStale, Until: now}}}
	}
	if g.cfg.Contactless && !a.Addr.IsLoopback() {
		return Permit{}, &Denied{URL: a.URL, Reason: ReasonNoContact, Detail: "a contact is required for hosts that are not loopback"}
	}
	clocks := g.clocks(now, target, a.Addr)
	if clocks.host.gone != "" { // of a robots.txt redirect to another host
		return Permit{}, &Denied{URL: a.URL, Reason: ReasonRobotsUnreachable, Detail: "robots.txt redirects to a host that was given up: " + clocks.host.detail}
	}
	if err := clocks.wait(now); err != nil {
		return Permit{}, err
	}
	clocks.take(now)
	return g.mint(now, a, target, purpose, clocks), nil
}

// step is what a.URL needs next: itself when its origin's rules allow it, or a robots request.
func (g *Gate) step(now time.Time, h *host, a Ask) (weburl.URL, Purpose, error) {
	o := h.origin(a.URL)
	if err := g.quiet(now, o); err != nil {
		return weburl.URL{}, 0, err
	}
	if v := g.override(now, a.URL); v != nil {
		return a.URL, a.Purpose, g.judgeOverride(h, v, a.URL)
	}
	switch {
	case isRobots(a.URL) && a.Purpose != Robots:
		return a.URL, a.Purpose, nil
	case o.usable(now):
		return a.URL, a.Purpose, g.judge(o.group, o.sourceAt(now), a.URL)
	case o.gone:
		return weburl.URL{}, 0, &Denied{URL: a.URL, Reason: ReasonRobotsUnreachable, Detail: "the robots.txt of " + a.URL.Origin() + " could not be had"}
	case now.Before(o.retryAt):
		return weburl.URL{}, 0, notYet(Clause{Name: ClauseRobots, Until: o.retryAt})
	case o.fetching:
		return weburl.URL{}, 0, notYet(Clause{Name: ClauseBusy, Until: now.Add(max(g.cfg.Delay, recheck))})
	}
	return o.target(a.URL), Robots, nil
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

// judgeOverride applies what replaces u's robots.txt, and takes over the pause it asks for.
func (g *Gate) judgeOverride(h *host, v *override, u weburl.URL) error {
	if v.group != nil && h.wish == 0 {
		g.learnWish(h, v.group)
	}
	return g.judge(v.group, v.source(), u)
}

func (g *Gate) mint(now time.Time, a Ask, target weburl.URL, purpose Purpose, c clocks) Permit {
	g.lastID++
	p := &permit{
		gate: g, id: g.lastID, url: target, wanted: a.URL, addr: a.Addr, purpose: purpose,
		attempt: a.Attempt, queued: a.Queued, allowed: now, expires: now.Add(g.cfg.PermitTTL),
		clauses: c.passed, clocks: c,
	}
	if !a.Deadline.IsZero() && a.Deadline.Before(p.expires) {
		p.expires = a.Deadline
	}
	if purpose == Robots {
		g.host(a.URL.Host()).origin(a.URL).fetching = true
	}
	return Permit{p}
}

// clocks are all the clocks one request goes by.
type clocks struct {
	g      *Gate
	host   *host
	slot   *pace
	addr   *pace // nil for an own host
	domain *pace // nil unless Config.PerDomain
	passed []Clause
}

func (g *Gate) clocks(now time.Time, target weburl.URL, addr netip.Addr) clocks {
	h := g.host(target.Host())
	c := clocks{g: g, host: h, slot: h.slot(now)}
	if !h.own {
		c.addr = clockOf(g.addrs, addr.Unmap())
		if g.cfg.PerDomain {
			c.domain = clockOf(g.domains, target.Domain())
		}
	}
	return c
}

// wait looks at every clock and takes from none. It returns a *NotYet with the clauses that hold,
// the last to end first; nil when all are free, and then c.passed names what the request waited for.
func (c *clocks) wait(now time.Time) error {
	var held []Clause
	look := func(p *pace, name string) {
		if p == nil {
			return
		}
		if !p.free(now) {
			held = append(held, p.held(now, name))
		} else if !p.notBefore.IsZero() {
			c.passed = append(c.passed, Clause{Name: orName(name, p.clause), Until: p.notBefore, Delay: Duration(p.delay)})
		}
	}
	look(c.slot, "")
	look(c.addr, ClauseAddress)
	look(c.domain, ClauseDomain)
	if until, ok := c.g.rateFree(now); !ok && len(held) == 0 {
		held = append(held, Clause{Name: ClauseRate, Until: until})
	}
	if len(held) > 0 {
		return notYet(held...)
	}
	sortClauses(c.passed)
	return nil
}

// held is the clause under which p makes somebody wait. A shared clock gives every waiter a time of
// its own.
func (p *pace) held(now time.Time, name string) Clause {
	until := p.until(now)
	if name != "" {
		until = p.promise(now)
	}
	if p.busy && name == "" {
		name = ClauseBusy
	}
	return Clause{Name: orName(name, p.clause), Until: until, Delay: Duration(p.delay)}
}

func orName(name, clause string) string {
	if name != "" {
		return name
	}
	return clause
}

func (c *clocks) take(now time.Time) {
	c.slot.take(now)
	if c.addr != nil {
		c.addr.take(now)
	}
	if c.domain != nil {
		c.domain.take(now)
	}
	if c.g.total != nil {
		c.g.total.ReserveN(now, 1) // what rateFree rounded is owed to the next
	}
}

// rateFree asks the global bucket. When it is empty, the waiter is promised a time of its own.
func (g *Gate) rateFree(now time.Time) (time.Time, bool) {
	if g.total == nil {
		return now, true
	}
	gap := time.Duration(float64(time.Second) / g.cfg.Rate)
	missing := time.Duration((1 - g.total.TokensAt(now)) * float64(gap))
	if missing < slack { // the bucket counts in floating point
		return now, true
	}
	until := now.Add(missing)
	if next := g.due.Add(gap); next.After(until) && g.due.After(now) {
		until = next
	}
	g.due = until
	return until, false
}

func notYet(cs ...Clause) *NotYet {
	sortClauses(cs)
	return &NotYet{Until: cs[0].Until, Clauses: cs}
}

func sortClauses(cs []Clause) {
	slices.SortStableFunc(cs, func(a, b Clause) int { return b.Until.Compare(a.Until) })
}
