package politeness

import (
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// shared is a clock that several hosts share. Waiting hosts form a line and are served in order of arrival, so that none
// starves and the host served last is not served again before the others.
type shared struct {
	pace
	promised time.Time // latest time promised to a host in line

	line    []*host       // waiting hosts; the first is served next
	left    int           // number of hosts removed from line so far
	tickets map[*host]int // positions of the hosts in line, plus the field left
}

// grace is the time for which the clock stays reserved for the host at the head of the line. That
// host may have nothing left to request, so after grace the next host may take the clock.
const grace = 10 * time.Millisecond

// strangers is the number of turns for which a free clock is reserved for the line. After them, any host may take the clock.
const strangers = 2

// opens reports whether this clock lets a request to h start at the time now: it is free, and h is first in line or the hosts
// before it have missed their turns.
func (p *shared) opens(now time.Time, h *host) bool {
	if !p.free(now) {
		return false
	}
	return !now.Before(p.turn(now, min(p.place(h), strangers)))
}

// turn returns the time at which the host at a position in line may take the clock once it is free, as far as it is
// known at the time now.
func (p *shared) turn(now time.Time, place int) time.Time {
	return p.ready(now).Add(time.Duration(place) * grace)
}

// place returns the number of hosts before h.
func (p *shared) place(h *host) int {
	if t, ok := p.tickets[h]; ok {
		return t - p.left
	}
	return len(p.line)
}

// enter puts h at the end of the line, unless it is in it.
func (p *shared) enter(h *host) {
	if _, ok := p.tickets[h]; ok {
		return
	}
	if p.tickets == nil {
		p.tickets = make(map[*host]int)
	}
	p.tickets[h] = p.left + len(p.line)
	p.line = append(p.line, h)
}

// serve removes h from the line, with the hosts before it, which have missed their turns.
func (p *shared) serve(h *host) {
	n := min(strangers, len(p.line))
	if t, ok := p.tickets[h]; ok {
		n = t - p.left + 1
	}
	for _, gone := range p.line[:n] {
		delete(p.tickets, gone)
	}
	p.line, p.left = p.line[n:], p.left+n
	if len(p.line) == 0 {
		p.line, p.tickets = nil, nil
	}
}

// promise puts h in the line and returns the time at which it should try again. The first in line tries
// when the clock is free, the second a little later, in case the first does not. The turns of the others
// are unknown, because earlier requests take unknown times, but each of these is followed by a pause of
// at least least. A host tries before its turn rather than after it, when it would have lost the turn.
func (p *shared) promise(now time.Time, h *host, least time.Duration) time.Time {
	p.enter(h)
	place, pause := p.place(h), max(least, recheck)
	t := later(now, p.turn(now, min(place, strangers)))
	if p.holder != nil {
		t = now.Add(pause + time.Duration(min(place, strangers))*grace)
	}
	if place >= strangers {
		t = t.Add(time.Duration(place-1) * pause)
	}
	p.promised = later(p.promised, t)
	return t
}

// held returns the clause because of which p makes a request to h wait. A host whose own clock is busy longer, until ready,
// does not join the line, because it could not use its turn.
func (p *shared) held(now time.Time, h *host, ready time.Time, least time.Duration, name string) ledger.Clause {
	until := p.until(now)
	if !ready.After(until) {
		until = p.promise(now, h, least)
	}
	return ledger.Clause{Name: name, Until: until, Delay: ledger.Duration(p.delay)}
}

// idle reports whether forgetting the clock at the time now would change nothing.
func (p *shared) idle(now time.Time) bool { return p.free(now) && !p.promised.Add(grace).After(now) }
