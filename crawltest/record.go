package crawltest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Request is one request as the server received it. Its headers are shared with the log and must not be changed.
type Request struct {
	ID        int            // number from 1, in the order in which first bytes arrived
	Conn      int            // number of the connection, from 1
	Host      string         // host:port, always with port; "" if the request could not be parsed
	Addr      netip.AddrPort // the address of the server
	URL       string         // absolute, as requested
	Line      string         // the request line as sent, cut to 16 KiB
	Method    string
	Header    http.Header // header of the request, without Host
	UserAgent string
	Start     time.Time   // time at which the request's first byte arrived
	End       time.Time   // time of the answer's last byte, or of the connection's end if the answer is incomplete; zero while in flight
	Status    int         // 0 if the request was never answered
	Answer    http.Header // header of the answer
	Bytes     int64       // number of bytes of the answer's body
	Complete  bool        // the whole answer was sent

	began, ended int64 // logical clock of Start and End
	site         *Site // nil if there is no such site
	served       *Page // nil for 404
}

// maxLine limits the stored bytes of a request line.
const maxLine = 16 << 10

// entry is a Request that is in progress. All fields are guarded by the Web's mutex.
type entry struct {
	Request
	line      []byte
	lineDone  bool
	blank     bool // no byte of the current line of the head has arrived
	headDone  bool
	rest      []byte // bytes after the head: a body, or the next request
	answering bool   // a handler was called
	handled   bool   // the response is complete: the handler returned normally, or flushed all announced bytes
	failed    bool   // a write of the answer failed
	hasBody   bool   // the bytes that arrive belong to the request's body
	closedAt  time.Time
	closedSeq int64
	done      bool
}

// serverConn is the server's end of a connection. It sees every byte and writes the log.
type serverConn struct {
	net.Conn // the memConn, or TLS on it
	raw      *memConn
	web      *Web
	id       int
	addr     netip.AddrPort
	tls      bool
	dial     *Dial

	// guarded by web.mu
	cur  *entry // the request being read or answered
	next *entry // a request that arrived while the site was answering cur
	over bool
}

// Read passes on the bytes that arrived and records the beginning of requests.
func (c *serverConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.web.received(c, p[:n])
	}
	return n, err
}

// Write passes the bytes on. The pipe reports when they leave.
func (c *serverConn) Write(p []byte) (int, error) {
	c.web.sniff(c, p)
	n, err := c.Conn.Write(p)
	if err != nil {
		c.web.writeFailed(c)
	}
	return n, err
}

// Close ends the connection without waiting for the close messages of TLS.
func (c *serverConn) Close() error {
	c.web.mu.Lock()
	delete(c.web.conns, c)
	c.web.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(r *http.Request) *serverConn {
	c, _ := r.Context().Value(connKey{}).(*serverConn)
	return c
}

// received records bytes of a request.
func (w *Web) received(c *serverConn, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.cur == nil:
		c.cur = w.begin(c)
		c.cur.keep(p)
	case !c.cur.answering:
		c.cur.keep(p)
	case !c.cur.hasBody:
		if c.next == nil {
			c.next = w.begin(c)
		}
		c.next.keep(p)
	}
}

// begin logs a request whose first byte just arrived. The caller holds w.mu.
func (w *Web) begin(c *serverConn) *entry {
	e := &entry{Request: Request{ID: len(w.log) + 1, Conn: c.id, Addr: c.addr, Start: time.Now(), began: w.tick()}}
	w.log = append(w.log, e)
	c.dial.Requests++
	return e
}

// keep collects the request line, finds the end of the head, and stores the bytes after it.
func (e *entry) keep(p []byte) {
	for i, b := range p {
		if e.headDone {
			e.rest = append(e.rest, p[i:min(len(p), i+maxLine-len(e.rest))]...)
			return
		}
		switch {
		case b == '\n':
			e.headDone = e.lineDone && e.blank
			e.lineDone, e.blank = true, true
		case !e.lineDone && len(e.line) < maxLine:
			e.line = append(e.line, b)
		case b != '\r':
			e.blank = false
		}
	}
}

