package sched

import (
	"math"

	"github.com/amble-crawler/amble/frontier/internal/pq"
)

// best holds the hosts of a [Schedule] by level that are due, and those that are worth waiting for.
type best[K comparable, Q any] struct {
	of       func(*Host[K, Q]) int64 // the level of a host's first URL; higher is better
	patience int64                   // the longest time for which a better host is waited for
	due      heap                    // hosts that may be served, the highest level first
	soon     pq.Heap[promise[K, Q]]  // hosts that may be served soon
}

// promise says that a host may be served soon, if its stamp is the same.
type promise[K comparable, Q any] struct {
	host  *Host[K, Q]
	level int64
	until int64 // it is not waited for from then on
	stamp uint32
}

// Before reports whether a has the higher level.
func (a promise[K, Q]) Before(b promise[K, Q]) bool { return a.level > b.level }

func (a promise[K, Q]) kept() bool { return a.stamp == a.host.stamp }

// NewBest makes an empty Schedule that serves, of the hosts that are due, the one with the highest level; of those with the
// same level the one due earliest. A host with a higher level that rests or is held is waited for, if it rests for
// patience at most, or was taken no longer ago than that. So is one of which a URL of a higher level is held: what that leads to may be
// as good. A store calls [Schedule.Update] when a level has changed.
func NewBest[K comparable, Q any](level func(*Host[K, Q]) int64, patience int64) *Schedule[K, Q] {
	s := New[K, Q]()
	s.best = &best[K, Q]{of: level, patience: patience, due: newHeap(&s.at)}
	return s
}

// Level returns the level of the first URL of h as it was known last, in a schedule by level.
func (h *Host[K, Q]) Level() int64 { return h.level }

// Update notes that the level of h may have changed. In a schedule by time it does nothing.
func (s *Schedule[K, Q]) Update(h *Host[K, Q], now int64) {
	if s.best != nil {
		s.place(h, now)
	}
}

// bestEntry orders hosts by level, then by the time since when they are due, to 4 ms, then by how many URLs they have.
func (h *Host[K, Q]) bestEntry() entry {
	return entry{-h.level<<30 | min(max(h.due, 0)>>22, 1<<30-1), h.queued, h.number}
}

// lineBest puts a host that has URLs, or of which some are held, among those that are due or will be, and notes if it is worth waiting
// for.
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

// promise notes that h may be served by until, at that level. What is no longer true is dropped when it has become the larger part.
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

// chooseBest brings the heaps to now, and reports whether the first host that is due is to be served.
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

// waits reports whether a host that may be served soon is better than all that are due.
func (s *Schedule[K, Q]) waits() bool {
	b := s.best
	for b.soon.Len() > 0 && !b.soon.Top().kept() {
		b.soon.Pop()
	}
	return b.soon.Len() > 0 && b.soon.Top().level > s.first(&b.due).level
}

// nextBest is Next of a schedule by level.
func (s *Schedule[K, Q]) nextBest() int64 {
	switch {
	case s.best.due.empty():
		return s.ready.next()
	case s.waits():
		return min(s.ready.next(), s.best.soon.Top().until)
	}
	return Always
}
