package politeness

import (
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// shared is a clock that several hosts share. Hosts that have to wait for it form a line and are served in the order in
// which they came, so that none of them starves and the one that was served last is not first again.
type shared struct {
	pace
	promised time.Time // the last instant told to a host in the line

	line    []*host       // waiting; the first is served next
	left    int           // hosts that have left the line
	tickets map[*host]int // of the hosts in line: the place, plus left
}

// grace is the time that the clock is kept free for the host whose turn it is: as that host may have nothing to request any more,
// the one behind it comes after that time, and takes its turn.
const grace = 10 * time.Millisecond

// strangers is the place of a host that is not in the line, when the turn of those in front has passed.
const strangers = 2

// opens reports whether a request to h may start at now as far as this clock is concerned: it is free, and it is the turn
// of h, or those before it have not come.
func (p *shared) opens(now time.Time, h *host) bool {
	if !p.free(now) {
		return false
	}
	return !now.Before(p.turn(now, min(p.place(h), strangers)))
}

// turn is when the host at a place may take the clock, once it is free, as far as is known at now.
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

// serve takes h out of the line, with those before it, whose turn has passed.
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

// promise is when h is to come again, and puts it in the line. The first in the line comes when the clock is free, the second
// a little later, in case that the first does not. When the turn of the others comes is not known, since no one knows how
// long the requests before theirs will take; but after each follows a pause of at least least. They come before their turn
// rather than after it: then they would have lost it.
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

// held is the clause under which p makes a request to h wait. A host that has to wait longer for its own clock, until ready,
// does not join the line: its turn would pass unused.
func (p *shared) held(now time.Time, h *host, ready time.Time, least time.Duration, name string) ledger.Clause {
	until := p.until(now)
	if !ready.After(until) {
		until = p.promise(now, h, least)
	}
	return ledger.Clause{Name: name, Until: until, Delay: ledger.Duration(p.delay)}
}

// idle reports whether forgetting the clock at now would change nothing.
func (p *shared) idle(now time.Time) bool { return p.free(now) && !p.promised.Add(grace).After(now) }
