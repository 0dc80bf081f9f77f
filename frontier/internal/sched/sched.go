// Package sched decides which host is served next, and to which caller. It is the part of a frontier that does not depend on the storage
// of URLs.
//
// A [Schedule] holds the hosts that have URLs, in a heap by the times at which they are due. A [Line] holds the callers that wait for a
// host. [Leases] holds the claims that were granted. None of them starts a goroutine, and only [Line.Await] locks the store's mutex. For
// all other calls the store must hold its mutex. It passes the time in nanoseconds of its [Clock].
//
// Read sched.go first, then host.go, heap.go, best.go (schedules by level), line.go and leases.go.
package sched

// Schedule holds the hosts of a store in the order in which they are served. K identifies a host, Q is the store's data about a host.
type Schedule[K comparable, Q any] struct {
	hosts   map[K]*Host[K, Q]
	numbers []*Host[K, Q] // hosts by number; nil if the number is free
	free    []uint32      // numbers of forgotten hosts
	at      []int32       // by number: position of the host in its heap
	ready   heap          // hosts that may be served when they are due, except for new hosts
	fresh   heap          // new hosts that may be served when they are due
	turn    bool          // a new host comes next, if both a new and another host are due
	resting heap          // hosts without pending URLs that must be remembered until their ready time
	best    *best[K, Q]   // only in a schedule by level; if nil, the host that was due first is served
	busy    int
	queued  int
	waiting int
	held    int
}

// New makes an empty Schedule.
func New[K comparable, Q any]() *Schedule[K, Q] {
	s := &Schedule[K, Q]{hosts: map[K]*Host[K, Q]{}}
	s.ready, s.fresh, s.resting = newHeap(&s.at), newHeap(&s.at), newHeap(&s.at)
	return s
}

// Queued returns the number of URLs that may be claimed when their host is due.
func (s *Schedule[K, Q]) Queued() int { return s.queued }

// Waiting returns the number of URLs that wait until a NotBefore.
func (s *Schedule[K, Q]) Waiting() int { return s.waiting }

// Held returns the number of claimed URLs, including those that no longer occupy a slot of their host.
func (s *Schedule[K, Q]) Held() int { return s.held }

// Pending returns the number of URLs that are queued, waiting or held.
func (s *Schedule[K, Q]) Pending() int { return s.queued + s.waiting + s.held }

// Busy returns the number of hosts with a URL queued, waiting or claimed.
func (s *Schedule[K, Q]) Busy() int { return s.busy }

// Len returns the number of hosts that are remembered: hosts with pending URLs and hosts whose ready time has not come.
func (s *Schedule[K, Q]) Len() int { return len(s.hosts) }

// Find returns the host with this name, or nil if it is not remembered.
func (s *Schedule[K, Q]) Find(name K) *Host[K, Q] { return s.hosts[name] }

// After returns the host with the lowest number from n on, or nil, and the n for the next call. Calls beginning with 0 visit all hosts.
// Hosts may be added and removed between the calls.
func (s *Schedule[K, Q]) After(n int) (h *Host[K, Q], next int) {
	for ; n < len(s.numbers); n++ {
		if s.numbers[n] != nil {
			return s.numbers[n], n + 1
		}
	}
	return nil, n
}

// Open adds a host with this name, which must not be remembered. Up to slots of its URLs may be held at a time; a number below 1 means 1.
func (s *Schedule[K, Q]) Open(name K, slots int) *Host[K, Q] {
	h := &Host[K, Q]{Name: name, ready: Always, slots: int32(max(1, slots)), number: s.number()}
	s.numbers[h.number] = h
	s.hosts[name] = h
	return h
}

// number returns an unused number.
func (s *Schedule[K, Q]) number() uint32 {
	if n := len(s.free) - 1; n >= 0 {
		number := s.free[n]
		s.free = s.free[:n]
		return number
	}
	s.numbers, s.at = append(s.numbers, nil), append(s.at, 0)
	return uint32(len(s.numbers) - 1)
}

// Offer adds n URLs to h that may be claimed.
func (s *Schedule[K, Q]) Offer(h *Host[K, Q], n int, now int64) {
	h.queued += int32(n)
	s.queued += n
	s.place(h, now)
}

// Park adds n URLs to h that wait until a NotBefore.
func (s *Schedule[K, Q]) Park(h *Host[K, Q], n int, now int64) {
	h.waiting += int32(n)
	s.waiting += n
	s.place(h, now)
}

// Unpark makes n URLs that waited claimable.
func (s *Schedule[K, Q]) Unpark(h *Host[K, Q], n int, now int64) {
	h.waiting -= int32(n)
	s.waiting -= n
	s.Offer(h, n, now)
}

