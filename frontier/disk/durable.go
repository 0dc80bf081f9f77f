package disk

import (
	"context"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Revive implements frontier.Durable. The requests are on disk when it returns, even if its context has ended.
func (s *Store) Revive(ctx context.Context, rs ...frontier.Request) (revived int, err error) {
	o := &op{steps: make([]step, 1), revive: true}
	if err := s.enqueue(ctx, o, rs); err != nil {
		return 0, err
	}
	return -o.done, nil
}

// Take implements frontier.Durable. The requests and the checkpoint are on disk when it returns, even if its context has ended.
func (s *Store) Take(ctx context.Context, rs []frontier.Request, c frontier.Checkpoint) (added int, err error) {
	o := &op{steps: make([]step, 1)}
	if err := o.carry(c); err != nil {
		return 0, err
	}
	if err := s.enqueue(ctx, o, rs); err != nil {
		return 0, err
	}
	return o.added, nil
}

// Release implements frontier.Durable. It does not wait for the disk.
func (s *Store) Release(ctx context.Context, c frontier.Claim, readyAt time.Time) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.lanes.release(c.ID, readyAt)
}

// Hold implements frontier.Durable. It does not wait for the disk.
func (s *Store) Hold(ctx context.Context, c frontier.Claim) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.lanes.keep(c.ID)
}

// Commit implements frontier.Durable. It is one write of the engine, however large, with the effects of settling each of ends in turn. It
// is on disk when Commit returns, even if its context has ended. Commit also fails for more than 1 GiB in one call.
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

// Offsets implements frontier.Durable.
func (s *Store) Offsets(owner string) map[string]int64 { return s.offsets.get(owner) }

// Value implements frontier.Durable. It returns frontier.ErrClosed, or an error of the context or the disk.
func (s *Store) Value(ctx context.Context, owner, name string) ([]byte, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	v, err := s.engine.get(appendValue(nil, owner, name))
	if err != nil {
		return nil, s.engine.failure.fail(err)
	}
	return v, nil
}

// Values implements frontier.Durable. f must not close the Store. Values returns the error of f, or the same errors as Value.
func (s *Store) Values(ctx context.Context, owner, prefix string, f func(name string, value []byte) error) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.engine.scanValues(owner, prefix, f)
}
