package ledger

import (
	"io"
	"sync"
)

// Writer writes entries, one line each, in one Write each. Its methods are safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	buf    []byte // for the next line
	size   int64
	broken error // a line was written in part, so that a later one could not be read; or the line of an end was not
}

// maxSpare is the longest buffer that is kept for the next line.
const maxSpare = 1 << 16

// NewWriter returns a Writer to w, which already has size bytes of whole lines. A nil w keeps nothing.
func NewWriter(w io.Writer, size int64) *Writer { return &Writer{w: w, size: size} }

// Discards reports whether entries are not kept.
func (l *Writer) Discards() bool { return l.w == nil }

// Write writes an entry's line. When a line was written in part, or one that is not a start could not be written at all,
// this and every later Write fails: a later line would be unreadable, or wrong without the one that is missing.
func (l *Writer) Write(e *Entry) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	b := append(e.Append(l.buf[:0]), '\n')
	if cap(b) <= maxSpare {
		l.buf = b
	}
	n, err := l.w.Write(b)
	switch {
	case err == nil:
		l.size += int64(n)
	case n > 0, e.Event != Start:
		l.broken = err
	}
	return err
}

// Size is how many bytes of whole lines there are, those of earlier processes included.
func (l *Writer) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}
