package fetcher

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

var (
	errUnsolicited = errors.New("bytes from the server without a request")
	errDead        = errors.New("connection given up")
)

// wire is the connection to which a request is written. It is the only code that sees the first byte being sent. For HTTP/1.1 it is above
// TLS and sees the messages. For HTTP/2 it is below TLS and only sees that bytes are sent.
type wire struct {
	net.Conn
	h1 bool // HTTP/1.1: the connection carries only one message at a time

	mu    sync.Mutex
	turn  *turn // measurements of the exchange that uses the connection; nil while it is idle
	armed bool  // the next write begins the request
	dead  bool  // nothing may be written any more
}

// turn holds the measurements of one exchange on a wire. It is guarded by the wire's mutex.
type turn struct {
	grant     politeness.Grant
	watch     *watch
	beginErr  error
	written   time.Time
	firstByte time.Time
	read      int64 // bytes received
	limit     int64 // maximum number of bytes to receive
	ended     bool  // the server has closed its side of the connection
	idle      time.Duration
	record    *recorder // nil unless exchanges are recorded
}

// take gives the connection to the exchange of t. With HTTP/1.1, nothing but the request is written from then on, so the next write
// begins it. HTTP/2 calls arm for this.
func (w *wire) take(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.armed = t, w.h1
}

// arm declares that the next write is the request of t. HTTP/2 calls it while holding its write lock, so no control frame can be written
// before.
func (w *wire) arm(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn != t {
		w.dead = true // too late: the fetch has ended
		return
	}
	w.armed = t.written.IsZero()
}

// leave ends the exchange that uses the connection. When it returns, no call of Begin is in progress.
func (w *wire) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.armed = nil, false
}

// kill closes the connection immediately, without a TLS closure alert.
func (w *wire) kill() {
	w.mu.Lock()
	w.dead, w.turn, w.armed = true, nil, false
	w.mu.Unlock()
	if t, ok := w.Conn.(interface{ NetConn() net.Conn }); ok {
		_ = t.NetConn().Close()
		return
	}
	_ = w.Conn.Close()
}

// Close implements net.Conn. Nothing is written afterwards, so no Permit is used up by a closed connection.
func (w *wire) Close() error {
	w.mu.Lock()
	w.dead = true
	w.mu.Unlock()
	return w.Conn.Close()
}

// Write calls Begin before the first byte of a request, and writes nothing if Begin fails.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	if err := w.begin(); err != nil {
		w.mu.Unlock()
		return 0, err
	}
	if w.turn != nil && w.turn.record != nil {
		w.turn.record.sent(p)
	}
	w.mu.Unlock()
	return w.Conn.Write(p)
}

func (w *wire) begin() error {
	if w.dead {
		return errDead
	}
	if !w.armed {
		return nil
	}
	w.armed = false
	if err := w.turn.grant.Begin(); err != nil {
		w.turn.beginErr, w.dead = err, true
		return err
	}
	w.turn.written = time.Now()
	return nil
}

// Read counts the bytes that arrive for the exchange that uses the connection.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turn
	switch {
	case t == nil || t.written.IsZero():
		if n > 0 && w.h1 {
			w.dead = true
			return 0, errUnsolicited
		}
		return n, err
	case n == 0:
		t.ended = err != nil
		return n, err
	}
	if w.h1 && t.firstByte.IsZero() {
		t.first()
	}
	t.read += int64(n)
	if t.record != nil {
		t.record.received(p[:n])
	}
	t.watch.touch(n)
	if t.read > t.limit && err == nil {
		err = &limitError{reasonLength}
	}
	return n, err
}

// first records the time of the response's first byte.
func (t *turn) first() {
	t.firstByte = time.Now()
	t.watch.idle(t.idle, false)
}

// gotFirst is like first, for HTTP/2, which can distinguish a response from other frames.
func (w *wire) gotFirst(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn == t && t.firstByte.IsZero() {
		t.first()
	}
}

// snapshot returns a copy of the measurements so far.
func (w *wire) snapshot(t *turn) turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *t
}
