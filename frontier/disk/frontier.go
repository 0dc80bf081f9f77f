package disk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// Add implements frontier.Frontier. The requests are on disk when it returns, even if its context has ended.
func (s *Store) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	o := &op{steps: make([]step, 1)}
	err := s.enqueue(ctx, o, rs)
	if err != nil {
		return 0, err
	}
	return o.added, nil
}

// enqueue queues rs with o, which has one step, and waits until they are on disk.
func (s *Store) enqueue(ctx context.Context, o *op, rs []frontier.Request) error {
	if err := s.linksOf(o, 0, rs); err != nil {
		return err
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.writer.write(o)
}

// linksOf puts rs into a step of o, with the data that the writer needs. It leaves out Requests that would certainly change nothing.
func (s *Store) linksOf(o *op, step int, rs []frontier.Request) error {
	links := make([]link, 0, len(rs))
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return err
		}
		links = append(links, link{Request: &rs[i], id: s.c.Key(rs[i].URL)})
	}
	if !o.revive {
		links = s.known.without(links)
	}
	var authority, scheme string
	var host uint64
	for i := range links {
		l := &links[i]
		if l.URL.Authority() != authority || l.URL.Scheme() != scheme { // hash a host only once for successive links
			authority, scheme = l.URL.Authority(), l.URL.Scheme()
			host = s.secret.hashHost(l.URL.Host())
		}
		l.key = urlKey{host, s.secret.hashURL(l.id)}
		o.bytes += len(l.URL.String()) + len(l.Via.String()) + len(l.Meta)
	}
	o.steps[step].links = links
	o.links += len(links)
	return o.checkSize()
}

// Claim implements frontier.Frontier.
func (s *Store) Claim(ctx context.Context) (frontier.Claim, error) {
	if err := s.calls.enter(ctx); err != nil {
		return frontier.Claim{}, err
	}
	defer s.calls.leave()
	for {
		h, seemed, err := s.lanes.await(ctx)
		if err != nil {
			return frontier.Claim{}, err
		}
		l, r, err := s.first(h)
		switch {
		case err == nil && s.c.BestFirst && l.level() < seemed: // outdated entries made the host seem better than it is: choose again
			s.lanes.putBack(l)
		case err == nil:
			return s.lanes.grant(l, r), nil
		case l != nil: // only this URL is unreadable, not the store
			return frontier.Claim{}, s.retire(l, err)
		default:
			return frontier.Claim{}, s.engine.failure.fail(err)
		}
	}
}

// first takes the first URL of h. It skips entries that others have replaced.
func (s *Store) first(h *host) (l *lease, r frontier.Request, err error) {
	for {
		e, err := s.lanes.firstEntry(h)
		if err != nil {
			return nil, r, err
		}
		if l, r, err = s.lease(h, e); !errors.As(err, new(*staleError)) {
			return l, r, err
		}
		s.lanes.discard(h, e.place)
	}
}

// retire marks a URL whose data cannot be read as done, and returns the reason why.
func (s *Store) retire(l *lease, why error) error {
	if err := s.engine.failure.err(); err != nil {
		return err
	}
	end := &ending{lease: l, fate: sched.Gone, ready: sched.Always, attempt: l.attempt}
	return errors.Join(fmt.Errorf("disk: a queued URL is lost: %w", why), s.writer.write(&op{steps: []step{{end: end}}}))
}

// Settle implements frontier.Frontier. Its effects are on disk when it returns, even if its context has ended. It also returns
// frontier.ErrLost if the claim was released, because only Commit can end it then.
func (s *Store) Settle(ctx context.Context, c frontier.Claim, t frontier.Settlement) error {
	o := &op{steps: make([]step, 1)}
	err := s.linksOf(o, 0, t.Links)
	if err != nil {
		return err
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	if o.steps[0].end, err = s.lanes.settle(c.ID, t); err != nil {
		return err
	}
	return s.writer.write(o)
}

// Stats implements frontier.Frontier.
func (s *Store) Stats() frontier.Stats { return s.lanes.stats() }

// HostPending implements frontier.Frontier.
func (s *Store) HostPending(host string) int { return s.lanes.pending(s.secret.hashHost(host)) }

// Room implements frontier.Frontier. The number of bytes is not limited, except by the disk.
func (s *Store) Room(host string) (urls int, bytes int64) {
	return s.lanes.room(s.secret.hashHost(host)), math.MaxInt64
}

// Known implements frontier.Frontier. It knows about half a million URLs in memory, those that were added or linked last.
func (s *Store) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	s.known.tell(keys, depth, priority, known)
}

// Lookup returns the state of a URL. It returns frontier.ErrClosed, or an error of the context or the disk.
func (s *Store) Lookup(ctx context.Context, u weburl.URL) (State, error) {
	if err := s.calls.enter(ctx); err != nil {
		return Unknown, err
	}
	defer s.calls.leave()
	k := urlKey{s.secret.hashHost(u.Host()), s.secret.hashURL(s.c.Key(u))}
	claimed, asOf := s.lanes.lookUp(k)
	if claimed {
		return Claimed, nil
	}
	st, err := s.engine.seen(k)
	if err != nil {
		return Unknown, s.engine.failure.fail(err)
	}
	if st.state == Waiting && st.due <= asOf {
		return Queued, nil
	}
	return st.state, nil
}

// calls counts the calls in progress, so that Close can wait for them.
type calls struct {
	failure *failure

	mu     sync.Mutex
	closed bool
	under  sync.WaitGroup
}

// enter begins a call. If it returns nil, leave must end the call.
func (c *calls) enter(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return frontier.ErrClosed
	}
	if err := c.failure.err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.under.Add(1)
	return nil
}

func (c *calls) leave() { c.under.Done() }

// close makes every later call of enter fail.
func (c *calls) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return frontier.ErrClosed
	}
	c.closed = true
	return nil
}
