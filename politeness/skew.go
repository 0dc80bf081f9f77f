package politeness

import (
	"iter"
	"time"
)

// unsteady is the maximum by which a clock may be set back without consequences, and by how much earlier than another one's a
// goroutine's now may be.
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

// correct rewinds g to now, this process's time, and notes what it found.
func (g *Gate) correct(now, latest time.Time) {
	s := g.rewind(now, latest)
	g.skew.behind, g.skew.longest = max(g.skew.behind, s.behind), max(g.skew.longest, s.longest)
	g.journal.behind = g.skew.behind
}

// rewind brings back to now whatever is dated later: what g knows, or an event at latest.
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

// latest is when the last event was that g knows of.
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

// rewind returns how long the longest of the pauses is that begin now instead of later.
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

// rewind returns how long a robots.txt that failed has to wait at least; ready is when the host may be requested, and so
// when a Retry-After is over.
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

// latest is when the last event was that o knows of.
func (o *origin) latest() time.Time {
	if o.outage == nil {
		return o.fetched.time()
	}
	return later(o.fetched.time(), o.outage.since.time())
}
