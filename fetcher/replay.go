package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Recorded is a response that was recorded earlier.
type Recorded struct {
	Addr      netip.Addr // address of the server; may be the zero Addr
	Head      []byte     // status line and header section as received, with the empty line after it
	Payload   []byte     // body without transfer coding, but with its content coding
	Truncated string     // reason code if Payload is not complete; otherwise ""
}

// ErrNotRecorded is returned by the function given to [NewReplayer] for a URL without a recorded response.
var ErrNotRecorded = errors.New("fetcher: there is no recorded answer")

// Replayer returns recorded responses and sends nothing. It accepts only Permits of a Gate with politeness.Config.Offline, with which no
// Fetcher can send anything. Such a Gate requires no waiting, so a crawl with a Replayer is as fast as its parser. The Pages are like
// those of a Fetcher, except for their times. It is safe for concurrent use.
type Replayer struct {
	f    *Fetcher
	find func(u weburl.URL, why politeness.Purpose) (*Recorded, error)
}

// NewReplayer makes a Replayer. Of c, it uses only the fields for sizes and decoding. find returns the recorded response for a URL, and
// is called concurrently. If find returns an *[Error], Fetch returns it unchanged. For any other error, the reason is [ReasonNotRecorded]
// if it wraps [ErrNotRecorded], otherwise "recording_damaged". NewReplayer returns the error of [Config.Validate].
func NewReplayer(c Config, find func(u weburl.URL, why politeness.Purpose) (*Recorded, error)) (*Replayer, error) {
	c.Reserve = nil
	f, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Replayer{f, find}, nil
}

// CloseIdle does nothing: there are no connections.
func (*Replayer) CloseIdle(string) {}

// Resolve returns a loopback address, to which nothing is sent. It is always the same for a host name.
func (*Replayer) Resolve(_ context.Context, u weburl.URL) (netip.Addr, error) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, u.Hostname()) // writing to a hash never returns an error
	n := h.Sum32()
	return netip.AddrFrom4([4]byte{127, byte(n >> 16), byte(n >> 8), byte(n)}), nil
}

// Fetch redeems p and returns the recorded response for its URL. Errors are of type *[Error]; none is temporary.
func (r *Replayer) Fetch(ctx context.Context, p politeness.Permit) (*Page, error) {
	started := time.Now()
	if err := p.Replay(); err != nil {
		return nil, notSent(err)
	}
	page, fail := r.page(ctx, p.URL(), p.Purpose())
	if fail != nil {
		fail.Ended = time.Now()
		return nil, fail
	}
	page.Permit, page.Started, page.Written, page.FirstByte, page.Ended = p, started, started, started, time.Now()
	return page, nil
}

func (r *Replayer) page(ctx context.Context, u weburl.URL, why politeness.Purpose) (*Page, *Error) {
	rec, err := r.find(u, why)
	if err != nil {
		return nil, unrecorded(err)
	}
	return r.read(ctx, u, why, rec)
}

// Read returns the Page of a recorded response for a URL, with its decoded body, its media type and its charset. Errors are of type
// *[Error].
func (r *Replayer) Read(ctx context.Context, u weburl.URL, rec *Recorded) (*Page, error) {
	page, fail := r.read(ctx, u, politeness.Page, rec)
	if fail != nil {
		return nil, fail
	}
	return page, nil
}

func (r *Replayer) read(ctx context.Context, u weburl.URL, why politeness.Purpose, rec *Recorded) (*Page, *Error) {
	resp, err := rec.response() //nolint:bodyclose // the body is in memory
	if err != nil {
		return nil, &Error{Phase: PhaseHeader, Reason: reasonRecording, Err: err}
	}
	escapeLocation(resp.Header)
	page := &Page{
		URL: u, Addr: rec.Addr, Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header,
		Raw: &Raw{Head: rec.Head, Body: rec.Payload, Cut: rec.Truncated != ""}, buffers: &r.f.buffers,
	}
	if !page.Addr.IsValid() {
		page.Addr, _ = r.Resolve(ctx, u) // Resolve never returns an error
	}
	x := &exchange{f: r.f, url: u, purpose: why}
	if _, fail := x.read(ctx, resp, page); fail != nil {
		page.Release()
		return nil, fail
	}
	if rec.Truncated != "" && (page.Truncated == "" || page.Truncated == ReasonCutShort) {
		page.Truncated = rec.Truncated
	}
	return page, nil
}

// unrecorded returns the error of Fetch for an error of find.
func unrecorded(err error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known):
		e := *known
		return &e
	case errors.Is(err, ErrNotRecorded):
		return &Error{Phase: PhaseRequest, Reason: ReasonNotRecorded, Err: err}
	}
	return &Error{Phase: PhaseRequest, Reason: reasonRecording, Err: err}
}

// response returns the recorded response as a response of net/http.
func (rec *Recorded) response() (*http.Response, error) {
	head := rec.Head
	if rest, ok := bytes.CutPrefix(head, []byte("HTTP/2 ")); ok { // form of the status line in some archives
		head = append([]byte("HTTP/2.0 "), rest...)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return nil, fmt.Errorf("the recorded header: %w", err)
	}
	_ = resp.Body.Close() // the payload is separate
	payload := rec.Payload
	if n := resp.ContentLength; n >= 0 && n < int64(len(payload)) {
		payload = payload[:n]
	}
	resp.Body = io.NopCloser(&recordedBody{payload, rec.Truncated != ""})
	return resp, nil
}

// recordedBody reads a recorded payload. If the payload is incomplete, it ends with the error of a broken connection.
type recordedBody struct {
	rest []byte
	cut  bool
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case b.cut:
		return 0, io.ErrUnexpectedEOF
	}
	return 0, io.EOF
}
