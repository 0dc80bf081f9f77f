package disk

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes dir, which must not exist, a copy of the store as it is at this moment, with its [Mark]: a [Copy] can be
// opened in it. Files that do not change any more are linked where the file system can, so it takes little time and, at
// first, little room. It may be called at any time. The error is frontier.ErrClosed, the context's or the disk's.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	err := s.engine.guarded(func() error { return s.engine.db.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err != nil {
		return s.engine.failure.fail(err)
	}
	return mark(s.fs, dir)
}
