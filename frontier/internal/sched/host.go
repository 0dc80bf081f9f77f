package sched

import "time"

// Host is one host's place in a [Schedule].
type Host[K comparable, Q any] struct {
	Name  K // identifies it
	Queue Q // the store's data about the host

	ready   int64 // not served before this time
	due     int64 // its key in its heap
	number  uint32
	queued  int32
	waiting int32
	held    int32 // URLs that are held and occupy a holder's place
	freed   int32 // URLs that are held but no longer occupy a place
	slots   int32
	pins    int32
	in      place
	busy    bool
	rested  bool // it was given a ready time, so it is not new

	level      int64  // of its first URL; only in a schedule by level, like the next fields
	taken      int64  // the time of its last hold
	takenLevel int64  // the highest level of the URLs that are held
	stamp      uint32 // changes with the level and the place
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

// Queued returns the number of URLs of h that may be claimed once it is due.
func (h *Host[K, Q]) Queued() int { return int(h.queued) }

// Waiting returns the number of URLs of h that wait until a NotBefore.
func (h *Host[K, Q]) Waiting() int { return int(h.waiting) }

// Pending returns the number of URLs of h that are queued, waiting or held.
func (h *Host[K, Q]) Pending() int {
	return int(h.queued) + int(h.waiting) + int(h.held) + int(h.freed)
}

// Ready returns the time from which h may be served.
func (h *Host[K, Q]) Ready() int64 { return h.ready }

// Renew makes h, which must have no pending URLs, new again if its ready time has come. It then equals a host never seen, whether
// it was forgotten or not.
func (h *Host[K, Q]) Renew(now int64) { h.rested = h.rested && h.ready > now }

// Rest delays h, which must have no pending URLs, until ready at least. A host that was given a ready time is not new.
func (h *Host[K, Q]) Rest(ready int64) {
	h.ready = max(h.ready, ready)
	h.rested = h.rested || ready != Always
}

// Never is later than every time.
const Never int64 = 1<<63 - 1

// Always is earlier than every time.
const Always int64 = -1 << 63

// Clock counts nanoseconds since it was made. It uses the monotonic clock for times that have one, so that setting the machine's
// clock shortens no wait.
type Clock struct{ base time.Time }

// NewClock returns a Clock that starts now.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now returns the time on c.
func (c Clock) Now() int64 { return int64(time.Since(c.base)) }

// At returns t on c; the zero Time is before all times.
func (c Clock) At(t time.Time) int64 {
	if t.IsZero() {
		return Always
	}
	return int64(t.Sub(c.base))
}

// Time returns the time of n on c. It is the inverse of At.
func (c Clock) Time(n int64) time.Time { return c.base.Add(time.Duration(n)) }
