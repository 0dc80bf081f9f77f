package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

var (
	errSwitching     = errors.New("the server switched protocols")
	errInformational = errors.New("too many informational answers")
	errFields        = errors.New("too many header fields")
	errStatus        = errors.New("a final status below 200")
	errEarly         = errors.New("the answer was there before the request")
)

// exchange is one request and its response.
type exchange struct {
	f          *Fetcher
	grant      politeness.Grant
	expires    time.Time // expiry of the Permit
	url        weburl.URL
	purpose    politeness.Purpose
	validators Validators
	form       []byte // the form to submit; nil for a GET
	watch      *watch
	secret     []string // names of the header fields that are only for this request
	keyID      string   // ID of the key that signed the request
	answered   func(status int, h http.Header) (again bool)

	conn  *conn
	turn  *turn
	fault atomic.Pointer[Error] // error of a trace hook, which net/http does not pass on unchanged
}

// run makes the request. If a pooled connection turns out to be closed before anything was written, run uses another connection. After
// the first byte of the request, there is no second attempt.
func (x *exchange) run(ctx context.Context) (*Page, *Error) {
	req, fail := x.request(ctx)
	if fail != nil {
		return nil, fail
	}
	for {
		if err := x.connection(ctx); err != nil {
			return nil, x.explain(ctx, phaseConnect, err)
		}
		resp, err := x.send(ctx, req)
		if err == nil {
			return x.receive(ctx, resp)
		}
		x.conn.drop()
		if !x.conn.reused || !x.untouched() || context.Cause(ctx) != nil {
			return nil, x.explain(ctx, PhaseHeader, err)
		}
	}
}

// untouched reports whether no byte of the request was sent and the Permit is still valid for it.
func (x *exchange) untouched() bool {
	return !x.grant.Begun() && x.conn.wire.snapshot(x.turn).beginErr == nil
}

// connection sets x.conn to a pooled connection to exactly this host at exactly this address, or to a new one.
func (x *exchange) connection(ctx context.Context) error {
	k := key(x.url, x.grant)
	if x.conn = x.f.pool.get(k); x.conn != nil {
		return nil
	}
	a := &attempt{f: x.f, grant: x.grant, expires: x.expires, url: x.url, watch: x.watch, key: k}
	var err error
	x.conn, err = a.dial(ctx)
	return err
}

// send writes the request and waits for the header of the response.
func (x *exchange) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	c := &x.f.cfg
	x.turn = &turn{
		grant: x.grant, watch: x.watch, idle: c.IdleTimeout,
		limit: int64(c.limit(x.purpose) + c.WireSlack),
	}
	if c.Record {
		x.turn.record = newRecorder(x.turn.limit)
	}
	x.watch.enter(reasonHeaderTimeout, c.FirstByteTimeout)
	x.conn.wire.take(x.turn)
	if x.form != nil { // a new reader for each attempt
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(x.form)), int64(len(x.form))
	}
	return x.conn.client.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, x.trace())))
}

// trace observes decisions of net/http: how many informational responses it accepts, and on HTTP/2 when it writes the request among other
// frames.
func (x *exchange) trace() *httptrace.ClientTrace {
	w, t, seen := x.conn.wire, x.turn, 0
	trace := &httptrace.ClientTrace{
		Got1xxResponse: func(status int, _ textproto.MIMEHeader) error {
			seen++
			if t.record != nil {
				w.informational(t)
			}
			return x.informational(status, seen, w.snapshot(t).read)
		},
	}
	if !w.h1 {
		trace.WroteHeaderField = func(string, []string) { w.arm(t) }
		trace.GotFirstResponseByte = func() { w.gotFirst(t) }
	}
	return trace
}

// informational returns an error if a response with status 1xx exceeds a limit.
func (x *exchange) informational(status, seen int, read int64) error {
	var e *Error
	switch c := &x.f.cfg; {
	case status == http.StatusSwitchingProtocols:
		e = &Error{Phase: PhaseHeader, Reason: reasonSwitching, Err: errSwitching}
	case seen > c.MaxInformational, read > int64(c.MaxHeader):
		e = &Error{Phase: PhaseHeader, Reason: reasonHeaderTooBig, Err: errInformational}
	default:
		return nil
	}
	x.fault.Store(e)
	return e
}

// receive makes the page of a response and returns the connection to the pool if it can be reused.
func (x *exchange) receive(ctx context.Context, resp *http.Response) (*Page, *Error) {
	if fail := x.judge(resp); fail != nil {
		x.conn.drop()
		_ = resp.Body.Close()
		return nil, x.stamp(fail)
	}
	x.watch.idle(x.f.cfg.IdleTimeout, true)
	page := x.page(resp)
	clean, fail := x.read(ctx, resp, page)
	page.Ended = time.Now()
	x.settle(resp, clean && !resp.Close)
	x.measure(page)
	if fail != nil {
		page.Release()
		return nil, x.stamp(fail)
	}
	if x.f.jar != nil {
		x.f.jar.store(x.url.Origin(), x.url.Path(), resp.Header["Set-Cookie"], page.Ended)
	}
	if page.KeyID = x.keyID; x.answered != nil {
		page.Challenged = x.answered(page.Status, page.Header)
	}
	return page, nil
}

