package sched

import "time"

// Host is one host's place in a [Schedule].
type Host[K comparable, Q any] struct {
	Name  K // identifies it
	Queue Q // what the store keeps for it

	ready   int64 // not served before
	due     int64 // its key in the heap it is in
	number  uint32
	queued  int32
	waiting int32
	held    int32 // in a holder's place
	freed   int32 // still held, but no longer in a place
	slots   int32
	pins    int32
	in      place
	busy    bool
	rested  bool // it was given a ready time: it is not new

	level      int64  // of its first URL; of a schedule by level, like the following
	taken      int64  // when the last of its holds began
	takenLevel int64  // the highest of the URLs that are held
	stamp      uint32 // it changes whenever the level or the place does
}

type place uint8

const (
	inNone place = iota
	inReady
	inFresh
	inResting
	inBest
)

func (h *Host[K, Q]) entry() entry { return entry{h.due, h.queued, h.number} }

// Queued returns how many URLs of h may be claimed once it is due.
func (h *Host[K, Q]) Queued() int { return int(h.queued) }

// Waiting returns how many URLs of h wait for a time of their own.
func (h *Host[K, Q]) Waiting() int { return int(h.waiting) }

// Pending returns how many URLs of h are queued, waiting or held.
func (h *Host[K, Q]) Pending() int {
	return int(h.queued) + int(h.waiting) + int(h.held) + int(h.freed)
}

// Ready returns when h may be served.
func (h *Host[K, Q]) Ready() int64 { return h.ready }

// Renew makes h, which has no work, new again if its ready time has come: it equals a host never seen, whether it was
// forgotten meanwhile or not.
func (h *Host[K, Q]) Renew(now int64) { h.rested = h.rested && h.ready > now }

// Rest makes h, which has no work, not ready before ready. A host that was given a ready time is not new.
func (h *Host[K, Q]) Rest(ready int64) {
	h.ready = max(h.ready, ready)
	h.rested = h.rested || ready != Always
}

// Never is later than every time.
const Never int64 = 1<<63 - 1

// Always is earlier than every time.
const Always int64 = -1 << 63

// Clock counts nanoseconds from the time it was made. It uses the monotonic clock for times that have one, so that
// setting the machine's clock shortens no wait.
type Clock struct{ base time.Time }

// NewClock returns a Clock that starts now.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now returns the time on c.
func (c Clock) Now() int64 { return int64(time.Since(c.base)) }

// At returns t on c; the zero Time is before everything.
func (c Clock) At(t time.Time) int64 {
	if t.IsZero() {
		return Always
	}
	return int64(t.Sub(c.base))
}

// Time is the inverse of At.
func (c Clock) Time(n int64) time.Time { return c.base.Add(time.Duration(n)) }
