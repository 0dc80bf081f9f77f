package replay

import (
	"context"
	"errors"
	"io/fs"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Links calls f with each link of the pages of a job, in the order of its visits: as the job kept them (job.Config.Links), or else
// as its pages in the archive have them, for which the crawl is repeated as by [Run], with its Result. f must not keep the link. The
// error is that of f or of Run.
func Links(ctx context.Context, r *job.Reader, f func(*sink.Outlink) error) (*Result, error) {
	for l, err := range r.Links() {
		if errors.Is(err, fs.ErrNotExist) {
			return repeat(ctx, r, &reread{f: f})
		}
		if err == nil {
			err = f(l)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // nothing was repeated
}

// reread is a sink that passes links on.
type reread struct{ f func(*sink.Outlink) error }

// KeepsLinks implements sink.LinkSink.
func (*reread) KeepsLinks() bool { return true }

// Append implements sink.Sink.
func (l *reread) Append(_ context.Context, r *sink.Record) error {
	for i := range r.Outlinks {
		if err := l.f(&r.Outlinks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sync implements sink.Sink.
func (*reread) Sync() (int64, error) { return 0, nil }

// Restore implements sink.Sink.
func (*reread) Restore(int64) error { return nil }

// Close implements sink.Sink.
func (*reread) Close() error { return nil }
