package frontier

import (
	"context"

	"github.com/amble-crawler/amble/frontier/internal/packed"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// Claim implements [Frontier]. A blocked Claim uses one channel. Only one of all blocked Claims waits for a timer.
func (m *Memory) Claim(ctx context.Context) (c Claim, err error) {
	if err := m.begin(ctx); err != nil {
		return Claim{}, err
	}
	wait := m.line.Await(ctx, &m.mu, m.clock, func(now int64) (done bool, again int64) {
		c, done, err = m.tryClaim(now)
		return done, m.next()
	})
	if wait != nil {
		return Claim{}, wait
	}
	return c, err
}

// tryClaim returns a claim if one is possible now. done is true if Claim must return: with this claim, or with an error because there can
// be none.
func (m *Memory) tryClaim(now int64) (c Claim, done bool, err error) {
	if m.closed {
		return c, true, ErrClosed
	}
	m.advance(now)
	for h := m.hosts.Take(now); h != nil; h = m.hosts.Take(now) {
		if c, done, err = m.grant(h, now); done {
			return c, true, err
		}
	}
	if m.hosts.Pending() == 0 {
		return c, true, ErrDrained
	}
	return c, false, nil
}

// grant claims h's first URL. In best-first order, done is false if the level of that URL is lower than expected: the expected level was
// that of a record before it, whose URL had been raised.
func (m *Memory) grant(h *host, now int64) (c Claim, done bool, err error) {
	seemed := h.Level()
	it, c, err := m.pop(h)
	if err == nil && m.c.BestFirst && it.level() < seemed {
		h.Queue.back.Push(it.item)
		m.hosts.Release(h, sched.Back, sched.Always, now)
		return c, false, nil
	}
	m.hosts.Update(h, now)
	if err != nil {
		m.finish(it)
		m.hosts.Release(h, sched.Gone, sched.Always, now)
		m.clean(h)
		return Claim{}, true, err
	}
	if mk := m.seen.find(it.hash); mk != nil {
		c.Depth = m.seen.depth(it.hash, mk)
	}
	m.note(it, stateClaimed)
	var deadline int64
	c.ID, deadline = m.leases.Grant(it, now)
	if deadline != sched.Never {
		c.Deadline = m.clock.Time(deadline)
	}
	return c, true, nil
}

// pop removes h's first URL. It skips records that later ones have replaced.
func (m *Memory) pop(h *host) (it held, c Claim, err error) {
	for {
		it = held{h.Queue.pop(&m.size), h}
		c = Claim{Request: m.request(it), Attempt: int(it.attempt)}
		if err = it.rec.decode(h.Name, &c.Request); err != nil {
			return it, c, err
		}
		if it.hash == 0 {
			it.hash = m.hash(m.c.Key(c.URL))
		}
		if !m.raised(it) {
			return it, c, nil
		}
		m.discard(it)
	}
}

// note records the state of an item's URL. An item without a hash was unreadable and has none.
func (m *Memory) note(it held, s state) {
	if mk := m.seen.find(it.hash); mk != nil && it.hash != 0 {
		mk.setState(s)
	}
}

// request returns the fields of an item's Request that its record does not contain.
func (m *Memory) request(it held) Request {
	o := m.origins.all[it.rec.origin()]
	return Request{Priority: it.priority, Score: packed.Score(it.rank), Via: o.via, Queued: o.queued, Kind: o.kind}
}

// Settle implements [Frontier]. If it returns an error (ErrLost, ErrClosed, ErrRequest or that of the context), it had no effect.
func (m *Memory) Settle(ctx context.Context, c Claim, s Settlement) error {
	hashes, err := m.hashes(s.Links)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	now := m.clock.Now()
	m.advance(now)
	it, ok := m.leases.End(c.ID)
	if !ok {
		return ErrLost
	}
	m.hosts.Release(it.host, m.settle(it, s.Again, now), m.clock.At(s.ReadyAt), now)
	m.clean(it.host)
	m.add(s.Links, hashes, now)
	m.notify()
	return nil
}

// settle records the end of a claim and returns what becomes of its URL.
func (m *Memory) settle(it held, again *Again, now int64) sched.Fate {
	if again == nil {
		m.finish(it)
		return sched.Gone
	}
	it.back = true
	m.ranks.drop(it.hash)
	if again.Retry {
		it.attempt++
		it.host.Queue.arrive(&it.item)
	}
	if until := m.clock.At(again.NotBefore); until > now {
		m.waiting.Push(waiter{held: it, until: until})
		m.note(it, stateWaiting)
		return sched.Later
	}
	m.requeue(it)
	return sched.Back
}

// finish records a URL as done.
func (m *Memory) finish(it held) {
	m.note(it, stateDone)
	m.ranks.drop(it.hash)
	m.origins.release(it.rec.origin())
	m.size -= it.size()
	m.done++
}
