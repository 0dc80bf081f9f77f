package ledger

import (
	"io"
	"sync"
)

// Writer writes entries, one line each, in one Write each, and chains them (see [Chain]). Its methods are safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	buf    []byte // for the next line
	size   int64
	chain  Chain
	since  int   // lines since the last head
	broken error // a line was written in part, so that a later one could not be read; or the line of an end was not
}

// maxSpare is the longest buffer that is kept for the next line.
const maxSpare = 1 << 16

// NewWriter returns a Writer to w, which already has size bytes of whole lines. A nil w keeps nothing. Its chain is that of
// a new ledger: see Continue.
func NewWriter(w io.Writer, size int64) *Writer { return &Writer{w: w, size: size, chain: noLines()} }

// Continue makes the lines to come continue a chain: that of the lines which are there, as [ReadChain] returns it. It comes
// before the first Write.
func (l *Writer) Continue(c Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chain = c
}

// Discards reports whether entries are not kept.
func (l *Writer) Discards() bool { return l.w == nil }

// Write writes an entry's line. When a line was written in part, or one that is neither a start nor a head could not be written at all,
// this and every later Write fails: a later line would be unreadable, or wrong without the one that is missing.
func (l *Writer) Write(e *Entry) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(e)
}

func (l *Writer) write(e *Entry) error {
	if l.broken != nil {
		return l.broken
	}
	b, chain := l.chain.append(e.Append(l.buf[:0]))
	b = append(b, '\n')
	if cap(b) <= maxSpare {
		l.buf = b
	}
	n, err := l.w.Write(b)
	switch {
	case err == nil:
		l.size += int64(n)
		l.chain = chain
		l.since++
	case n > 0, e.Event != Start && e.Event != Head:
		l.broken = err
	}
	return err
}

// Sign writes a head: what sign makes of the chain as it is, nothing if that is "". There is none without a line since the
// last one. No other line is written meanwhile.
func (l *Writer) Sign(run string, sign func(Chain) (token string, err error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil || l.since == 0 {
		return nil
	}
	token, err := sign(l.chain)
	if err != nil || token == "" {
		return err
	}
	if err := l.write(&Entry{Event: Head, Run: run, Token: token}); err != nil {
		return err
	}
	l.since = 0
	return nil
}

// Size is how many bytes of whole lines there are, those of earlier processes included.
func (l *Writer) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}
