package disk

import (
	"context"
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// op is one call that writes, on its way through the writer.
type op struct {
	links   []link
	end     *ending // nil: the call is no Settle
	offsets map[string]int64
	state   map[string][]byte

	// The writer's answer.
	added    int
	done     int // URLs finished
	rejected int // URLs rejected, less those that are no longer
	fresh    []fresh
	err      error
	over     chan struct{} // closed when the answer is there
}

// link is a Request with what its caller computed for the writer.
type link struct {
	*frontier.Request
	key urlKey
}

// ending is how a claim ends.
type ending struct {
	*lease
	fate    sched.Fate
	ready   int64 // the host's, on the clock
	until   int64 // the URL's, if its fate is Later
	attempt int
}

// fresh is an entry that the op has added.
type fresh struct {
	host *host
	entry
}

func (o *op) finish(err error) {
	o.err = err
	close(o.over)
}

// commit hands o to the writer and waits for it. The Store is locked and the call has entered;
// when commit returns it has left, and the Store is unlocked.
func (s *Store) commit(o *op) error {
	o.over = make(chan struct{})
	s.inbox = append(s.inbox, o)
	s.tellWriter()
	s.mu.Unlock()
	<-o.over
	s.leave()
	return o.err
}

func (s *Store) tellWriter() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// linksOf computes what the writer needs of rs. The error is frontier.ErrRequest.
func (s *Store) linksOf(rs []frontier.Request) ([]link, error) {
	links := make([]link, len(rs))
	var authority, scheme string
	var host uint64
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return nil, err
		}
		u := rs[i].URL
		if u.Authority() != authority || u.Scheme() != scheme { // most links of a page are to one host
			authority, scheme = u.Authority(), u.Scheme()
			host = s.secret.hashHost(u.Host())
		}
		links[i] = link{&rs[i], urlKey{host, s.secret.hashURL(s.c.Key(u))}}
	}
	return links, nil
}

// Add implements frontier.Frontier. The requests are on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	links, err := s.linksOf(rs)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return 0, err
	}
	o := &op{links: links}
	if err := s.commit(o); err != nil {
		return 0, err
	}
	return o.added, nil
}

// Settle implements frontier.Frontier. What it did is on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Settle(ctx context.Context, c frontier.Claim, t frontier.Settlement) error {
	links, err := s.linksOf(t.Links)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	now := s.clock.Now()
	s.advance(now)
	l, ok := s.leases.End(c.ID)
	if !ok {
		s.leave()
		s.mu.Unlock()
		return frontier.ErrLost
	}
	e := &ending{lease: l, fate: sched.Gone, ready: s.clock.At(t.ReadyAt), attempt: l.attempt}
	if t.Again != nil {
		e.again(t.Again, s.clock.At(t.Again.NotBefore), now)
	}
	return s.commit(&op{links: links, end: e, offsets: t.Offsets, state: t.State})
}

func (e *ending) again(a *frontier.Again, until, now int64) {
	e.fate = sched.Back
	if until > now {
		e.fate, e.until = sched.Later, until
	}
	if a.Retry {
		e.attempt++
	}
}

// take is the ops to write next, as many as go into one group. It waits for them, and loads what
// waits. It is none when the writer is to end.
func (s *Store) take() []*op {
	for {
		s.mu.Lock()
		if s.waiting.low() && s.err == nil {
			s.mu.Unlock()
			s.loadWaiting()
			continue
		}
		ops, stop := s.takeInbox(), s.stop
		s.mu.Unlock()
		if len(ops) > 0 || stop {
			return ops
		}
		<-s.wake
	}
}

func (s *Store) takeInbox() []*op {
	n, links := 0, 0
	for n < len(s.inbox) && n < s.t.ops && (n == 0 || links+len(s.inbox[n].links) <= s.t.links) {
		links += len(s.inbox[n].links)
		n++
	}
	ops := slices.Clone(s.inbox[:n])
	s.inbox = slices.Delete(s.inbox, 0, n)
	return ops
}
