package cluster

import (
	"encoding/json"
	"slices"
	"time"
)

// clock is the clock of a host, an address or a domain that all crawls on an engine share, as the engine stores it. Times are by
// the engine's clock, in nanoseconds since 1970; 0 is none. Its rules are those of politeness.Hosts, with one more: what the
// gates of one job owe each other is known to the gate that made the last request.
type clock struct {
	Free  int64         `json:"free,omitempty"`  // from when it may be taken
	Pause time.Duration `json:"pause,omitempty"` // that led to Free
	Owner party         `json:"owner,omitzero"`  // whose pause that is. One without a gate waits, and its pause holds for itself, too

	Held  *hold `json:"held,omitempty"`
	Ended int64 `json:"ended,omitempty"` // the last request
	Last  party `json:"last,omitzero"`   // who made it

	Line []waiter `json:"line,omitempty"` // the first is served next

	host bool // the clock is that of a host: not stored, as its key says it
}

// party is a gate, the job that it is of, and the name of its crawl.
type party struct {
	Gate  string `json:"gate,omitempty"`
	Job   string `json:"job,omitempty"`
	Crawl string `json:"crawl,omitempty"`
}

// owed reports whether the delay of a gate holds after the last request. If another part of the same job made that request, the delay
// holds at a host only: the gate alone knows the host's Crawl-delay, and the other part came for another host's robots.txt. An
// address or a domain rests for the delay of the host that was requested, as in a job of one part.
func (c *clock) owed(p party) bool {
	return p.Gate != c.Last.Gate && (c.host || p.Job == "" || p.Job != c.Last.Job)
}

// hold is who has a clock.
type hold struct {
	party
	Process string        `json:"process,omitempty"` // of the gate, for a part of a job
	Turn    string        `json:"turn"`
	Until   int64         `json:"until"` // if nothing is heard of it
	Rest    time.Duration `json:"rest"`  // after that
}

// waiter is a gate that was told to wait for a clock.
type waiter struct {
	party
	Delay time.Duration `json:"delay"` // that it owes
	Due   int64         `json:"due"`   // when it comes again
	By    party         `json:"by"`    // whom it waits for
	// Closed says that the hours of its crawl begin at Due: nobody has the clock before.
	Closed bool `json:"closed,omitempty"`
}

// The times of politeness.Hosts.
const (
	clockWaiting  = 10 * time.Second       // after Due, in which a gate keeps its place
	clockRemember = time.Minute            // for which a clock is kept that says nothing
	clockRecheck  = 100 * time.Millisecond // after which to look again whether a request has ended
	strangers     = 2                      // the place of a gate that is not in the line, when the turn of those in front has passed
)

// settle ends at now what has run out.
func (c *clock) settle(now int64) {
	if h := c.Held; h != nil && h.Until <= now {
		c.done(h.Turn, h.party, h.Until, h.Until+int64(h.Rest))
	}
	c.Line = slices.DeleteFunc(c.Line, func(w waiter) bool { return w.Due+int64(clockWaiting) < now })
}

// until returns when a gate may have the clock, as far as is known at now, and whom it waits for. A time that is not after now
// means at once. A free clock is kept for grace for the first in the line, and as long again for the second.
func (c *clock) until(now int64, me party, delay, grace time.Duration) (until int64, by party) {
	if h := c.Held; h != nil {
		return min(now+int64(max(delay, clockRecheck)), h.Until+int64(h.Rest)), h.party
	}
	if c.Owner.Gate != me.Gate {
		until, by = c.Free, c.Owner
	}
	if c.Ended != 0 && c.owed(me) {
		if own := c.Ended + int64(delay); own > until {
			until, by = own, c.Last
		}
	}
	for _, w := range c.Line {
		if w.Closed && w.Gate != me.Gate && w.Due > until {
			until, by = w.Due, w.party
		}
	}
	if n := c.place(me.Gate); n > 0 {
		if turn := c.Free + int64(min(n, strangers))*int64(grace); turn > until {
			until, by = turn, c.Line[0].party
		}
	}
	return until, by
}

