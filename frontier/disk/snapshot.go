package disk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
)

// Snapshot makes a copy of the store in dir, which must not exist: what [Open] and [ReadValues] would find if the process were killed
// at one instant of the call, with every write acknowledged before it. Other calls go on meanwhile. Tables are hard links to those of
// the store where the file system of dir allows that. The error is frontier.ErrClosed, the context's, or that of making the copy,
// parts of which may be left in dir; the store is not affected.
func (s *Store) Snapshot(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	err = s.engine.guarded(func() error { return s.engine.db.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err = errors.Join(err, s.engine.failure.err()); err == nil {
		err = mark(s.fs, dir)
	}
	if err != nil {
		return fmt.Errorf("disk: copy the crawl directory to %s: %w", dir, err)
	}
	return nil
}