// Take returns the host to serve at the time now and counts one of its URLs as held. It returns nil if none is due. While both new and
// other hosts are due, they take turns. Of each kind it returns the host that was due first, and of hosts that are due at the same time
// the one with most queued URLs (F6).
func (s *Schedule[K, Q]) Take(now int64) *Host[K, Q] {
	var from *heap
	switch {
	case s.best != nil:
		if !s.chooseBest(now) {
			return nil
		}
		from = &s.best.due
	case s.fresh.next() <= now && (s.turn || s.ready.next() > now):
		from = &s.fresh
	case s.ready.next() <= now:
		from = &s.ready
	default:
		return nil
	}
	s.turn = from == &s.ready
	h := s.first(from)
	s.leave(h) // so that a host with several slots comes after the others
	if s.best != nil {
		if h.held+h.freed > 0 {
			h.takenLevel = max(h.takenLevel, h.level)
		} else {
			h.takenLevel = h.level
		}
		h.taken = now
	}
	h.queued--
	s.queued--
	h.held++
	s.held++
	s.place(h, now)
	return h
}

// Fate says what becomes of a held URL when its hold ends.
type Fate uint8

// The fates of held URLs.
const (
	Gone  Fate = iota // the URL is done
	Back              // the URL may be claimed again
	Later             // the URL waits until a given time
)

// Release ends the hold of a URL of h and delays h at least until ready. It never makes the ready time earlier: if several URLs of a host
// are held, the latest ready time applies.
func (s *Schedule[K, Q]) Release(h *Host[K, Q], f Fate, ready, now int64) {
	h.held--
	s.held--
	h.Rest(ready)
	switch f {
	case Back:
		h.queued++
		s.queued++
	case Later:
		h.waiting++
		s.waiting++
	}
	s.place(h, now)
}

// Free frees the slot of a held URL of h and delays h at least until ready. The URL stays held until Finish.
func (s *Schedule[K, Q]) Free(h *Host[K, Q], ready, now int64) {
	h.held--
	h.freed++
	h.Rest(ready)
	s.place(h, now)
}

// Finish is like Release, for a held URL whose slot was freed.
func (s *Schedule[K, Q]) Finish(h *Host[K, Q], f Fate, ready, now int64) {
	h.freed--
	h.held++
	s.Release(h, f, ready, now)
}

// Delay delays h at least until ready. A new host remains new.
func (s *Schedule[K, Q]) Delay(h *Host[K, Q], ready, now int64) {
	h.ready = max(h.ready, ready)
	s.place(h, now)
}

// Pin keeps h from being forgotten until Unpin is called as many times.
func (s *Schedule[K, Q]) Pin(h *Host[K, Q]) {
	h.pins++
	if h.in == inResting {
		s.leave(h)
	}
}

// Unpin reverts one Pin.
func (s *Schedule[K, Q]) Unpin(h *Host[K, Q], now int64) {
	h.pins--
	s.place(h, now)
}

// Forget removes and returns a host without pending URLs whose ready time has come, or returns nil. If the host is added again, it is
// like a host that was never seen.
func (s *Schedule[K, Q]) Forget(now int64) *Host[K, Q] {
	if s.resting.next() > now {
		return nil
	}
	h := s.first(&s.resting)
	s.leave(h)
	delete(s.hosts, h.Name)
	s.numbers[h.number] = nil
	s.free = append(s.free, h.number)
	return h
}

func (s *Schedule[K, Q]) first(p *heap) *Host[K, Q] { return s.numbers[p.entries[root].host] }

// Next returns the time at which the next host is due, or [Never] if no host has URLs to claim.
func (s *Schedule[K, Q]) Next() int64 {
	if s.best != nil {
		return s.nextBest()
	}
	return min(s.ready.next(), s.fresh.next())
}

// place puts h into the heap that fits its counts. A host is due from its ready time on, or later, from the time at which it had both a
// queued URL and a free slot, so that a new host does not overtake hosts that have been waiting.
func (s *Schedule[K, Q]) place(h *Host[K, Q], now int64) {
	s.count(h)
	switch {
	case s.best != nil && (h.queued > 0 || h.held+h.freed > 0):
		s.lineBest(h, now)
	case h.queued > 0 && h.held < h.slots:
		s.line(h, now)
	case h.Pending() > 0 || h.pins > 0:
		s.leave(h)
	default:
		s.leave(h)
		h.due = h.ready
		s.resting.push(h.entry())
		h.in = inResting
	}
}

// line puts h among the hosts that may be served: among the new hosts, unless h was given a ready time.
func (s *Schedule[K, Q]) line(h *Host[K, Q], now int64) {
	in, heap := inFresh, &s.fresh
	if h.rested {
		in, heap = inReady, &s.ready
	}
	if h.in == inNone || h.in == inResting {
		h.due = now
	}
	h.due = max(h.due, h.ready)
	if h.in == in {
		heap.fix(h.entry())
		return
	}
	s.leave(h)
	heap.push(h.entry())
	h.in = in
}

func (s *Schedule[K, Q]) leave(h *Host[K, Q]) {
	switch h.in {
	case inReady:
		s.ready.remove(h.number)
	case inFresh:
		s.fresh.remove(h.number)
	case inResting:
		s.resting.remove(h.number)
	case inBest:
		s.best.due.remove(h.number)
	}
	h.in = inNone
}

func (s *Schedule[K, Q]) count(h *Host[K, Q]) {
	if busy := h.Pending() > 0; busy != h.busy {
		h.busy = busy
		if busy {
			s.busy++
		} else {
			s.busy--
		}
	}
}
