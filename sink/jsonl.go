package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/internal/durable"
)

const (
	// holdLines is the maximum number of bytes that are held back before they are written to a file.
	holdLines = 64 << 10
	// holdTime limits how long lines are held back: the time from the end of the first record held back to that of the latest one.
	holdTime = time.Second
	// keepLines is the maximum size of a line buffer that is reused.
	keepLines = 2 * holdLines
)

// JSONL writes one JSON object per line. It is not safe for concurrent use.
//
// To a stream, each record is written at once, in one write, so that the reader sees it immediately. Lines for a file are held back until
// Sync or Close, until they reach 64 KiB, or until the visit of an appended record ended a second after that of the first line held back.
// After a kill, the file has everything that was synced, and a prefix of the rest, whose last line may be torn.
//
// errors.Is finds errors of the operating system: syscall.EPIPE if the reader of a pipe is gone, syscall.ENOSPC if the disk is full. If
// standard output breaks, the process also gets SIGPIPE, which ends it unless it handles that signal with os/signal.
type JSONL struct {
	Base

	encode  func(b []byte, r *Record) ([]byte, error) // appends the lines of a record
	stream  string                                    // name of an output that is not a file
	links   bool                                      // whether the lines have Record.Outlinks
	w       io.Writer
	f       File      // nil if w cannot be synced and truncated
	path    string    // path of f
	unnamed bool      // the name of f may not be durable
	stale   bool      // the content of f may not be durable
	hold    int       // number of bytes of lines that may be held back
	lines   []byte    // lines that are not written yet
	since   time.Time // time at which the first record in lines ended
	written int64     // bytes written to w, including those of earlier runs
	err     error     // error of a write: the output may be torn after the last Sync
	closed  bool
}

// File is the part of *os.File that JSONL needs. The file must have been opened with O_APPEND.
type File interface {
	io.Writer
	io.Seeker
	Sync() error
	Truncate(size int64) error
	Close() error
}

// NewJSONL writes to w, which the caller closes. Offsets count from the first Append. Sync makes nothing durable, and Restore fails with
// ErrNotCuttable.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w: w, encode: appendVisit} }

// OpenJSONL appends to the file at path and creates it if it does not exist.
func OpenJSONL(path string) (*JSONL, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	j, err := AppendJSONL(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.unnamed = true
	return j, nil
}

// AppendJSONL appends to an open file, at its end. Close closes the file. path is only used for Name and for messages: if the caller has
// created the file, it must make the name durable.
func AppendJSONL(f File, path string) (*JSONL, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &JSONL{w: f, encode: appendVisit, f: f, path: path, stale: true, hold: holdLines, written: end}, nil
}

// AppendLines is like [AppendJSONL], but writes lines of another form. encode appends the lines of a record to b, each with its line end; a
// record may have none. encode must not keep b.
func AppendLines(f File, path string, encode func(b []byte, r *Record) ([]byte, error)) (*JSONL, error) {
	j, err := AppendJSONL(f, path)
	if err != nil {
		return nil, err
	}
	j.encode = encode
	return j, nil
}

// Name implements [Sink]: it returns the last element of the file's path. For an output that is not a file it returns "stdout", or
// "items" for [NewItems].
func (j *JSONL) Name() string {
	if j.path == "" {
		return cmp.Or(j.stream, "stdout")
	}
	return filepath.Base(j.path)
}

// Append implements Sink. If the record is invalid, for example because of a time after the year 9999, the output is unchanged.
func (j *JSONL) Append(_ context.Context, r *Record) error {
	if err := j.usable(); err != nil {
		return err
	}
	end := len(j.lines)
	if end == 0 {
		j.since = r.Ended
	}
	b, err := j.encode(j.lines, r)
	if err != nil {
		j.lines = b[:end]
		return fmt.Errorf("sink: %s: %w", r.URL, err)
	}
	if j.lines = b; len(j.lines) < j.hold && r.Ended.Sub(j.since) < holdTime {
		return nil
	}
	return j.flush()
}

// appendVisit appends the line of a record.
func appendVisit(b []byte, r *Record) ([]byte, error) {
	b, err := appendRecord(b, r)
	return append(b, '\n'), err
}

// flush writes the lines held back.
func (j *JSONL) flush() error {
	if len(j.lines) == 0 {
		return nil
	}
	n, err := j.w.Write(j.lines)
	if err == nil && n < len(j.lines) {
		err = io.ErrShortWrite
	}
	j.written, j.stale = j.written+int64(n), true
	j.drop()
	return j.failed(err)
}

// drop discards the lines held back.
func (j *JSONL) drop() {
	if j.lines = j.lines[:0]; cap(j.lines) > keepLines {
		j.lines = nil
	}
}

// usable returns the error of a call after Close or after a failed write.
func (j *JSONL) usable() error {
	if j.closed {
		return ErrClosed
	}
	return j.err
}

// failed keeps err, unless it is nil, as the error of all later calls.
func (j *JSONL) failed(err error) error {
	if err != nil {
		j.err = fmt.Errorf("sink: %w", err)
	}
	return j.err
}

// Sync implements Sink.
func (j *JSONL) Sync(_ context.Context) (int64, error) {
	if err := j.usable(); err != nil {
		return 0, err
	}
	if err := j.flush(); err != nil {
		return 0, err
	}
	if j.f == nil || !j.stale {
		return j.written, nil
	}
	if j.failed(j.force()) != nil {
		return 0, j.err
	}
	return j.written, nil
}

// force makes the content of the file durable and, the first time, also its name.
func (j *JSONL) force() error {
	if err := j.f.Sync(); err != nil {
		return err
	}
	if j.unnamed {
		if err := durable.Dir(filepath.Dir(j.path)); err != nil {
			return err
		}
	}
	j.unnamed, j.stale = false, false
	return nil
}

// ErrNotCuttable is returned by Restore if the output is not a file.
var ErrNotCuttable = errors.New("sink: the output cannot be cut back")

// Restore implements Sink.
func (j *JSONL) Restore(_ context.Context, offset int64) error {
	switch {
	case j.closed:
		return ErrClosed
	case j.f == nil:
		return ErrNotCuttable
	case offset < 0 || offset > j.written:
		return fmt.Errorf("sink: %s has %d bytes, but %d were committed: another program changed it", j.path, j.written, offset)
	}
	if err := j.f.Truncate(offset); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	j.drop()
	j.written, j.stale, j.err = offset, true, nil
	return nil
}

// Close implements Sink.
func (j *JSONL) Close(ctx context.Context) error {
	if j.closed {
		return nil
	}
	var err error
	if j.f != nil {
		if j.err == nil {
			_, err = j.Sync(ctx)
		}
		if e := j.f.Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("sink: %w", e))
		}
	}
	j.closed, j.lines = true, nil
	return err
}
