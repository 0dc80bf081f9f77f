package sched

import (
	"math"

	"github.com/amble-crawler/amble/frontier/internal/pq"
)

// best holds, in a [Schedule] by level, the hosts that are due, and the hosts for which it may be worth waiting.
type best[K comparable, Q any] struct {
	of       func(*Host[K, Q]) int64 // returns the level of a host's first URL; higher is better
	patience int64                   // maximum time to wait for a better host
	due      heap                    // hosts that may be served now, with the highest level first
	soon     pq.Heap[promise[K, Q]]  // hosts that may be served soon, with the highest level first
}

// promise says that a host may be served soon. It is valid as long as its stamp equals that of the host.
type promise[K comparable, Q any] struct {
	host  *Host[K, Q]
	level int64
	until int64 // time until which the schedule waits for the host
	stamp uint32
}

// Before reports whether a has a higher level than b.
func (a promise[K, Q]) Before(b promise[K, Q]) bool { return a.level > b.level }

func (a promise[K, Q]) kept() bool { return a.stamp == a.host.stamp }

// NewBest makes an empty Schedule that serves, of the hosts that are due, the host with the highest level, and among equal levels the
// host that was due first. It waits for a host with a higher level that is not ready yet, if it becomes ready within patience, and for
// one that is held, for at most patience. It also waits for a host as long as one of its URLs with a higher level is held, because the
// links of that page may be as good. A store must call [Schedule.Update] when a level has changed.
func NewBest[K comparable, Q any](level func(*Host[K, Q]) int64, patience int64) *Schedule[K, Q] {
	s := New[K, Q]()
	s.best = &best[K, Q]{of: level, patience: patience, due: newHeap(&s.at)}
	return s
}

// Level returns the last known level of the first URL of h, in a schedule by level.
func (h *Host[K, Q]) Level() int64 { return h.level }

// Update tells the schedule that the level of h may have changed. In a schedule by time it does nothing.
func (s *Schedule[K, Q]) Update(h *Host[K, Q], now int64) {
	if s.best != nil {
		s.place(h, now)
	}
}

// bestEntry orders hosts by level; then by the time at which they became due, in steps of 4 ms; then by their number of URLs.
func (h *Host[K, Q]) bestEntry() entry {
	return entry{-h.level<<30 | min(max(h.due, 0)>>22, 1<<30-1), h.queued, h.number}
}

// lineBest enters a host that has queued or held URLs among the hosts that are due or will be, and records whether the schedule waits for
// it.
func (s *Schedule[K, Q]) lineBest(h *Host[K, Q], now int64) {
	b := s.best
	level := int64(math.MinInt64)
	if h.queued > 0 {
		h.level = b.of(h)
		level = h.level
	}
	if h.held+h.freed > 0 {
		level = max(level, h.takenLevel)
	}
	h.stamp++
	if h.queued == 0 || h.held >= h.slots {
		s.leave(h)
		s.promise(h, level, h.taken+b.patience, now)
		return
	}
	if h.in == inNone || h.in == inResting {
		h.due = now
	}
	h.due = max(h.due, h.ready)
	s.leave(h)
	if h.due > now {
		s.ready.push(h.entry())
		h.in = inReady
		if h.due-now <= b.patience {
			s.promise(h, level, h.due, now)
		}
		return
	}
	b.due.push(h.bestEntry())
	h.in = inBest
}

// promise records that h may be served by the time until, at this level. When more than half of the promises are invalid, they are
// dropped.
func (s *Schedule[K, Q]) promise(h *Host[K, Q], level, until, now int64) {
	b := s.best
	if b.patience == 0 || until <= now {
		return
	}
	b.soon.Push(promise[K, Q]{h, level, until, h.stamp})
	if b.soon.Len() > 2*len(s.hosts)+64 {
		var kept pq.Heap[promise[K, Q]]
		for _, p := range b.soon.All() {
			if p.kept() && p.until > now {
				kept.Push(p)
			}
		}
		b.soon = kept
	}
}

// chooseBest updates the heaps to the time now, and reports whether the first host that is due may be served.
func (s *Schedule[K, Q]) chooseBest(now int64) bool {
	b := s.best
	for s.ready.next() <= now {
		h := s.first(&s.ready)
		s.leave(h)
		h.stamp++
		b.due.push(h.bestEntry())
		h.in = inBest
	}
	for b.soon.Len() > 0 && (!b.soon.Top().kept() || b.soon.Top().until <= now) {
		b.soon.Pop()
	}
	return !b.due.empty() && !s.waits()
}

// waits reports whether some host that may be served soon is better than all hosts that are due.
func (s *Schedule[K, Q]) waits() bool {
	b := s.best
	for b.soon.Len() > 0 && !b.soon.Top().kept() {
		b.soon.Pop()
	}
	return b.soon.Len() > 0 && b.soon.Top().level > s.first(&b.due).level
}

// nextBest implements Next for a schedule by level.
func (s *Schedule[K, Q]) nextBest() int64 {
	switch {
	case s.best.due.empty():
		return s.ready.next()
	case s.waits():
		return min(s.ready.next(), s.best.soon.Top().until)
	}
	return Always
}
