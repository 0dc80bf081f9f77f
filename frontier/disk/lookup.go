package disk

import (
	"context"

	"github.com/amble-crawler/amble/weburl"
)

// State is what has happened to a URL so far.
type State uint8

// The states. Their numbers are stored.
const (
	Unknown State = iota
	Queued
	Waiting // put back, until a time to come
	Claimed
	Done
	Rejected // refused for want of room
)

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
