package crawltest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// plan describes how a request will be answered. It is a copy of the fixture's state at that time.
type plan struct {
	page    *Page // nil for 404, or for 421 if there is no site
	site    bool
	latency time.Duration
	clock   time.Duration
	fault   Fault // of kind 0 if there is no fault
}

// serve answers every request of the Web.
func (w *Web) serve(rw http.ResponseWriter, r *http.Request) {
	c := connOf(r)
	e, p := w.accept(c, r)
	a := &answer{ResponseWriter: rw, web: w, entry: e}
	if !w.pause(r.Context(), p.latency) {
		panic(http.ErrAbortHandler)
	}
	w.respond(a, r, c, p)
	a.end()
}

// accept completes the log entry of a request and decides how to answer it.
func (w *Web) accept(c *serverConn, r *http.Request) (*entry, plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := c.current(r.ContentLength != 0)
	e.Method, e.Header, e.UserAgent = r.Method, r.Header.Clone(), r.Header.Get("User-Agent")
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	e.Host = net.JoinHostPort(host, strconv.Itoa(int(c.addr.Port())))
	origin := originOf(c.tls, host, c.addr.Port())
	e.URL = r.RequestURI
	if strings.HasPrefix(r.RequestURI, "/") {
		e.URL = origin + r.RequestURI
	}
	s := w.origins[origin]
	if s == nil || !s.name.has(c.addr.Addr()) {
		return e, plan{}
	}
	return e, w.plan(s, e, r)
}

// current returns the request for which a handler was called. Bytes after it are the next request, unless they are its body. The caller
// must hold web.mu.
func (c *serverConn) current(hasBody bool) *entry {
	if c.cur == nil {
		c.cur = c.web.begin(c)
	}
	e := c.cur
	e.answering, e.hasBody = true, hasBody
	if rest := e.rest; len(rest) > 0 && !hasBody && c.next == nil {
		c.next = c.web.begin(c)
		c.next.keep(rest)
	}
	e.rest = nil
	return e
}

func originOf(secure bool, host string, port uint16) string {
	scheme, usual := "http://", uint16(80)
	if secure {
		scheme, usual = "https://", 443
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != usual {
		host += ":" + strconv.Itoa(int(port))
	}
	return scheme + host
}

// plan looks up the page and selects the faults. The caller holds w.mu.
func (w *Web) plan(s *Site, e *entry, r *http.Request) plan {
	p := plan{site: true, latency: s.latency, clock: s.clock}
	page := s.find(r.URL.RequestURI(), time.Since(w.start))
	e.site, e.served = s, page
	if page != nil {
		copied := *page
		copied.header = page.header.Clone()
		p.page = &copied
		p.latency += page.latency
	}
	if f := s.fault(stageAnswer, page, e); f != nil {
		p.fault = *f
	}
	return p
}

// tooFast reports whether the host's last request before e ended less than gap ago. The caller holds w.mu.
func (w *Web) tooFast(e *entry, gap time.Duration) bool {
	for i := len(w.log) - 1; i >= 0; i-- {
		if o := w.log[i]; o != e && o.Host == e.Host {
			return o.End.IsZero() || e.Start.Sub(o.End) < gap
		}
	}
	return false
}

// pause waits for d. It returns false if the context ended or the Web is closing.
func (w *Web) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-w.base.Done():
	}
	return false
}

// forever waits until the client closes the connection.
func (w *Web) forever(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.base.Done():
	}
	panic(http.ErrAbortHandler)
}

// respond sends the planned answer, or carries out the planned fault.
func (w *Web) respond(a *answer, r *http.Request, c *serverConn, p plan) {
	if p.clock != 0 {
		a.Header().Set("Date", time.Now().Add(p.clock).UTC().Format(http.TimeFormat))
	}
	switch p.fault.kind {
	case faultHang:
		w.forever(r.Context())
	case faultReset:
		c.raw.reset()
		panic(http.ErrAbortHandler)
	case faultStatus, faultTooFast:
		p.fault.refuse(a, p.clock)
	case faultCut, faultStall, faultSlow:
		f := &faulty{answer: a, web: w, conn: c, r: r, fault: p.fault}
		p.give(f, r)
	default:
		p.give(a, r)
	}
}

