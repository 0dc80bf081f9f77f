package crawltest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferSize is the number of bytes that one direction of a connection buffers before writers block, like the socket buffer of a kernel.
const bufferSize = 64 << 10

// half is one direction of an in-memory connection.
type half struct {
	mu     sync.Mutex
	wake   sync.Cond
	data   []byte
	off    int   // offset in data of the first unread byte
	eof    bool  // the writer has closed its end; buffered bytes can still be read
	gone   bool  // the reader has closed its end; nothing can be written
	broken error // both ends fail; buffered bytes can still be read, as on Linux
	rd, wr deadline
	pushed func() // called with mu held before bytes become readable; may be nil
}

func newHalf() *half {
	h := &half{}
	h.wake.L = &h.mu
	return h
}

// deadline is the time after which operations fail, with the timer that wakes them.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) set(at time.Time, wake func()) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = at
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, wake)
	}
}

// broadcast wakes all waiters. It takes the lock first, so that no waiter is between its check and its wait.
func (h *half) broadcast() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake.Broadcast()
}

// change applies f and wakes all waiters.
func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.wake.Broadcast()
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.gone:
			return 0, net.ErrClosed
		case h.rd.passed():
			return 0, os.ErrDeadlineExceeded
		case h.off < len(h.data):
			n := copy(p, h.data[h.off:])
			h.off += n
			h.wake.Broadcast()
			return n, nil
		case h.broken != nil:
			return 0, h.broken
		case h.eof:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		h.wake.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := 0; ; {
		switch {
		case h.broken != nil:
			return n, h.broken
		case h.eof:
			return n, net.ErrClosed
		case h.gone:
			return n, syscall.EPIPE
		case h.wr.passed():
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		}
		if m := h.push(p[n:]); m > 0 {
			n += m
			continue
		}
		h.wake.Wait()
	}
}

// push buffers as much of p as fits and returns the number of bytes. The caller holds h.mu.
func (h *half) push(p []byte) int {
	if h.off > 0 {
		h.data = h.data[:copy(h.data, h.data[h.off:])]
		h.off = 0
	}
	n := min(len(p), bufferSize-len(h.data))
	if n == 0 {
		return 0
	}
	if h.pushed != nil {
		h.pushed()
	}
	h.data = append(h.data, p[:n]...)
	h.wake.Broadcast()
	return n
}

// memConn is one end of an in-memory connection.
type memConn struct {
	in, out       *half
	local, remote net.Addr
	once          sync.Once
	closing       func() // called once, before the other end can notice; may be nil
}

// pipe creates a connection; the first end is the client's.
func pipe(client, server net.Addr) (c, s *memConn) {
	up, down := newHalf(), newHalf()
	c = &memConn{in: down, out: up, local: client, remote: server}
	s = &memConn{in: up, out: down, local: server, remote: client}
	return c, s
}

func (c *memConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.opError("read", err)
}

func (c *memConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.opError("write", err)
}

// opError wraps an error as the net package does, so that clients handle it in the same way.
func (c *memConn) opError(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

func (c *memConn) Close() error {
	c.shut(nil)
	return nil
}

// reset breaks the connection like a TCP RST: both ends fail, but the other end can first read the bytes that have arrived.
func (c *memConn) reset() { c.shut(syscall.ECONNRESET) }

func (c *memConn) shut(broken error) {
	c.once.Do(func() {
		if c.closing != nil {
			c.closing()
		}
	})
	c.out.change(func() { c.out.eof, c.out.broken = true, cmpErr(c.out.broken, broken); c.out.wr.set(time.Time{}, nil) })
	c.in.change(func() { c.in.gone, c.in.broken = true, cmpErr(c.in.broken, broken); c.in.rd.set(time.Time{}, nil) })
}

// cmpErr returns a, or b if a is nil.
func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.rd.set(t, c.in.broadcast) })
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.wr.set(t, c.out.broadcast) })
	return nil
}
