package disk

import (
	"context"

	"github.com/amble-crawler/amble/weburl"
)

// State is where a URL is in its life.
type State uint8

// The states. Their numbers are stored.
const (
	Unknown State = iota
	Queued
	Waiting // put back, until a time to come
	Claimed
	Done
	Rejected // turned away by a quota
)

// Lookup returns the state of a URL. The error is frontier.ErrClosed, the context's or the disk's.
func (s *Store) Lookup(ctx context.Context, u weburl.URL) (State, error) {
	k := s.urlKey(u)
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return Unknown, err
	}
	defer s.leave()
	s.advance(s.clock.Now())
	_, claimed := s.claimed[k]
	asOf := s.unix(s.asOf)
	s.mu.Unlock()
	if claimed {
		return Claimed, nil
	}
	st, err := s.readSeen(k)
	if err != nil {
		return Unknown, s.fail(err)
	}
	if st.state == Waiting && st.due <= asOf {
		return Queued, nil
	}
	return st.state, nil
}
