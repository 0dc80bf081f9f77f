package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/amble-crawler/amble/job"
)

// Result is a final visit of a job.
type Result struct {
	// N is the number of the result, from 1. Results, called with N, continues after this result.
	N int64
	// Visit is a line of visits.jsonl; sink.Parser reads it. Its key "data" has the results of the program.
	Visit json.RawMessage
}

// Results yields the visits of a job in the order in which they became final, beginning after the visit with the number from. It waits
// for more until the job is Done, Failed or Stopped, the Manager is closed, or ctx ends. A result always has the same number, even after
// kill -9. The error of the last pair wraps ErrNoJob, or comes from ctx or from the job's files.
func (m *Manager) Results(ctx context.Context, id string, from int64) iter.Seq2[Result, error] {
	return m.results(ctx, id, from, true)
}

// ResultsNow is like Results, and ends with the last visit that is final at present.
func (m *Manager) ResultsNow(ctx context.Context, id string, from int64) iter.Seq2[Result, error] {
	return m.results(ctx, id, from, false)
}

func (m *Manager) results(ctx context.Context, id string, from int64, follow bool) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		var n, at int64 // number of lines and bytes read
		for {
			final, more, changed, err := m.final(id)
			if err != nil {
				yield(Result{}, err)
				return
			}
			if n < final.lines {
				ended := false
				err = m.read(final, at, func(line []byte) bool {
					if ctx.Err() != nil {
						return false
					}
					n, at = n+1, at+int64(len(line))
					if n > from && !yield(Result{n, bytes.Clone(line[:len(line)-1])}, nil) {
						ended = true
					}
					return !ended && n < final.lines
				})
				if ended {
					return
				}
			}
			switch {
			case err == nil && ctx.Err() != nil:
				err = context.Cause(ctx)
				fallthrough
			case err != nil:
				yield(Result{}, err)
				return
			case !more || !follow:
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// final describes the final visits of a job.
type final struct {
	dir   string
	lines int64
}

// final returns the number of final visits of a job, whether more may follow, and a channel that is closed when this changes.
func (m *Manager) final(id string) (f final, more bool, changed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.entry(id)
	if err != nil {
		return f, false, nil, err
	}
	if e.lines < 0 && e.stop == nil { // not counted yet: the job has not run in this process
		m.mu.Unlock()
		lines, err := countLines(e.info.Dir)
		m.mu.Lock()
		if err != nil {
			return f, false, nil, err
		}
		if e.lines < 0 && e.stop == nil {
			e.lines = lines
		}
	}
	return final{e.info.Dir, e.lines}, !e.info.State.Ended() && !m.closed, e.changed, nil
}

// read calls each with the visits of a job from byte offset at on, until each returns false.
func (m *Manager) read(f final, at int64, each func(line []byte) bool) error {
	r, err := job.Read(f.dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read, so an error of closing loses nothing
	return eachLine(r, at, each)
}