// sniff reads the status of a response that net/http sends without calling a handler (400, 431, …).
func (w *Web) sniff(c *serverConn, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := c.cur
	if e == nil || e.answering || e.Status != 0 || !bytes.HasPrefix(p, []byte("HTTP/1.")) || len(p) < 12 {
		return
	}
	e.Status, _ = strconv.Atoi(string(p[9:12]))
	e.handled = true
}

// sent records that bytes of an answer were sent.
func (w *Web) sent(c *serverConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := c.cur; e != nil {
		e.End, e.ended = time.Now(), w.tick()
	}
}

func (w *Web) writeFailed(c *serverConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.cur != nil {
		c.cur.failed = true
	}
}

// hungUp records that one end closed the connection.
func (w *Web) hungUp(c *serverConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, seq := time.Now(), w.tick()
	for _, e := range []*entry{c.cur, c.next} {
		if e != nil && e.closedAt.IsZero() {
			e.closedAt, e.closedSeq = now, seq
		}
	}
	if c.dial.End.IsZero() {
		c.dial.End = now
	}
}

// connState is called by the http.Server and shows when a request is complete.
func (w *Web) connState(nc net.Conn, s http.ConnState) {
	c := nc.(*serverConn)
	switch s {
	case http.StateIdle:
		w.mu.Lock()
		c.finish()
		w.mu.Unlock()
	case http.StateClosed, http.StateHijacked:
		w.mu.Lock()
		over := c.over
		c.over = true
		c.finish()
		c.finish()
		w.mu.Unlock()
		if !over {
			w.wg.Done()
		}
	}
}

// finish settles the current request; the next one becomes current. The caller holds web.mu.
func (c *serverConn) finish() {
	if e := c.cur; e != nil {
		e.settle(c.web)
	}
	c.cur, c.next = c.next, nil
}

// settle sets the end of a request: the time of the answer's last byte if the whole answer was sent, otherwise the end of the connection.
func (e *entry) settle(w *Web) {
	e.done = true
	e.Complete = e.handled && !e.failed
	if e.Complete && !e.End.IsZero() {
		return
	}
	e.End, e.ended = e.closedAt, e.closedSeq
	if e.End.IsZero() {
		e.End, e.ended = time.Now(), w.tick()
	}
}

// snapshot returns the current state of the Request.
func (e *entry) snapshot() Request {
	r := e.Request
	r.Line = string(bytes.TrimSuffix(e.line, []byte("\r")))
	switch {
	case e.done, e.handled && !e.failed && !e.End.IsZero():
		r.Complete = e.handled && !e.failed
	case !e.closedAt.IsZero():
		r.End, r.ended = e.closedAt, e.closedSeq
	default:
		r.End, r.ended = time.Time{}, 0
	}
	return r
}

// Requests returns the log so far, in order of arrival.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	rs := make([]Request, len(w.log))
	for i, e := range w.log {
		rs[i] = e.snapshot()
	}
	return rs
}

// Dial is an attempt to connect.
type Dial struct {
	Addr     netip.AddrPort
	Start    time.Time
	End      time.Time // when the connection ended or the attempt failed; zero while it is open
	Err      string    // why there was no connection; "" if there was one
	Requests int       // number of requests so far
}

// Dials returns every attempt to connect so far, in order.
func (w *Web) Dials() []Dial {
	w.mu.Lock()
	defer w.mu.Unlock()
	ds := make([]Dial, len(w.dials))
	for i, d := range w.dials {
		ds[i] = *d
	}
	return ds
}

// Lookup is a look-up in the simulated DNS.
type Lookup struct {
	Name string
	Time time.Time
	Err  string // "" if there was an answer
}

// Lookups returns every look-up in the DNS so far, in order.
func (w *Web) Lookups() []Lookup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lookups)
}
