package sink

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// JSONL writes one JSON object per line. Every record is handed to the operating system whole, so
// that a reader of the stream sees it at once and a killed process leaves no torn line but the last.
type JSONL struct {
	w      io.Writer
	f      *os.File // nil when w cannot be synced and cut
	buf    *bufio.Writer
	offset int64
}

// NewJSONL writes to w, which the caller closes. Sync flushes but cannot promise durability, and
// Restore is refused.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w: w, buf: bufio.NewWriterSize(w, 64<<10)} }

// OpenJSONL appends to the file at path, made when missing.
func OpenJSONL(path string) (*JSONL, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sink: %w", err), f.Close())
	}
	j := NewJSONL(f)
	j.f, j.offset = f, end
	return j, nil
}

// Append implements Sink.
func (j *JSONL) Append(_ context.Context, r *Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("sink: %s: %w", r.URL, err)
	}
	b = append(b, '\n')
	j.offset += int64(len(b))
	if _, err := j.buf.Write(b); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return j.flush()
}

func (j *JSONL) flush() error {
	if err := j.buf.Flush(); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// Sync implements Sink.
func (j *JSONL) Sync() (int64, error) {
	if err := j.flush(); err != nil {
		return 0, err
	}
	if j.f != nil {
		if err := j.f.Sync(); err != nil {
			return 0, fmt.Errorf("sink: %w", err)
		}
	}
	return j.offset, nil
}

// ErrNotCuttable is the error of Restore on an output that is no file.
var ErrNotCuttable = errors.New("sink: the output cannot be cut back")

// Restore implements Sink.
func (j *JSONL) Restore(offset int64) error {
	if j.f == nil {
		return ErrNotCuttable
	}
	if offset > j.offset {
		return fmt.Errorf("sink: %s has %d octets, fewer than the %d that were committed: it was changed from outside", j.f.Name(), j.offset, offset)
	}
	if err := j.f.Truncate(offset); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	j.offset = offset
	return nil
}

// Close implements Sink.
func (j *JSONL) Close() error {
	err := j.flush()
	if j.f != nil {
		err = errors.Join(err, j.f.Close())
	}
	return err
}
