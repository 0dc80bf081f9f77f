package cluster

import (
	"encoding/json"
	"slices"
	"time"
)

// clock is the shared clock of a host, an address or a domain, as the engine stores it for all crawls. Times are nanoseconds since 1970 by
// the engine's clock; 0 means none. Its rules are those of politeness.Hosts, with one addition: among gates of the same job, the gate that
// made the last request has already counted the delay (see owed).
type clock struct {
	Free  int64         `json:"free,omitempty"`  // time from which a gate may take the clock
	Pause time.Duration `json:"pause,omitempty"` // delay that led to Free
	Owner claimant      `json:"owner,omitzero"`  // claimant that caused the delay; Gate is "" if it still waits: then its own gate must obey the delay, too

	Held  *hold    `json:"held,omitempty"`
	Ended int64    `json:"ended,omitempty"` // end of the last request
	Last  claimant `json:"last,omitzero"`   // claimant that made the last request

	Line []waiter `json:"line,omitempty"` // queue of gates; the first gets the clock next

	host bool // whether it is the clock of a host; not stored, because the key shows it
}

// claimant identifies a gate, its job and the name of its crawl.
type claimant struct {
	Gate  string `json:"gate,omitempty"`
	Job   string `json:"job,omitempty"`
	Crawl string `json:"crawl,omitempty"`
}

// owed reports whether a gate must keep its delay after the last request. If another part of the same job made that request, the gate
// must do so only at a host: only this gate knows the host's Crawl-delay, and the other part requested the host's robots.txt for another
// host. An address or a domain is held for the delay of the requested host, as in a job with a single part.
func (c *clock) owed(p claimant) bool {
	return p.Gate != c.Last.Gate && (c.host || p.Job == "" || p.Job != c.Last.Job)
}

// hold describes the holder of a clock.
type hold struct {
	claimant
	Process string        `json:"process,omitempty"` // process of the gate, in a job with several parts
	Turn    string        `json:"turn"`
	Until   int64         `json:"until"` // time at which the clock is free again if the holder is silent
	Rest    time.Duration `json:"rest"`  // delay after Until
}

// waiter is a gate in the queue of a clock.
type waiter struct {
	claimant
	Delay time.Duration `json:"delay"` // required delay of the gate
	Due   int64         `json:"due"`   // time of its next attempt
	By    claimant      `json:"by"`    // claimant that the gate waits for
	// Closed marks a gate whose permitted hours begin at Due: no gate gets the clock before then.
	Closed bool `json:"closed,omitempty"`
}

// Times and limits, as in politeness.Hosts.
const (
	clockWaiting  = 10 * time.Second       // time after Due for which a gate keeps its place
	clockRemember = time.Minute            // time for which a clock without state remains stored
	clockRecheck  = 100 * time.Millisecond // interval of checks whether a request has ended
	strangers     = 2                      // waiting gates for which a free clock is reserved; then any gate may take the clock
)

// settle ends a hold and removes waiters that have expired at the time now.
func (c *clock) settle(now int64) {
	if h := c.Held; h != nil && h.Until <= now {
		c.done(h.Turn, h.claimant, h.Until, h.Until+int64(h.Rest))
	}
	c.Line = slices.DeleteFunc(c.Line, func(w waiter) bool { return w.Due+int64(clockWaiting) < now })
}

// until returns the earliest time at which a gate (me) may take the clock, as far as is known at the time now, and the claimant that it
// waits for. A time that is not after now means at once. A free clock is first reserved for the first gate in the queue, for the duration
// grace, and then for the second one, for the same duration.
func (c *clock) until(now int64, me claimant, delay, grace time.Duration) (until int64, by claimant) {
	if h := c.Held; h != nil {
		return min(now+int64(max(delay, clockRecheck)), h.Until+int64(h.Rest)), h.claimant
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
			until, by = w.Due, w.claimant
		}
	}
	if n := c.place(me.Gate); n > 0 {
		if turn := c.Free + int64(min(n, strangers))*int64(grace); turn > until {
			until, by = turn, c.Line[0].claimant
		}
	}
	return until, by
}

// place returns the number of gates that get the clock before this one.
func (c *clock) place(gate string) int {
	if i := slices.IndexFunc(c.Line, func(w waiter) bool { return w.Gate == gate }); i >= 0 {
		return i
	}
	return len(c.Line)
}

// wait adds a gate to the queue unless it is there, and returns the time of its next attempt.
func (c *clock) wait(me claimant, delay time.Duration, until int64, by claimant) int64 {
	i := c.place(me.Gate)
	if i == len(c.Line) {
		c.Line = append(c.Line, waiter{claimant: me})
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

// close adds a gate outside its permitted hours to the queue: no gate gets the clock until those hours begin again.
func (c *clock) close(me claimant, delay time.Duration, opens int64) {
	i := c.place(me.Gate)
	if i == len(c.Line) {
		c.Line = append(c.Line, waiter{claimant: me})
	}
	c.Line[i] = waiter{claimant: me, Delay: delay, Due: opens, Closed: true}
}

// owe extends the clock's pause by the delay of a waiting gate, counted from the end of the last request.
func (c *clock) owe(ended int64, w waiter) {
	if ended != 0 && c.owed(w.claimant) {
		c.rest(ended+int64(w.Delay), w.Delay, claimant{Job: w.Job, Crawl: w.Crawl})
	}
}

// rest makes the clock pause until the given time, unless it already pauses longer.
func (c *clock) rest(until int64, pause time.Duration, owner claimant) {
	if until > c.Free {
		c.Free, c.Pause, c.Owner = until, pause, owner
	}
}

// take gives the clock to a gate, and returns the claimant that it has waited for, if any.
func (c *clock) take(me claimant, turn string, until int64, rest time.Duration) (by claimant) {
	if i := c.place(me.Gate); i < len(c.Line) {
		by = c.Line[i].By
	}
	c.Held = &hold{claimant: me, Turn: turn, Until: until, Rest: rest}
	return by
}

// alone reports whether no other gate held the clock last or waits for it.
func (c *clock) alone(gate string) bool {
	return (c.Ended == 0 || c.Last.Gate == gate) && !slices.ContainsFunc(c.Line, func(w waiter) bool { return w.Gate != gate })
}

// done releases the clock if turn holds it, and makes it pause until a time. ended is the end of the request; 0 if none was made: then the
// gate keeps its place in the queue.
func (c *clock) done(turn string, me claimant, ended, until int64) {
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

// leave removes a gate from the queue.
func (c *clock) leave(gate string) {
	c.Line = slices.DeleteFunc(c.Line, func(w waiter) bool { return w.Gate == gate })
}

// life returns the time for which the clock must be stored.
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

// clone returns a deep copy.
func (c *clock) clone() *clock {
	x := *c
	if c.Held != nil {
		h := *c.Held
		x.Held = &h
	}
	x.Line = slices.Clone(c.Line)
	return &x
}

// encode returns the form in which the engine stores the clock.
func (c *clock) encode() []byte {
	b, _ := json.Marshal(c) // marshalling a clock cannot fail
	return b
}
