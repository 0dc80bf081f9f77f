package sched

import "time"

// Host is the state of one host in a [Schedule].
type Host[K comparable, Q any] struct {
	Name  K // identifies the host
	Queue Q // the store's data about the host

	ready   int64 // the host is not served before this time
	due     int64 // key of the host in its heap
	number  uint32
	queued  int32
	waiting int32
	held    int32 // held URLs that occupy a slot of the host
	freed   int32 // held URLs that no longer occupy a slot
	slots   int32
	pins    int32
	in      place
	busy    bool
	rested  bool // the host was given a ready time, so it is not new

	level      int64  // level of the first URL; level and the fields below are used only in a schedule by level
	taken      int64  // time at which a URL was last held
	takenLevel int64  // highest level of the held URLs
	stamp      uint32 // changes when the level or the heap of the host changes
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

// Queued returns the number of URLs of h that may be claimed when h is due.
func (h *Host[K, Q]) Queued() int { return int(h.queued) }

// Waiting returns the number of URLs of h that wait until a NotBefore.
func (h *Host[K, Q]) Waiting() int { return int(h.waiting) }

// Pending returns the number of URLs of h that are queued, waiting or held.
func (h *Host[K, Q]) Pending() int {
	return int(h.queued) + int(h.waiting) + int(h.held) + int(h.freed)
}

// Ready returns the time from which h may be served.
func (h *Host[K, Q]) Ready() int64 { return h.ready }

// Renew makes h, which must have no pending URLs, new again if its ready time has come. It then does not differ from a host that was
// forgotten.
func (h *Host[K, Q]) Renew(now int64) { h.rested = h.rested && h.ready > now }

// Rest delays h, which must have no pending URLs, at least until ready. A host that was given a ready time is not new.
func (h *Host[K, Q]) Rest(ready int64) {
	h.ready = max(h.ready, ready)
	h.rested = h.rested || ready != Always
}

// Never is later than every time.
const Never int64 = 1<<63 - 1

// Always is earlier than every time.
const Always int64 = -1 << 63

// Clock counts nanoseconds since it was made. For times with a monotonic reading it uses that, so that no wait becomes shorter if the
// machine's clock is set.
type Clock struct{ base time.Time }

// NewClock returns a Clock that starts now.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now returns the time on c.
func (c Clock) Now() int64 { return int64(time.Since(c.base)) }

// At converts t to a time of c. The zero Time is before all others.
func (c Clock) At(t time.Time) int64 {
	if t.IsZero() {
		return Always
	}
	return int64(t.Sub(c.base))
}

// Time converts a time of c to a time.Time. It is the inverse of At.
func (c Clock) Time(n int64) time.Time { return c.base.Add(time.Duration(n)) }
