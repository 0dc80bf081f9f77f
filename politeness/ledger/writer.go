package ledger

import (
	"io"
	"sync"
)

// Recorder is a ledger in memory: a [Writer] to it passes entries on unchanged, without line numbers and without a chain.
// Record is not called concurrently. The entry and its clauses are valid until it returns.
type Recorder interface {
	io.Writer // makes a Recorder usable as a Writer's destination; Writer does not call Write
	Record(e *Entry) error
}

// Writer writes each entry as one line by one call of Write, and chains the lines (see [Chain]). Its methods may be called
// concurrently.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	record Recorder // w as a Recorder; nil if it is none
	entry  Entry    // copy that record receives: passing e itself would move every caller's entry to the heap
	buf    []byte   // buffer for the next line
	size   int64
	chain  Chain
	since  int   // lines since the last head
	broken error // why no more lines can be written; see Write
}

// maxSpare is the capacity up to which the buffer is kept for the next line.
const maxSpare = 1 << 16

// NewWriter returns a Writer to w, which already contains size bytes of complete lines. If w is nil, entries are discarded.
// The chain begins as that of a new ledger: see Continue.
func NewWriter(w io.Writer, size int64) *Writer {
	record, _ := w.(Recorder)
	return &Writer{w: w, record: record, size: size, chain: noLines()}
}

// Continue continues the chain of the lines that exist already, as [ReadChain] returns it. It must be called before the
// first Write.
func (l *Writer) Continue(c Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chain = c
}

// Discards reports whether entries are discarded.
func (l *Writer) Discards() bool { return l.w == nil }

// Write writes an entry as a line. If only part of the line could be written, or nothing of a line that is neither a start
// nor a head, this and every later Write fails: later lines would be unreadable, or wrong without the missing one.
func (l *Writer) Write(e *Entry) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record != nil {
		l.entry = *e
		return l.record.Record(&l.entry)
	}
	return l.write(e)
}

func (l *Writer) write(e *Entry) error {
	if l.broken != nil {
		return l.broken
	}
	b, chain := l.chain.append(e.Append(l.buf[:0]), 0)
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

// Sign writes a head with the token that sign returns for the current chain. It writes nothing if the token is "" or if no
// line was written since the last head, so never to a [Recorder]. Other lines wait meanwhile.
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

// Size returns the number of bytes of complete lines, including those of earlier processes.
func (l *Writer) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}
