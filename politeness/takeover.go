package politeness

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// TakeOver prepares a new Gate that continues, on another machine, the crawl of the Gate of Config.Snapshot, without its ledger. It
// replaces [Gate.Replay]: call it once, before the first Admit. The other Gate must not send anything any more.
//
// The requests of that Gate after the snapshot are unknown, so every host and address in the snapshot may just have been requested. Each
// now waits as after one more failure: for its full pause, or for a back-off twice as long as before. Nothing is admitted before the
// operator's delay has passed. Pauses of the snapshot that end after that, such as for a Retry-After, end later by slack, the maximum
// difference between the clocks of two machines. The error wraps [ErrReplay] if the Gate was used before.
func (g *Gate) TakeOver(slack time.Duration) error {
	g.recording.Lock()
	defer g.recording.Unlock()
	if g.restored == nil || g.journal.lastID > 0 {
		return fmt.Errorf("%w: the gate has been used already", ErrReplay)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := ledger.Ceil(time.Now())
	r := &replay{gate: g, restored: g.restored}
	r.settle(now)
	g.restored = nil
	g.touched.everything()
	for _, h := range g.hosts {
		d, clause := g.cfg.inherited(h)
		for p := range h.slots {
			p.inherit(now, d, clause, slack)
		}
	}
	for p := range g.pacer.paces {
		p.inherit(now, p.delay, p.clause.String(), slack)
	}
	g.pacer.opening = now.Add(g.cfg.usualDelay())
	g.sharePauses(now)
	return nil
}

// inherited returns the pause due at a host of another Gate: its current one, or the pause after one more failure if that is
// longer. The last response of the other Gate, which it could not store, may have been a failure or a Retry-After.
func (c *Config) inherited(h *host) (time.Duration, string) {
	s := h.state(c, h.local)
	if !s.Exempt {
		s.Backoff = min(max(firstBackoff, 2*s.Backoff), c.MaxBackoff)
	}
	return c.delayFor(s)
}

// fenced returns why nothing may be sent any more, or nil if sending is allowed.
func (c *Config) fenced() error {
	if c.Fence == nil {
		return nil
	}
	return c.Fence()
}

// inherit adopts a clock from another machine: its request may have ended just now, and its waits end slack later.
func (p *pace) inherit(now time.Time, d time.Duration, clause string, slack time.Duration) {
	if p.notBefore.After(now) {
		p.hold(p.notBefore.Add(slack), p.delay, p.clause.String())
	}
	p.hold(now.Add(d), d, clause)
}

// Rest is a time before which a host, an address or a registrable domain must not be requested.
type Rest struct {
	Host   string     // weburl.URL.Host; "" for an address or a domain
	Addr   netip.Addr // invalid for a host or a domain
	Domain string     // "" for a host or an address
	Until  time.Time
}

// Resting returns the clocks that are held now, in no particular order, for processes that share them. A clock that a request of
// this Gate holds is not included.
func (g *Gate) Resting() []Rest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting(time.Now())
}

// resting returns the result of Resting at the time now. The caller holds g.mu.
func (g *Gate) resting(now time.Time) (all []Rest) {
	add := func(r Rest) {
		if r.Until.After(now) {
			all = append(all, r)
		}
	}
	for key, h := range g.hosts {
		add(Rest{Host: key, Until: h.slot(now).notBefore})
	}
	for a, p := range g.pacer.addrs {
		add(Rest{Addr: a, Until: p.notBefore})
	}
	for d, p := range g.pacer.domains {
		add(Rest{Domain: d, Until: p.notBefore})
	}
	return all
}
