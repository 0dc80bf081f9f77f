package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// keepLine is how large a line's buffer may be to be used again.
const keepLine = 64 << 10

// JSONL writes one JSON object per line. Every record is handed to the operating system whole, in one
// write, so that a reader of the stream sees it at once and a killed process leaves no torn line but
// the last. It is not safe for concurrent use.
//
// An error of the operating system can be told by errors.Is: syscall.EPIPE when the reader of a pipe
// is gone, syscall.ENOSPC when the disk is full. A process whose standard output breaks gets SIGPIPE
// besides, which ends it unless it asked os/signal for that signal.
type JSONL struct {
	w       io.Writer
	f       file   // nil when w cannot be synced and cut
	path    string // of f
	unnamed bool   // the name of f may not be durable
	line    []byte
	offset  int64
	err     error // of a write: what is behind the last Sync may be torn
	closed  bool
}

// file is what a JSONL needs of an *os.File.
type file interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// NewJSONL writes to w, which the caller closes. Offsets count from the first Append. Sync cannot
// promise durability, and Restore is refused with ErrNotCuttable.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w: w} }

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
	return &JSONL{w: f, f: f, path: path, unnamed: true, offset: end}, nil
}

// Name implements Named: the last element of the file's path, "stdout" when the output is no file.
func (j *JSONL) Name() string {
	if j.path == "" {
		return "stdout"
	}
	return filepath.Base(j.path)
}

// Append implements Sink. An error of the record, such as a time after the year 9999, leaves the
// output as it was.
func (j *JSONL) Append(_ context.Context, r *Record) error {
	if err := j.usable(); err != nil {
		return err
	}
	b, err := appendRecord(j.line[:0], r)
	if cap(b) <= keepLine {
		j.line = b
	}
	if err != nil {
		return fmt.Errorf("sink: %s: %w", r.URL, err)
	}
	b = append(b, '\n')
	n, err := j.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	j.offset += int64(n)
	return j.failed(err)
}

// usable is the error of a call that comes too late.
func (j *JSONL) usable() error {
	if j.closed {
		return ErrClosed
	}
	return j.err
}

// failed makes err, if it is one, the error of every later call.
func (j *JSONL) failed(err error) error {
	if err != nil {
		j.err = fmt.Errorf("sink: %w", err)
	}
	return j.err
}

// Sync implements Sink.
func (j *JSONL) Sync() (int64, error) {
	if err := j.usable(); err != nil {
		return 0, err
	}
	if j.f == nil {
		return j.offset, nil
	}
	err := j.f.Sync()
	if err == nil && j.unnamed {
		err = syncDir(filepath.Dir(j.path))
		j.unnamed = err != nil
	}
	if j.failed(err) != nil {
		return 0, j.err
	}
	return j.offset, nil
}

// ErrNotCuttable is the error of Restore on an output that is no file.
var ErrNotCuttable = errors.New("sink: the output cannot be cut back")

// Restore implements Sink.
func (j *JSONL) Restore(offset int64) error {
	switch {
	case j.closed:
		return ErrClosed
	case j.f == nil:
		return ErrNotCuttable
	case offset < 0 || offset > j.offset:
		return fmt.Errorf("sink: %s has %d octets, which cannot be cut to the %d that were committed: it was changed from outside", j.path, j.offset, offset)
	}
	if err := j.f.Truncate(offset); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	j.offset, j.err = offset, nil
	return nil
}

// Close implements Sink.
func (j *JSONL) Close() error {
	if j.closed {
		return nil
	}
	var err error
	if j.f != nil {
		if j.err == nil {
			_, err = j.Sync()
		}
		if e := j.f.Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("sink: %w", e))
		}
	}
	j.closed = true
	return err
}
