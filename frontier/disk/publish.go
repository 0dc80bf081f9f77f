package disk

import (
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// publish lets the effects of a group be seen and its callers go, or tells them why there are none.
func (s *Store) publish(g *group, err error) {
	if err != nil {
		err = s.fail(err)
	} else {
		s.noteKnown(g)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.advance(now)
	if err == nil && !s.broken { // else the callers have been told that it failed
		for _, o := range g.ops {
			s.publishOp(o, now)
		}
	}
	for _, h := range g.hosts {
		s.hosts.Unpin(h, now)
	}
	s.notify()
	for _, o := range g.ops {
		s.answer(o, err)
	}
}

func (s *Store) publishOp(o *op, now int64) {
	for _, st := range o.steps {
		if st.end != nil {
			s.publishEnding(st.end, now)
		}
	}
	for _, f := range o.fresh {
		s.published = max(s.published, f.number+1)
		s.hosts.Offer(f.host, 1, now)
		s.add(f.host, f.entry)
	}
	s.done += o.done
	s.rejected += o.rejected
	for name, offset := range o.checkpoint.Offsets {
		s.offsets.set(o.checkpoint.Owner, name, offset)
	}
}

func (s *Store) publishEnding(e *ending, now int64) {
	s.giveBack(e.lease)
	if e.anew {
		s.published = max(s.published, e.to.number+1)
	}
	if e.freed {
		s.hosts.Finish(e.host, e.fate, e.ready, now)
	} else {
		s.hosts.Release(e.host, e.fate, e.ready, now)
	}
	switch e.fate {
	case sched.Back:
		s.add(e.host, entry{e.to, e.value})
	case sched.Later:
		s.waiting.add(waiter{e.to, e.until, e.host})
	}
}

// giveBack notes that a URL is no longer claimed.
func (s *Store) giveBack(l *lease) {
	delete(s.claimed, l.key)
	s.returned(l.host, l.place)
}

// advance does what was to happen by now: claims expire, URLs become claimable at their NotBefore,
// rested hosts are forgotten. Each takes effect at the time it was due, however late it is noticed.
func (s *Store) advance(now int64) {
	for {
		lost := s.leases.Next()
		due := sched.Never
		if s.waiting.soon.Len() > 0 {
			due = s.waiting.soon.Top().due
		}
		switch {
		case min(due, lost) > now:
			s.asOf = now
			s.forget(now)
			if s.waiting.low() {
				s.tellWriter()
			}
			return
		case due <= lost:
			w := s.waiting.soon.Pop()
			s.hosts.Unpark(w.host, 1, w.due)
			s.add(w.host, entry{place: w.place})
		default:
			l, _ := s.leases.Expire(now)
			s.giveBack(l)
			s.hosts.Release(l.host, sched.Back, sched.Always, lost)
			s.add(l.host, l.entry)
		}
	}
}

// forget drops a few hosts at a time: each call brings up one at most, so they cannot pile up.
func (s *Store) forget(now int64) {
	for range 4 {
		h := s.hosts.Forget(now)
		if h == nil {
			return
		}
		s.dead = append(s.dead, h.Name)
	}
}

// next is when a Claim that waits should look again.
func (s *Store) next() int64 {
	if s.closed || s.err != nil || s.hosts.Pending() == 0 {
		return s.clock.Now()
	}
	if s.waiting.behind(s.asOf) {
		return sched.Never // until it is loaded
	}
	return min(s.hosts.Next(), s.waiting.next(), s.leases.Next())
}

func (s *Store) notify() { s.line.Notify(s.next()) }
