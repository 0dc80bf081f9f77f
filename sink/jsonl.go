package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// holdLines is how many octets a file's lines are held back at most.
	holdLines = 64 << 10
	// holdTime is how much later a record may have ended than the first line that is held back.
	holdTime = time.Second
	// keepLines is how large the buffer of lines may be to be used again.
	keepLines = 2 * holdLines
)

// JSONL writes one JSON object per line. It is not safe for concurrent use.
//
// To a stream, every record is handed over whole, in one write, so that its reader sees it at once. In
// a file, lines are held back until Sync or Close, until there are 64 KiB of them, or until a record
// comes that ended a second after the first of them: who follows the file sees them that much later. A
// killed process leaves what was synced, and of what came after the beginning, where the last line may
// be torn.
//
// An error of the operating system can be told by errors.Is: syscall.EPIPE when the reader of a pipe
// is gone, syscall.ENOSPC when the disk is full. A process whose standard output breaks gets SIGPIPE
// besides, which ends it unless it asked os/signal for that signal.
type JSONL struct {
	w       io.Writer
	f       File      // nil when w cannot be synced and cut
	path    string    // of f
	unnamed bool      // the name of f may not be durable
	stale   bool      // the content of f may not be durable
	hold    int       // octets of lines that need not be written yet
	lines   []byte    // that were not written yet
	since   time.Time // when the record of the first of them ended
	written int64     // octets handed to w, of f those of earlier runs, too
	err     error     // of a write: what is behind the last Sync may be torn
	closed  bool
}

// File is what a JSONL needs of a file: an *os.File opened with O_APPEND is one.
type File interface {
	io.Writer
	io.Seeker
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
	j, err := AppendJSONL(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.unnamed = true
	return j, nil
}

// AppendJSONL appends to a file that is open, at its end. Close closes it. The path is for Name and for
// messages alone: whoever made the file makes its name durable.
func AppendJSONL(f File, path string) (*JSONL, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &JSONL{w: f, f: f, path: path, stale: true, hold: holdLines, written: end}, nil
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
	end := len(j.lines)
	if end == 0 {
		j.since = r.Ended
	}
	b, err := appendRecord(j.lines, r)
	if err != nil {
		j.lines = b[:end]
		return fmt.Errorf("sink: %s: %w", r.URL, err)
	}
	if j.lines = append(b, '\n'); len(j.lines) < j.hold && r.Ended.Sub(j.since) < holdTime {
		return nil
	}
	return j.flush()
}

// flush writes the lines that were held back.
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

// drop forgets the lines that were held back.
func (j *JSONL) drop() {
	if j.lines = j.lines[:0]; cap(j.lines) > keepLines {
		j.lines = nil
	}
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

// force makes the file durable, and the first time its name.
func (j *JSONL) force() error {
	if err := j.f.Sync(); err != nil {
		return err
	}
	if j.unnamed {
		if err := syncDir(filepath.Dir(j.path)); err != nil {
			return err
		}
	}
	j.unnamed, j.stale = false, false
	return nil
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
	case offset < 0 || offset > j.written:
		return fmt.Errorf("sink: %s has %d octets, which cannot be cut to the %d that were committed: it was changed from outside", j.path, j.written, offset)
	}
	if err := j.f.Truncate(offset); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	j.drop()
	j.written, j.stale, j.err = offset, true, nil
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
	j.closed, j.lines = true, nil
	return err
}
