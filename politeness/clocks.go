package politeness

import (
	"net/netip"
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// clocks are all the clocks one request goes by.
type clocks struct {
	host   *host
	slot   *pace
	addr   *shared // nil for an own host
	domain *shared // nil unless Config.PerDomain
}

// clocks finds the clocks of a request, after what ran out unused has been taken back.
func (g *Gate) clocks(now time.Time, h *host, target weburl.URL, addr netip.Addr) clocks {
	for p := range h.slots {
		g.takeBack(now, p.holder)
	}
	c := clocks{host: h, slot: h.slot(now)}
	if h.own {
		return c
	}
	c.addr = clockOf(g.addrs, addr.Unmap().WithZone(""))
	g.takeBack(now, c.addr.holder)
	if g.cfg.PerDomain {
		c.domain = clockOf(g.domains, target.Domain())
		g.takeBack(now, c.domain.holder)
	}
	return c
}

// wait looks at every clock and takes from none. It returns a *NotYet with the clauses that hold,
// the last to end first; nil when all are free.
func (g *Gate) wait(now time.Time, c *clocks) error {
	var held []ledger.Clause
	if !g.opens(now, c.slot) {
		held = append(held, c.slot.held(now))
	}
	if c.addr != nil && !g.opens(now, &c.addr.pace) {
		held = append(held, c.addr.held(now, ledger.ClauseAddress))
	}
	if c.domain != nil && !g.opens(now, &c.domain.pace) {
		held = append(held, c.domain.held(now, ledger.ClauseDomain))
	}
	if len(held) == 0 {
		if until, ok := g.rateFree(now); !ok {
			held = append(held, ledger.Clause{Name: ledger.ClauseRate, Until: until})
		}
	}
	if len(held) > 0 {
		return notYet(held...)
	}
	return nil
}

// opens reports whether a clock admits a request at now.
func (g *Gate) opens(now time.Time, p *pace) bool { return p.free(now) && p.full(now, &g.bucket) }

// held is the clause under which p makes somebody wait.
func (p *pace) held(now time.Time) ledger.Clause {
	name := p.clause.String()
	if p.holder != nil {
		name = ledger.ClauseBusy
	}
	return ledger.Clause{Name: name, Until: p.until(now), Delay: ledger.Duration(p.delay)}
}

// held is the clause under which p makes one more waiter wait.
func (p *shared) held(now time.Time, name string) ledger.Clause {
	return ledger.Clause{Name: name, Until: p.promise(now), Delay: ledger.Duration(p.delay)}
}

// take starts p's request on every clock and notes what it had waited for.
func (g *Gate) take(now time.Time, p *permit) {
	passed := p.passed[:0]
	note := func(c *pace, name string) {
		if !c.notBefore.IsZero() {
			passed = append(passed, ledger.Clause{Name: name, Until: c.notBefore, Delay: ledger.Duration(c.delay)})
		}
		c.take(p)
	}
	if p.purpose == Robots {
		if o := p.wantedHost.origin(p.wanted); o.outage != nil && o.chase == nil { // a hop has waited for its host alone
			passed = append(passed, ledger.Clause{Name: ledger.ClauseRobots, Until: o.retryAt().time()})
		}
	}
	note(p.clocks.slot, p.clocks.slot.clause.String())
	if p.clocks.addr != nil {
		note(&p.clocks.addr.pace, ledger.ClauseAddress)
	}
	if p.clocks.domain != nil {
		note(&p.clocks.domain.pace, ledger.ClauseDomain)
	}
	if g.total != nil && !now.Before(g.taken) { // earlier only in a Replay: the bucket was full again at g.taken
		g.total.ReserveN(now, 1) // what rateFree rounded is owed to the next
		g.taken = now
	}
	sortClauses(passed)
	p.clauses = passed
}

// rest ends a request on every clock. The shared ones rest for the same delay: the slowest wish of
// hosts on one address is kept by whoever made it.
func (c *clocks) rest(end time.Time, d time.Duration, clause string) {
	c.slot.rest(end, d, clause)
	if c.addr != nil {
		c.addr.rest(end, d, clause)
	}
	if c.domain != nil {
		c.domain.rest(end, d, clause)
	}
}

// hold makes every clock wait until t.
func (c *clocks) hold(t time.Time, d time.Duration, clause string) {
	c.slot.hold(t, d, clause)
	if c.addr != nil {
		c.addr.hold(t, d, clause)
	}
	if c.domain != nil {
		c.domain.hold(t, d, clause)
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

func notYet(cs ...ledger.Clause) *NotYet {
	sortClauses(cs)
	return &NotYet{Until: cs[0].Until, Clauses: cs}
}

func sortClauses(cs []ledger.Clause) {
	slices.SortStableFunc(cs, func(a, b ledger.Clause) int { return b.Until.Compare(a.Until) })
}
