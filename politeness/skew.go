package politeness

import (
	"iter"
	"time"
)

// unsteady is the longest backward step of the wall clock that is ignored. Times that
// different goroutines have read may also be out of order by up to this much.
const unsteady = time.Second

// Skew returns how far this machine's clock is behind the latest time in the Gate's snapshot and ledger, and the longest pause that is
// due because of that. Then one of the two clocks is wrong, or this one was set back. Both results are 0 if nothing is dated in the
// future. Everything dated later than now counts as having happened now: each pause begins anew, and a robots.txt must be fetched
// again, but no host waits longer than its delay or its Retry-After requires. The ledger's lines of this Gate record the difference
// (ledger.Entry.Behind). Skew must not be called during Replay.
func (g *Gate) Skew() (behind, longest time.Duration) {
	return g.skew.behind, g.skew.longest
}

// skew holds the result of rewind.
type skew struct{ behind, longest time.Duration }

// correct rewinds g to now, the time of this process, and records the skew found.
func (g *Gate) correct(now, latest time.Time) {
	s := g.rewind(now, latest)
	g.skew.behind, g.skew.longest = max(g.skew.behind, s.behind), max(g.skew.longest, s.longest)
	g.journal.behind = g.skew.behind
}

// rewind moves to now everything that is dated later: g's state, or an event at the time latest.
func (g *Gate) rewind(now, latest time.Time) (s skew) {
	s.behind = later(g.latest(), latest).Sub(now)
	if s.behind <= 0 {
		return skew{}
	}
	s.longest = max(g.pacer.rewind(now), rewindPaces(now, g.hosts.paces))
	for _, h := range g.hosts {
		h.failing = min(h.failing, at(now))
		for _, o := range h.origins {
			if o != nil {
				s.longest = max(s.longest, o.rewind(now, h.ready(now)))
			}
		}
	}
	return s
}

// latest returns the time of the last event recorded in g.
func (g *Gate) latest() (t time.Time) {
	for _, paces := range []iter.Seq[*pace]{g.pacer.paces, g.hosts.paces} {
		for p := range paces {
			t = later(t, p.latest())
		}
	}
	for _, h := range g.hosts {
		t = later(t, h.failing.time())
	}
	for o := range g.hosts.origins {
		t = later(t, o.latest())
	}
	return t
}

// rewind rewinds all clocks and returns the longest pause that begins now because it was dated later.
func (p *pacer) rewind(now time.Time) (longest time.Duration) {
	longest = rewindPaces(now, p.paces)
	if first := now.Add(p.cfg.usualDelay()); p.opening.After(first) {
		p.opening = first
	}
	if p.taken.After(now) {
		p.emptyRate(now)
	}
	return longest
}

func rewindPaces(now time.Time, paces iter.Seq[*pace]) (longest time.Duration) {
	for p := range paces {
		if p.rewind(now) {
			longest = max(longest, p.delay)
		}
	}
	return longest
}

// rewind corrects o's times and returns the minimum wait of a failed robots.txt. ready is the time at which the host may be
// requested, which includes any Retry-After.
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

// latest returns the time of the last event recorded in o.
func (o *origin) latest() time.Time {
	if o.outage == nil {
		return o.fetched.time()
	}
	return later(o.fetched.time(), o.outage.since.time())
}
