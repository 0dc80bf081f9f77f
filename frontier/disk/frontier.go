package disk

import (
	"context"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Add implements frontier.Frontier. The requests are on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	o := &op{steps: make([]step, 1)}
	err := s.enqueue(ctx, o, rs)
	if err != nil {
		return 0, err
	}
	return o.added, nil
}

// Revive implements frontier.Durable. The requests are on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Revive(ctx context.Context, rs ...frontier.Request) (revived int, err error) {
	o := &op{steps: make([]step, 1), revive: true}
	if err := s.enqueue(ctx, o, rs); err != nil {
		return 0, err
	}
	return -o.done, nil
}

// enqueue has o, of one step, queue rs, and waits until they are on disk.
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

// Settle implements frontier.Frontier. What it did is on disk when it returns, however its context
// ends meanwhile. The error is frontier.ErrLost also if the claim was released: then Commit ends it.
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

// Release implements frontier.Durable. It does not wait for the disk.
func (s *Store) Release(ctx context.Context, c frontier.Claim, readyAt time.Time) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.lanes.release(c.ID, readyAt)
}

// Commit implements frontier.Durable: it is one write of the engine, however large, as if each of ends
// were settled in turn. It is on disk when Commit returns, however its context ends meanwhile. The
// error may be ErrTooLarge, too.
func (s *Store) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	o := &op{steps: make([]step, len(ends))}
	for i := range ends {
		if err := s.linksOf(o, i, ends[i].Settlement.Links); err != nil {
			return err
		}
	}
	if err := o.carry(c); err != nil {
		return err
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	if err := s.lanes.endReleased(ends, o.steps); err != nil {
		return err
	}
	return s.writer.write(o)
}
