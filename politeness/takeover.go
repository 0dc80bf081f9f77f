package politeness

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// TakeOver is for a new Gate that continues, on another machine, what the Gate of Config.Snapshot began and whose ledger is
// not at hand. It replaces [Gate.Replay]: call it once, before the first Admit. The other Gate must send nothing
// any more.
//
// What that Gate did after the snapshot is unknown, so every host and address that the snapshot knows may just have been
// requested: each rests from now as after another failure, its full pause or a back-off twice as long as before, and nothing at all is admitted before the operator's delay has passed.
// Pauses that last longer, such as for a Retry-After, last slack longer than the snapshot says: the maximum difference between the clocks of
// two machines. The error wraps [ErrReplay] if the Gate was used before.
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
// longer. The last answer that the other Gate got, but could not store, may have been a failure or a Retry-After.
func (c *Config) inherited(h *host) (time.Duration, string) {
	s := h.state(c, h.local)
	if !s.Exempt {
		s.Backoff = min(max(firstBackoff, 2*s.Backoff), c.MaxBackoff)
	}
	return c.delayFor(s)
}

// fenced returns why nothing may be sent any more, nil if sending is allowed.
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
