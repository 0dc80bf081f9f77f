package politeness

import (
	"iter"
	"time"
)

// unsteady is the backward clock step that is tolerated, and the maximum by which the now of one goroutine may precede that of
// another.
const unsteady = time.Second

// Skew returns the time that this machine's clock is behind the latest time in the snapshot and the ledger that the Gate was made with,
// and the longest pause that is due nevertheless: one of the two clocks is wrong, or this one has been set back. Both are 0
// when nothing is dated in the future. Whatever is dated later than now happened, at the latest, just now: each pause begins
// anew, a robots.txt has to be fetched again, and no host waits longer for it than its delay or its Retry-After requires.
// The lines of this Gate's requests say so, too (ledger.Entry.Behind). Skew must not be called during Replay.
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

// rewind moves to now everything dated later: g's state, or an event at latest.
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

// latest returns the time of the last event that g knows of.
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

// rewind corrects o's times and returns how long a robots.txt that failed must at least wait; ready is when the host may be
// requested, and so the end of any Retry-After.
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

// latest returns the time of the last event that o knows of.
func (o *origin) latest() time.Time {
	if o.outage == nil {
		return o.fetched.time()
	}
	return later(o.fetched.time(), o.outage.since.time())
}