// settle returns the connection to the pool if keep is set; otherwise it closes the connection.
func (x *exchange) settle(resp *http.Response, keep bool) {
	if !keep {
		x.conn.drop()
		_ = resp.Body.Close()
		return
	}
	_ = resp.Body.Close()
	x.conn.wire.leave()
	x.f.pool.put(x.conn)
}

// measure copies the measurements of the wire to the page. The exchange no longer owns the connection.
func (x *exchange) measure(page *Page) {
	page.Written, page.FirstByte = x.turn.written, x.turn.firstByte
	if x.turn.record != nil {
		page.Raw = x.turn.record.raw(x.secret)
		if x.form != nil {
			page.Raw.Request = page.Raw.Request[:headLength(page.Raw.Request)]
		}
		if x.f.jar != nil {
			maskCookies(page.Raw.Head)
		}
		page.Raw.Cut = page.Raw.Cut || page.Truncated != ""
	}
}

// judge returns an error for a response that is not usable.
func (x *exchange) judge(resp *http.Response) *Error {
	fields := 0
	for _, v := range resp.Header {
		fields += len(v)
	}
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return &Error{Phase: PhaseHeader, Reason: reasonSwitching, Err: errSwitching}
	case resp.StatusCode < 200:
		return &Error{Phase: PhaseHeader, Reason: reasonMalformed, Err: errStatus}
	case fields > x.f.cfg.MaxHeaderFields:
		return &Error{Phase: PhaseHeader, Reason: reasonHeaderTooBig, Err: errFields}
	case x.conn.wire.snapshot(x.turn).firstByte.IsZero():
		return &Error{Phase: PhaseHeader, Reason: reasonMalformed, Err: errEarly}
	}
	return nil
}

func (x *exchange) page(resp *http.Response) *Page {
	escapeLocation(resp.Header)
	return &Page{
		Reused: x.conn.reused,
		URL:    x.url, Addr: x.grant.Addr(), Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header,
		Insecure: x.conn.insecure, buffers: &x.f.buffers,
	}
}

// escapeLocation percent-encodes the bytes of a Location that is not UTF-8, as browsers do.
func escapeLocation(h http.Header) {
	for i, v := range h["Location"] {
		if utf8.ValidString(v) {
			continue
		}
		var b []byte
		for _, c := range []byte(v) {
			if c < utf8.RuneSelf {
				b = append(b, c)
			} else {
				b = fmt.Appendf(b, "%%%02X", c)
			}
		}
		h["Location"][i] = string(b)
	}
}

// explain returns the error for a failure. It looks for the cause first in decisions of the fetch itself, then in the error of the
// network stack.
func (x *exchange) explain(ctx context.Context, phase string, err error) *Error {
	var t turn
	if x.turn != nil && x.conn != nil {
		t = x.conn.wire.snapshot(x.turn)
	}
	if phase == PhaseHeader && t.written.IsZero() {
		phase = PhaseRequest
	}
	fail := failure(phase, err)
	var limit *limitError
	switch cause := context.Cause(ctx); {
	case t.beginErr != nil:
		fail = notSent(t.beginErr)
	case x.fault.Load() != nil:
		fail = x.fault.Load()
	case errors.As(cause, &limit):
		fail = &Error{Phase: fail.Phase, Reason: limit.reason, Err: fail.Err}
	case cause != nil:
		fail = &Error{Phase: fail.Phase, Reason: ReasonCanceled, Err: cause}
	case phase == PhaseHeader:
		fail.Reason = refine(fail.Reason, &t, int64(x.f.cfg.MaxHeader), x.conn.wire.h1)
	}
	return x.stamp(fail)
}

// refine uses the state of the wire to distinguish failures for which net/http has the same error. If a header section is much too long,
// HTTP/2 ends the connection with an unspecific error.
func refine(reason string, t *turn, maxHeader int64, h1 bool) string {
	switch {
	case t.read >= maxHeader, reason == reasonMalformed && !h1 && t.read >= maxHeader/2:
		return reasonHeaderTooBig
	case reason == reasonMalformed && t.read == 0:
		return reasonNoAnswer
	case reason == reasonMalformed && t.ended, reason == reasonNoAnswer && !t.firstByte.IsZero():
		return ReasonCutShort
	}
	return reason
}

// stamp adds the times of the exchange to e.
func (x *exchange) stamp(e *Error) *Error {
	out := *e
	if x.turn != nil && x.conn != nil {
		t := x.conn.wire.snapshot(x.turn)
		out.Written, out.FirstByte, out.WireBytes = t.written, t.firstByte, t.read
	}
	return &out
}
