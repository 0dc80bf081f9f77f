package politeness

import (
	"time"

	"golang.org/x/time/rate"
)

// unsteady is what a clock may be set back by in passing, and how much earlier than another one's a goroutine's now may be.
const unsteady = time.Second

// Skew is how far this machine's clock is behind the latest time in the snapshot and the ledger that the Gate was made
// with, and how long the longest pause is that is due all the same: one of the two clocks is wrong, or this one has been
// set back. Both are 0 when nothing is dated in the future. What is dated later than now has happened, at the latest, just
// now: each pause begins anew, a robots.txt has to be fetched again, and no host waits longer for it than its delay or its
// Retry-After can ask for. The lines of this Gate's requests say so, too ([ledger.Entry.Behind]). Skew must not be called while
// Replay is.
func (g *Gate) Skew() (behind, longest time.Duration) {
	return g.skew.behind, g.skew.longest
}

// skew is what rewind found.
type skew struct{ behind, longest time.Duration }

func (s *skew) add(o skew) {
	s.behind, s.longest = max(s.behind, o.behind), max(s.longest, o.longest)
}

// rewind brings back to now what is dated later, if anything is: what g knows, or an event at latest.
func (g *Gate) rewind(now, latest time.Time) (s skew) {
	s.behind = max(0, later(g.latest(), latest).Sub(now))
	if s.behind == 0 {
		return skew{}
	}
	rewind := func(p *pace) {
		if p.rewind(now) {
			s.longest = max(s.longest, p.delay)
		}
	}
	for _, p := range g.addrs {
		rewind(&p.pace)
	}
	for _, p := range g.domains {
		rewind(&p.pace)
	}
	for _, h := range g.hosts {
		for p := range h.slots {
			rewind(p)
		}
		h.failing = min(h.failing, at(now))
		for _, o := range h.origins {
			if o != nil {
				s.longest = max(s.longest, o.rewind(now, h.ready(now)))
			}
		}
	}
	if first := now.Add(max(g.cfg.Delay, MinDelay)); g.opening.After(first) {
		g.opening = first
	}
	if g.taken.After(now) {
		g.total = rate.NewLimiter(rate.Limit(g.cfg.Rate), 1)
		g.total.ReserveN(now, 1)
		g.taken = now
	}
	return s
}

// latest is when the last event was that g knows of.
func (g *Gate) latest() (t time.Time) {
	see := func(p *pace) {
		t = later(t, later(p.ended.time(), p.notBefore.Add(-p.delay)))
	}
	for _, p := range g.addrs {
		see(&p.pace)
	}
	for _, h := range g.hosts {
		for p := range h.slots {
			see(p)
		}
		t = later(t, h.failing.time())
		for _, o := range h.origins {
			if o != nil {
				t = later(t, o.fetched.time())
			}
			if o != nil && o.outage != nil {
				t = later(t, o.outage.since.time())
			}
		}
	}
	return t
}

// rewind reports whether p waits for another time than it did. A pause that begins later than now begins now.
func (p *pace) rewind(now time.Time) bool {
	p.ended = min(p.ended, at(now))
	if !p.notBefore.Add(-p.delay).After(now) {
		return false
	}
	p.notBefore = now.Add(p.delay)
	return true
}

// rewind returns how long a robots.txt that failed has to wait at least; ready is when the host may be asked, and so when a
// Retry-After is over.
func (o *origin) rewind(now, ready time.Time) (wait time.Duration) {
	if o.fetched.after(now) {
		o.fetched, o.expires = at(now), min(o.expires, at(now))
	}
	if o.outage == nil {
		return 0
	}
	o.outage.since = min(o.outage.since, at(now))
	if most := later(now.Add(robotsPause(o.outage.attempts)), ready); o.retryAt().after(most) {
		o.outage.retryAt = at(most)
		return most.Sub(now)
	}
	return 0
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
