// Package sharedclock decides which of several crawls may use a clock that they share, and from when. It neither stores nor locks
// clocks: package politeness does it in memory, and politeness/machine in a file.
package sharedclock

import (
	"slices"
	"time"
)

// Clock is a clock that crawls share: that of a host, an address or a domain. Crawls that wait for it are in its Line.
// The zero Clock is free.
type Clock struct {
	NotBefore time.Time     // when the next request may start
	Delay     time.Duration // the pause that set NotBefore
	Owner     Party         // the crawl whose pause sets NotBefore
	Waits     bool          // Owner is waiting for the clock, so its pause applies to itself, too

	Holder Party         // the crawl that uses the clock now
	Turns  int           // number of requests for which Holder has taken the clock; its Gate admits only one of them
	Owes   time.Duration // the pause due if Holder ends without a report

	Ended time.Time // end of the last request, by the wall clock
	Last  Party     // the crawl that made the last request

	Line []Waiter // crawls that wait; the first is served next
}

// Party is a Gate and the name of its crawl.
type Party struct{ Gate, Crawl string }

// Waiter is a crawl that was told to wait for a clock.
type Waiter struct {
	Party
	Delay time.Duration // pause that the crawl requires
	Due   time.Time     // time at which the crawl will try again
	By    Party         // the crawl for which this one waits
	// Closed means that the hours in which the crawl makes requests begin at Due: nobody may use the clock before.
	Closed bool
}

const (
	// Recheck is the time after which a crawl tries again to use a clock that is busy for an unknown time and has no
	// delay.
	Recheck = 5 * time.Millisecond
	// Grace is the time for which a free clock is reserved for the crawl whose turn it is.
	Grace = 10 * time.Millisecond
	// Unsteady is the maximum step by which the wall clock may be set back without consequences.
	Unsteady = time.Second
	// Remember limits the time for which a clock that nobody waits for is kept for crawls with a longer delay.
	Remember = time.Minute

	// strangers is the number of turns for which a free clock is reserved for Line. After them, any crawl may take the clock.
	strangers = 2
	// waiting limits the time after Due for which a crawl keeps its place.
	waiting = 10 * time.Second
)

// Until returns the time at which p may next take the clock, as far as is known at the time now, and the crawl that p must
// wait for.
func (c *Clock) Until(now time.Time, p Party, delay time.Duration) (until time.Time, by Party) {
	if c.Turns > 0 {
		if c.Holder.Gate == p.Gate {
			return now, by // p holds the clock itself, so p's Gate decides about the pause
		}
		return now.Add(max(delay, Recheck)), c.Holder
	}
	c.rewind(now.Add(Unsteady)) // correct NotBefore if the wall clock was set back
	free := c.ready(now)
	if c.Waits || c.Owner.Gate != p.Gate {
		until, by = free, c.Owner
	}
	if c.Last.Gate != p.Gate && !c.Ended.IsZero() {
		if own := now.Add(c.Ended.Add(delay).Sub(now)); own.After(until) {
			until, by = own, c.Last
		}
	}
	for _, w := range c.Line {
		if w.Closed && w.Gate != p.Gate && w.Due.After(until) {
			until, by = w.Due, w.Party
		}
	}
	if n := c.place(now, p.Gate); n > 0 {
		if turn := free.Add(time.Duration(min(n, strangers)) * Grace); turn.After(until) {
			until, by = turn, c.Line[0].Party
		}
	}
	return until, by
}

// ready returns NotBefore or, after a wall clock was set back a little, the instant at which NotBefore has passed by that
// clock, too: the ledger shows pauses by the wall clock alone.
func (c *Clock) ready(now time.Time) time.Time {
	if wait := c.NotBefore.Round(0).Sub(now); !c.NotBefore.After(now) && 0 < wait && wait <= Unsteady {
		return now.Add(wait)
	}
	return c.NotBefore
}

// rewind brings the clock back to now if it is dated later. A pause that would begin later begins now.
func (c *Clock) rewind(now time.Time) {
	if c.Ended.After(now) {
		c.Ended = now.Round(0)
	}
	if c.NotBefore.Add(-c.Delay).After(now) {
		c.NotBefore = now.Add(c.Delay)
	}
}

// place returns the number of crawls in the line before the crawl of this Gate.
func (c *Clock) place(now time.Time, gate string) int {
	c.expire(now)
	for i, w := range c.Line {
		if w.Gate == gate {
			return i
		}
	}
	return len(c.Line)
}

// expire removes crawls that did not try again when they were due.
func (c *Clock) expire(now time.Time) {
	c.Line = slices.DeleteFunc(c.Line, func(w Waiter) bool { return w.Due.Add(waiting).Before(now) })
}

