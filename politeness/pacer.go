package politeness

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// pacer holds the clocks that do not belong to a single host: the clocks of addresses and domains, and the clock for all requests.
type pacer struct {
	cfg     *Config
	opening time.Time // nothing is admitted before this time
	addrs   map[netip.Addr]*shared
	domains map[string]*shared
	total   *rate.Limiter // nil without Config.Rate
	bucket  rate.Limiter  // bucket of the clock that is being examined
	due     time.Time     // the latest time promised to a request that waits for total
	taken   time.Time     // time at which the last token of total was taken
}

func newPacer(c *Config) *pacer {
	p := &pacer{cfg: c, addrs: make(map[netip.Addr]*shared), domains: make(map[string]*shared)}
	if c.Rate > 0 {
		p.total = rate.NewLimiter(rate.Limit(c.Rate), 1)
	}
	return p
}

// clocks holds the clocks that one request must wait for, except the clock for all requests.
type clocks struct {
	host   *host
	slot   *pace
	addr   *shared // nil for an own host
	domain *shared // nil unless Config.PerDomain
}

// clocks returns the clocks of a request for target at h and addr. For an own host it picks the slot that is free first.
func (p *pacer) clocks(now time.Time, h *host, target weburl.URL, addr netip.Addr) clocks {
	c := clocks{host: h, slot: h.slot(now)}
	if h.own {
		return c
	}
	c.addr = clockOf(p.addrs, clockAddr(addr))
	if p.cfg.PerDomain {
		c.domain = clockOf(p.domains, target.Domain())
	}
	return c
}

// clockAddr returns the address under which addr's clock is stored: one machine has one clock, however its address is written.
func clockAddr(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// clockOf returns the clock stored under key, creating it if needed.
func clockOf[K comparable](m map[K]*shared, key K) *shared {
	p := m[key]
	if p == nil {
		p = new(shared)
		m[key] = p
	}
	return p
}

// wait checks all clocks without taking any. It returns a *NotYet with the clauses in force, ordered so that the last to end
// is first; nil if all clocks are free.
func (p *pacer) wait(now time.Time, c *clocks) error {
	var held []ledger.Clause
	var ready time.Time // time at which the host's own clock is free
	if !p.opens(now, c.slot) {
		ready = c.slot.until(now)
		held = append(held, c.slot.held(now))
	}
	if c.addr != nil && !p.opensTo(now, c.addr, c.host) {
		held = append(held, c.addr.held(now, c.host, ready, p.cfg.Delay, ledger.ClauseAddress))
	}
	if c.domain != nil && !p.opensTo(now, c.domain, c.host) {
		held = append(held, c.domain.held(now, c.host, ready, p.cfg.Delay, ledger.ClauseDomain))
	}
	if len(held) == 0 {
		if until, ok := p.rateFree(now); !ok {
			held = append(held, ledger.Clause{Name: ledger.ClauseRate, Until: until})
		}
	}
	if len(held) > 0 {
		return notYet(held...)
	}
	return nil
}

// opens reports whether a clock admits a request at the time now.
func (p *pacer) opens(now time.Time, c *pace) bool { return c.free(now) && c.full(now, &p.bucket) }

// opensTo reports whether a shared clock admits a request to h at the time now.
func (p *pacer) opensTo(now time.Time, c *shared, h *host) bool {
	return c.opens(now, h) && c.full(now, &p.bucket)
}

// take starts a request on every clock and appends to passed the clauses it had waited for.
func (p *pacer) take(now time.Time, by *permit, passed []ledger.Clause) []ledger.Clause {
	start := func(c *pace, name string) {
		if !c.notBefore.IsZero() {
			passed = append(passed, ledger.Clause{Name: name, Until: c.notBefore, Delay: ledger.Duration(c.delay)})
		}
		c.holder = by
	}
	c := &by.clocks
	start(c.slot, c.slot.clause.String())
	if c.addr != nil {
		start(&c.addr.pace, ledger.ClauseAddress)
		c.addr.serve(c.host)
	}
	if c.domain != nil {
		start(&c.domain.pace, ledger.ClauseDomain)
		c.domain.serve(c.host)
	}
	if p.total != nil && !now.Before(p.taken) { // in a Replay, a request can be older than the last one that took a token: ignore it
		p.total.ReserveN(now, 1) // a missing fraction (see slack) delays the next request
		p.taken = now
	}
	return passed
}

// rest ends a request on every clock. Shared clocks are held for the same delay as the host's. A host that needs a longer delay
// than others at its address enforces it with its own clock.
func (c *clocks) rest(end time.Time, d time.Duration, clause string) {
	c.slot.rest(end, d, clause)
	if c.addr != nil {
		c.addr.rest(end, d, clause)
	}
	if c.domain != nil {
		c.domain.rest(end, d, clause)
	}
}

// release ends the turn of a permit on every clock that it holds, without a pause.
func (c *clocks) release(by *permit) {
	c.slot.release(by)
	if c.addr != nil {
		c.addr.release(by)
	}
	if c.domain != nil {
		c.domain.release(by)
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

// rateFree reports whether the bucket of all requests has a token. If not, it returns when to try again; each waiting request
// gets a different time.
func (p *pacer) rateFree(now time.Time) (time.Time, bool) {
	if p.total == nil {
		return now, true
	}
	gap := p.cfg.interval()
	missing := time.Duration((1 - p.total.TokensAt(now)) * float64(gap))
	if missing < slack { // the bucket counts in floating point: ignore rounding errors
		return now, true
	}
	until := now.Add(missing)
	if next := p.due.Add(gap); next.After(until) && p.due.After(now) {
		until = next
	}
	p.due = until
	return until, false
}

// rateUntil returns when the bucket of all requests has its next whole token.
func (p *pacer) rateUntil(now time.Time) time.Time {
	if p.total == nil {
		return time.Time{}
	}
	missing := (1 - p.total.TokensAt(now)) / p.cfg.Rate
	return now.Add(time.Duration(max(0, missing)*float64(time.Second)) + slack)
}

// restoreRate empties the bucket of all requests so that its next token comes at until.
func (p *pacer) restoreRate(now, until time.Time) {
	if p.total == nil || !until.After(now) {
		return
	}
	p.emptyRate(until.Add(-p.cfg.interval()))
}

// emptyRate replaces the bucket of all requests with one whose token was taken at t.
func (p *pacer) emptyRate(t time.Time) {
	p.total = rate.NewLimiter(rate.Limit(p.cfg.Rate), 1)
	p.total.ReserveN(t, 1)
	p.taken = t
}

// size returns the number of clocks.
func (p *pacer) size() int { return len(p.addrs) + len(p.domains) }

// sweep removes clocks whose state equals that of new clocks.
func (p *pacer) sweep(now time.Time, t *touched) {
	for k, c := range p.addrs {
		if c.idle(now) {
			delete(p.addrs, k)
			t.addr(k)
		}
	}
	for k, c := range p.domains {
		if c.idle(now) {
			delete(p.domains, k)
			t.domain(k)
		}
	}
}

// paces yields the clocks of addresses and domains.
func (p *pacer) paces(yield func(*pace) bool) {
	for _, c := range p.addrs {
		if !yield(&c.pace) {
			return
		}
	}
	for _, c := range p.domains {
		if !yield(&c.pace) {
			return
		}
	}
}
