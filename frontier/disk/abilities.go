package disk

import (
	"context"
	"math"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Stats implements frontier.Counter.
func (s *Store) Stats() frontier.Stats { return s.lanes.stats() }

// HostPending implements frontier.Counter.
func (s *Store) HostPending(host string) int { return s.lanes.pending(s.secret.hashHost(host)) }

// Room implements frontier.Rationer. Only the disk limits the bytes.
func (s *Store) Room(host string) (urls int, bytes int64) {
	return s.lanes.room(s.secret.hashHost(host)), math.MaxInt64
}

// Known implements frontier.Knower from memory: it knows the URLs that were added or linked last, about half
// a million of them.
func (s *Store) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	s.known.tell(keys, depth, priority, known)
}

// Lookup returns the state of a URL. The error is frontier.ErrClosed, the context's or the disk's.
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