// Idle reports whether the clock may be forgotten: nobody uses it or waits for it, and its last pause ended long ago.
func (c *Clock) Idle(now time.Time) bool {
	c.expire(now)
	return c.Turns == 0 && len(c.Line) == 0 && c.ready(now).Add(Remember).Before(now) && now.Sub(c.Ended) > Remember
}

// Wait puts a crawl into the line, if it is not in it, and returns the time at which it should try
// again: until or, behind the second place, later by one pause for each crawl in front. The crawl tries
// before its turn rather than after it. Its delay applies from now on, whoever made the last request.
func (c *Clock) Wait(p Party, delay time.Duration, until time.Time, by Party) time.Time {
	i := c.enter(p)
	if i >= strangers {
		until = until.Add(time.Duration(i-1) * max(delay, Recheck))
	}
	w := &c.Line[i]
	w.Delay, w.Due, w.By, w.Closed = delay, until, by, false
	if c.Turns == 0 && c.Last.Gate != p.Gate {
		c.owe(c.Ended, *w)
	}
	return until
}

// Close puts a crawl whose hours are over into the line. Nobody may use the clock until the hours begin again.
func (c *Clock) Close(p Party, delay time.Duration, opens time.Time) {
	w := &c.Line[c.enter(p)]
	w.Delay, w.Due, w.By, w.Closed = delay, opens, Party{}, true
}

// enter puts a crawl at the end of the line, if it is not in it, and returns its place.
func (c *Clock) enter(p Party) int {
	i := slices.IndexFunc(c.Line, func(w Waiter) bool { return w.Gate == p.Gate })
	if i < 0 {
		i = len(c.Line)
		c.Line = append(c.Line, Waiter{Party: p})
	}
	return i
}

// owe holds the clock for the delay of a crawl that waits, counted from the end of the last request.
func (c *Clock) owe(ended time.Time, w Waiter) {
	if !ended.IsZero() && c.hold(ended.Add(w.Delay), w.Delay, w.Party) {
		c.Waits = true
	}
}

// hold makes the clock wait until t, and reports whether that lengthens its wait.
func (c *Clock) hold(t time.Time, d time.Duration, owner Party) bool {
	if !c.NotBefore.Before(t) {
		return false
	}
	c.NotBefore, c.Delay, c.Owner, c.Waits = t, d, owner, false
	return true
}

// Latest returns the clock that a crawl can use last, among those that it cannot use yet, with the time and the crawl that it
// waits for. The clock is nil if the crawl may use all clocks now. Nil clocks are ignored.
func Latest(now time.Time, clocks []*Clock, p Party, delay time.Duration) (late *Clock, until time.Time, by Party) {
	for _, c := range clocks {
		if c == nil {
			continue
		}
		if at, who := c.Until(now, p, delay); at.After(now) && at.After(until) {
			late, until, by = c, at, who
		}
	}
	return late, until, by
}

// Take gives clocks to a crawl. owes is the pause due after its request. If the crawl had to wait for others, Take
// returns the clock for which it waited longest, and its place in the line of that clock. Nil clocks are ignored.
func Take(now time.Time, clocks []*Clock, p Party, owes time.Duration) (waited *Clock, place Waiter) {
	for _, c := range clocks {
		if c == nil {
			continue
		}
		c.Holder, c.Owes = p, owes
		c.Turns++
		i := slices.IndexFunc(c.Line, func(w Waiter) bool { return w.Gate == p.Gate })
		if i >= 0 && (waited == nil || c.NotBefore.After(waited.NotBefore)) {
			waited, place = c, c.Line[i]
		}
	}
	if waited != nil && waited.NotBefore.After(now) { // the clock is not free yet: the Gate of the waiting crawl decides about the pause
		return nil, place
	}
	return waited, place
}

// Release ends one turn of the crawl that uses the clock.
func (c *Clock) Release() {
	if c.Turns--; c.Turns <= 0 {
		c.Turns, c.Holder, c.Owes = 0, Party{}, 0
	}
}

// Hold makes the clock wait until a time. ended is the end of the request before it; the zero Time means that there was no
// request.
func (c *Clock) Hold(now time.Time, p Party, ended, until time.Time) {
	from := ended
	if from.IsZero() {
		from = now
	}
	c.hold(until, until.Sub(from), p)
	if ended.IsZero() {
		return
	}
	if ended = ended.Round(0); ended.After(c.Ended) {
		c.Ended = ended
	}
	c.Last = p
	c.Leave(p.Gate)
	for _, w := range c.Line {
		c.owe(ended, w)
	}
}

// Leave removes a crawl from the line.
func (c *Clock) Leave(gate string) {
	c.Line = slices.DeleteFunc(c.Line, func(w Waiter) bool { return w.Gate == gate })
}
