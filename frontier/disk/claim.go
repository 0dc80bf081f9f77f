package disk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// lease is a claimed URL.
type lease struct {
	entry
	host    *host
	key     urlKey
	depth   int
	attempt int
	due     int64 // Unix nanoseconds until when it waited, which is still so on disk; 0: it did not
}

// Claim implements frontier.Frontier.
func (s *Store) Claim(ctx context.Context) (frontier.Claim, error) {
	s.mu.Lock()
	err := s.enter(ctx)
	if err != nil {
		s.mu.Unlock()
		return frontier.Claim{}, err
	}
	defer s.leave()
	h, err := s.takeHost(ctx)
	s.mu.Unlock()
	if err != nil {
		return frontier.Claim{}, err
	}
	l, r, err := s.first(h)
	switch {
	case err == nil:
		return s.grant(l, r), nil
	case l != nil: // readable but for the URL
		return frontier.Claim{}, s.retire(l, err)
	}
	return frontier.Claim{}, s.fail(err)
}

// takeHost waits for a host to serve, one of its URLs counted as held.
func (s *Store) takeHost(ctx context.Context) (h *host, err error) {
	wait := s.line.Await(ctx, &s.mu, s.clock, func(now int64) (bool, int64) {
		h, err = s.tryHost(now)
		return h != nil || err != nil, s.next()
	})
	if wait != nil {
		return nil, wait
	}
	return h, err
}

// tryHost is neither a host nor an error if it is worth to wait.
func (s *Store) tryHost(now int64) (*host, error) {
	if s.closed {
		return nil, frontier.ErrClosed
	}
	if s.err != nil {
		return nil, s.err
	}
	s.advance(now)
	if s.waiting.behind(now) {
		return nil, nil // an earlier host may be due; the line is told when that is known
	}
	h := s.hosts.Take(now)
	if h == nil && s.hosts.Pending() == 0 {
		return nil, frontier.ErrDrained
	}
	return h, nil
}

// first takes the first URL of h. With an error there is a lease if its Request alone cannot be read.
func (s *Store) first(h *host) (*lease, frontier.Request, error) {
	e, err := s.firstEntry(h)
	if err == nil && e.value == nil {
		e.value, err = s.get(appendQueue(nil, h.Name, e.place))
	}
	var url uint64
	if err == nil {
		url, err = urlHash(e.value)
	}
	if err != nil {
		return nil, frontier.Request{}, err
	}
	l := &lease{entry: e, host: h, key: urlKey{h.Name, url}}
	st, err := s.readSeen(l.key)
	if err != nil {
		return nil, frontier.Request{}, err
	}
	if st.state != Queued && st.state != Waiting {
		return nil, frontier.Request{}, fmt.Errorf("%w: a queued URL is in state %d", errCorrupt, st.state)
	}
	l.depth, l.attempt, l.due = st.depth, st.attempt, st.due
	r, err := readRequest(h.Queue.name, e.value)
	r.Depth, r.Priority = l.depth, e.priority()
	return l, r, err
}

func (s *Store) grant(l *lease, r frontier.Request) frontier.Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := frontier.Claim{Request: r, Attempt: l.attempt}
	id, deadline := s.leases.Grant(l, s.clock.Now())
	c.ID = id
	if deadline != sched.Never {
		c.Deadline = s.clock.Time(deadline)
	}
	s.claimed[l.key] = struct{}{}
	s.notify() // unlike the host, the deadline is news to the line
	return c
}

// retire makes a URL done that can no longer be read, and returns why.
func (s *Store) retire(l *lease, why error) error {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	s.calls.Add(1)
	end := &ending{lease: l, fate: sched.Gone, ready: sched.Always, attempt: l.attempt}
	return errors.Join(fmt.Errorf("disk: a queued URL is lost: %w", why), s.commit(&op{steps: []step{{end: end}}}))
}

// firstEntry takes the first entry of h, which has one, reading it from disk if need be.
func (s *Store) firstEntry(h *host) (entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		d := h.Queue.open()
		switch {
		case d.reading != nil:
			s.await(d.reading)
		case len(d.entries) > 0:
			return s.pop(h), nil
		default:
			if err := s.readHead(h); err != nil {
				return entry{}, err
			}
		}
	}
}

// await waits until c is closed, without the lock.
func (s *Store) await(c <-chan struct{}) {
	s.mu.Unlock()
	<-c
	s.mu.Lock()
}

// readHead reads entries of h from disk, without the lock while it does.
func (s *Store) readHead(h *host) error {
	q, d := &h.Queue, h.Queue.head
	d.reading = make(chan struct{})
	from, out, published := q.from, slices.Clone(d.out), s.published
	asOf := s.unix(min(s.asOf, s.waiting.horizon-1)) // what is due later is still to be announced
	waiting := h.Waiting() > 0
	s.mu.Unlock()
	read, next, err := s.readEntries(h.Name, from)
	if err == nil {
		read, err = s.claimable(h.Name, read, waiting, func(e entry) bool {
			return e.number < published && !slices.Contains(out, e.place)
		}, asOf)
	}
	s.mu.Lock()
	close(d.reading)
	d.reading = nil
	late := d.late
	d.late = nil
	if err != nil {
		return err
	}
	if len(read)+len(late) == 0 && next == end() {
		return fmt.Errorf("%w: the queue of %s ends too early", errCorrupt, q.name)
	}
	q.from = next
	for _, e := range read {
		q.insert(e, s.t.head)
	}
	for _, e := range late {
		if e.before(q.from) {
			q.insert(e, s.t.head)
		}
	}
	return nil
}

// readEntries reads what lies from a place on, and where the rest begins.
func (s *Store) readEntries(hash uint64, from place) (all []entry, next place, err error) {
	next = end()
	err = s.scan(appendQueue(nil, hash, from), appendQueue(nil, hash, end()), func(key, value []byte) (bool, error) {
		p, err := queuePlace(key)
		if err != nil {
			return false, err
		}
		if len(all) == s.t.read {
			next = p
			return false, nil
		}
		all = append(all, entry{p, slices.Clone(value)})
		return true, nil
	})
	return all, next, err
}

// claimable drops what the test refuses and, if some of the host's wait, what waits longer than asOf.
func (s *Store) claimable(hash uint64, all []entry, waiting bool, test func(entry) bool, asOf int64) ([]entry, error) {
	kept := all[:0]
	for _, e := range all {
		if !test(e) {
			continue
		}
		if waiting {
			url, err := urlHash(e.value)
			if err != nil {
				return nil, err
			}
			st, err := s.readSeen(urlKey{hash, url})
			if err != nil {
				return nil, err
			}
			if st.state == Waiting && st.due > asOf {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept, nil
}
