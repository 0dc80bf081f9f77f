package disk

import (
	"context"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// rested is a ready time that a release gave and no group has taken up yet.
type rested struct {
	host  *host
	ready int64 // on the clock
}

// Release implements frontier.Durable. It does not wait for the disk.
func (s *Store) Release(ctx context.Context, c frontier.Claim, readyAt time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	now := s.clock.Now()
	s.advance(now)
	l, ok := s.leases.Keep(c.ID)
	if !ok {
		return frontier.ErrLost
	}
	ready := s.clock.At(readyAt)
	s.hosts.Free(l.host, ready, now)
	if !readyAt.IsZero() {
		s.rested = append(s.rested, rested{l.host, ready})
	}
	s.notify()
	return nil
}

// Commit implements frontier.Durable: it is one write of the engine, however large, as if each of ends
// were settled in turn. It is on disk when Commit returns, however its context ends meanwhile. The
// error may be ErrTooLarge, too.
func (s *Store) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	o := &op{steps: make([]step, len(ends))}
	ids := make([]uint64, len(ends))
	for i := range ends {
		ids[i] = ends[i].Claim.ID
		if err := s.linksOf(o, i, ends[i].Settlement.Links); err != nil {
			return err
		}
	}
	if err := o.carry(c); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	leases, ok := s.leases.EndKept(ids)
	if !ok {
		s.leave()
		s.mu.Unlock()
		return frontier.ErrLost
	}
	now := s.clock.Now()
	for i, l := range leases {
		o.steps[i].end = s.ending(l, true, ends[i].Settlement, now)
	}
	return s.commit(o)
}

// writeRested writes the ready times that releases have left behind, before the store closes.
func (s *Store) writeRested() {
	s.mu.Lock()
	if len(s.rested) == 0 || s.err != nil {
		s.mu.Unlock()
		return
	}
	s.calls.Add(1)
	_ = s.commit(&op{}) // what fails it fails the store
}