// place returns the number of gates that are served before one.
func (c *clock) place(gate string) int {
	if i := slices.IndexFunc(c.Line, func(w waiter) bool { return w.Gate == gate }); i >= 0 {
		return i
	}
	return len(c.Line)
}

// wait puts a gate that must wait until then into the line, if it is not there, and returns when it is to come again.
func (c *clock) wait(me party, delay time.Duration, until int64, by party) int64 {
	i := c.place(me.Gate)
	if i == len(c.Line) {
		c.Line = append(c.Line, waiter{party: me})
	}
	if i >= strangers {
		until += int64(i-1) * int64(max(delay, clockRecheck))
	}
	w := &c.Line[i]
	w.Delay, w.Due, w.By, w.Closed = delay, until, by, false
	if c.Held == nil {
		c.owe(c.Ended, *w)
	}
	return until
}

// close puts a gate whose hours are over into the line: until they begin again, nobody has the clock.
func (c *clock) close(me party, delay time.Duration, opens int64) {
	i := c.place(me.Gate)
	if i == len(c.Line) {
		c.Line = append(c.Line, waiter{party: me})
	}
	c.Line[i] = waiter{party: me, Delay: delay, Due: opens, Closed: true}
}

// owe holds the clock for the delay of a gate that waits, from the end of the last request.
func (c *clock) owe(ended int64, w waiter) {
	if ended != 0 && c.owed(w.party) {
		c.rest(ended+int64(w.Delay), w.Delay, party{Job: w.Job, Crawl: w.Crawl})
	}
}

// rest makes the clock wait until then.
func (c *clock) rest(until int64, pause time.Duration, owner party) {
	if until > c.Free {
		c.Free, c.Pause, c.Owner = until, pause, owner
	}
}

// take gives the clock to a gate, and returns whom it has waited for, nobody if it has not.
func (c *clock) take(me party, turn string, until int64, rest time.Duration) (by party) {
	if i := c.place(me.Gate); i < len(c.Line) {
		by = c.Line[i].By
	}
	c.Held = &hold{party: me, Turn: turn, Until: until, Rest: rest}
	return by
}

// alone reports whether no other gate had the clock last or waits for it.
func (c *clock) alone(gate string) bool {
	return (c.Ended == 0 || c.Last.Gate == gate) && !slices.ContainsFunc(c.Line, func(w waiter) bool { return w.Gate != gate })
}

// done gives the clock back if a turn has it, and holds it until a time. Without ended there was no request, and the gate
// keeps its place.
func (c *clock) done(turn string, me party, ended, until int64) {
	if c.Held != nil && c.Held.Turn == turn {
		c.Held = nil
	}
	if until != 0 {
		c.rest(until, time.Duration(until-ended), me)
	}
	if ended == 0 {
		return
	}
	if ended > c.Ended {
		c.Ended, c.Last = ended, me
	}
	c.leave(me.Gate)
	for _, w := range c.Line {
		c.owe(ended, w)
	}
}

// leave takes a gate out of the line.
func (c *clock) leave(gate string) {
	c.Line = slices.DeleteFunc(c.Line, func(w waiter) bool { return w.Gate == gate })
}

// life returns for how long the clock says something.
func (c *clock) life(now int64) time.Duration {
	end := max(now, c.Free)
	if c.Held != nil {
		end = max(end, c.Held.Until+int64(c.Held.Rest))
	}
	for _, w := range c.Line {
		end = max(end, w.Due+int64(clockWaiting))
	}
	return time.Duration(end-now) + clockRemember
}

// clone returns a copy that shares nothing.
func (c *clock) clone() *clock {
	x := *c
	if c.Held != nil {
		h := *c.Held
		x.Held = &h
	}
	x.Line = slices.Clone(c.Line)
	return &x
}

// encode returns the clock as the engine stores it.
func (c *clock) encode() []byte {
	b, _ := json.Marshal(c) // nothing in it can fail
	return b
}