// wallField and wallValue mark an answer as a challenge.
const (
	wallField = "Cf-Mitigated"
	wallValue = "challenge"
)

// refuse answers with the fault's status and Retry-After; dates are those of the site's clock.
func (f Fault) refuse(a *answer, clock time.Duration) {
	switch f.retry {
	case "seconds":
		a.Header().Set("Retry-After", strconv.Itoa(int((f.wait+time.Second-1)/time.Second)))
	case "date":
		at := time.Now().Add(clock + f.wait + time.Second - 1).UTC()
		a.Header().Set("Retry-After", at.Format(http.TimeFormat))
	case "":
	default:
		a.Header().Set("Retry-After", f.retry[1:])
	}
	if f.wall {
		a.Header().Set(wallField, wallValue)
	}
	http.Error(a, http.StatusText(f.status), f.status)
}

// give sends the planned page.
func (p plan) give(a http.ResponseWriter, r *http.Request) {
	switch {
	case !p.site:
		http.Error(a, "no such site", http.StatusMisdirectedRequest)
	case p.page == nil:
		http.NotFound(a, r)
	case p.page.handler != nil:
		p.page.handler.ServeHTTP(a, r)
	default:
		p.page.write(a)
	}
}

// write sends a page that is not a handler.
func (p *Page) write(a http.ResponseWriter) {
	h := a.Header()
	h["Content-Type"] = nil // otherwise net/http would detect the type
	if p.typ != "" {
		h.Set("Content-Type", p.typ)
	}
	if p.location != "" {
		h.Set("Location", p.location)
	}
	if p.status != http.StatusNotModified && p.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(p.body)))
	}
	for k, v := range p.header {
		h[k] = v
	}
	a.WriteHeader(p.status)
	_, _ = io.WriteString(a, p.body)
}

// answer is the ResponseWriter that writes the log.
type answer struct {
	http.ResponseWriter
	web   *Web
	entry *entry
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush implements http.Flusher. An answer is complete for the client when the announced number of bytes is flushed,
// whatever the handler does afterwards.
func (a *answer) Flush() {
	err := http.NewResponseController(a.ResponseWriter).Flush()
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	length, has := a.entry.Answer["Content-Length"]
	if err == nil && has && length[0] == strconv.FormatInt(a.entry.Bytes, 10) {
		a.entry.handled = true
	}
}

// WriteHeader logs the final status and the header at the time of the call.
func (a *answer) WriteHeader(code int) {
	a.web.mu.Lock()
	if a.entry.Status == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		a.entry.Status, a.entry.Answer = code, a.Header().Clone()
	}
	a.web.mu.Unlock()
	a.ResponseWriter.WriteHeader(code)
}

// Write counts the body's bytes.
func (a *answer) Write(p []byte) (int, error) {
	if a.entry.Status == 0 { // when a handler runs, only its goroutine sets Status
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(p)
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	a.entry.Bytes += int64(n)
	return n, err
}

// end records that the handler returned.
func (a *answer) end() {
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	if a.entry.Status == 0 {
		a.entry.Status, a.entry.Answer = http.StatusOK, a.Header().Clone()
	}
	a.entry.handled = true
}

// faulty applies a fault to a body.
type faulty struct {
	*answer
	web   *Web
	conn  *serverConn
	r     *http.Request
	fault Fault
	sent  int
}

// Write writes as much as the fault permits.
func (f *faulty) Write(p []byte) (int, error) {
	if f.fault.kind == faultSlow {
		return f.slowly(p)
	}
	left := f.fault.bytes - f.sent
	if left >= len(p) {
		n, err := f.answer.Write(p)
		f.sent += n
		return n, err
	}
	_, _ = f.answer.Write(p[:left])
	f.Flush()
	if f.fault.kind == faultStall {
		f.web.forever(f.r.Context())
	}
	if f.fault.reset {
		f.conn.raw.reset()
	}
	panic(http.ErrAbortHandler)
}

func (f *faulty) slowly(p []byte) (int, error) {
	for n := 0; n < len(p); {
		m, err := f.answer.Write(p[n:min(len(p), n+f.fault.bytes)])
		if n += m; err != nil {
			return n, err
		}
		f.Flush()
		if n < len(p) && !f.web.pause(f.r.Context(), f.fault.wait) {
			panic(http.ErrAbortHandler)
		}
	}
	return len(p), nil
}
