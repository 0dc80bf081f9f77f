package terminal

import (
	"io"
	"sync"
	"time"
)

// A line after a pause is written at once. Lines that follow it in quick succession are written together, after burstPause or when they
// reach burstSize bytes.
const (
	burstPause = 20 * time.Millisecond
	burstSize  = 32 << 10
)

// Burst writes lines to w, many at once if they arrive quickly: for thousands of URLs per second, it makes a few dozen system calls.
type Burst struct {
	w io.Writer

	mu    sync.Mutex
	buf   []byte
	last  time.Time // time of the last write to w
	timer *time.Timer
	err   error
}

// NewBurst returns a Burst that writes to w.
func NewBurst(w io.Writer) *Burst { return &Burst{w: w} }

// Write implements io.Writer. The error may be that of writing earlier lines.
func (b *Burst) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, line...)
	switch {
	case len(b.buf) >= burstSize, len(b.buf) == len(line) && time.Since(b.last) >= burstPause:
		b.flush()
	case b.timer == nil:
		b.timer = time.AfterFunc(burstPause, b.flushNow)
	}
	return len(line), b.err
}

// flush writes the buffered lines. The caller must hold the lock.
func (b *Burst) flush() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if b.err == nil && len(b.buf) > 0 {
		_, b.err = b.w.Write(b.buf)
	}
	b.buf, b.last = b.buf[:0], time.Now()
}

func (b *Burst) flushNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

// Close writes the buffered lines and returns the first error of any write.
func (b *Burst) Close() error {
	b.flushNow()
	return b.err
}
