package fetcher

import (
	"context"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"sync"

	"github.com/amble-crawler/amble/politeness"
)

const (
	firstBuffer = 32 << 10 // initial buffer for a body of unknown length
	knownBuffer = 64 << 10 // maximum that is allocated because of a Content-Length, or without a call of Reserve
	drainLimit  = 64 << 10 // maximum that is read after the end of an encoded body to keep the connection
	sniffLength = 1445     // bytes that are sniffed: MIME Sniffing Standard section 4.5, resource header
	ratioFloor  = 1 << 20  // decoded size beyond which MaxRatio applies
)

// source is a body without its transfer coding. It counts bytes and records how the body ended, to distinguish network errors from errors
// of decoders.
type source struct {
	ctx  context.Context
	body io.Reader
	n    int64
	err  error

	decoding *decoding // the decoding that reads the source; nil in tests

	framed bool  // the message marks the end of its body: io.EOF means that the body is complete
	length int64 // length that the response declares; negative if it declares none
}

// framed reports whether the message itself marks the end of its body, not only the end of the connection (RFC 9112
// section 6.3).
func framed(resp *http.Response) bool {
	return resp.ProtoMajor > 1 || resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p)
	s.n += int64(n)
	if err == nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.err = err
	return n, err
}

// decoded returns the number of bytes that were received and decoded, without those that were only read ahead.
func (s *source) decoded() int64 {
	if s.decoding == nil {
		return s.n
	}
	return s.n - int64(s.decoding.unread())
}

// read reads the body into page. clean reports whether the connection can carry another request.
func (x *exchange) read(ctx context.Context, resp *http.Response, page *Page) (clean bool, fail *Error) {
	src := &source{ctx: ctx, body: resp.Body, framed: framed(resp), length: resp.ContentLength}
	limit := x.f.cfg.limit(x.purpose)
	h := hints{max: x.f.cfg.MaxEncodings, sitemap: x.purpose == politeness.Sitemap}
	d, err := x.f.codecs.open(src, codingsOf(resp.Header), limit+x.f.cfg.WireSlack, h)
	defer d.close()
	src.decoding = d
	if err == nil {
		err = x.fill(d, src, page, resp.ContentLength, limit)
	} else {
		x.describe(page)
	}
	page.WireBytes, page.Encoding, page.Note = src.n, d.decoded, d.note
	if err == nil {
		clean = d.drain(src)
		page.WireBytes, page.Note = src.n, d.note
		return clean, nil
	}
	page.Truncated, fail = truncated(ctx, err, src)
	return false, fail
}

// named reports whether the URL is wanted for its purpose, so that its body is read whatever its media type is.
func (x *exchange) named() bool { return x.purpose != politeness.Page }

// truncated returns the reason code for a body that is incomplete because of err. If the caller gave up, it returns an error instead.
func truncated(ctx context.Context, err error, src *source) (string, *Error) {
	var limit *limitError
	var refused *reserveError
	cause := context.Cause(ctx)
	switch {
	case errors.As(cause, &limit), errors.As(err, &limit):
		return limit.reason, nil
	case cause != nil:
		return "", &Error{Phase: PhaseBody, Reason: ReasonCanceled, Err: cause}
	case errors.As(err, &refused):
		return "", &Error{Phase: PhaseBody, Reason: ReasonCanceled, Err: refused.error}
	case src.err != nil && !errors.Is(src.err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && !src.framed:
		return ReasonCutShort, nil
	}
	return reasonEncoding, nil
}

// fill reads the body into page until its end or a limit. It stops early if the media type is unwanted.
func (x *exchange) fill(r io.Reader, src *source, page *Page, length int64, limit int) error {
	size := firstBuffer
	if length >= 0 {
		size = int(min(length+1, knownBuffer))
	}
	buf := x.f.buffers.get(size)
	stop := min(x.f.cfg.UnwantedLimit, limit)
	buf, err := x.readTo(r, src, buf, stop)
	page.Body = buf
	x.describe(page)
	more := err == nil && len(buf) >= stop
	if more && stop < limit && !x.wanted(page.ContentType) {
		buf, err = x.readTo(r, src, buf, stop+1)
		if len(buf) > stop {
			buf, err = buf[:stop], &limitError{reasonUnwanted}
		}
	} else if more {
		if buf, err = x.readTo(r, src, buf, limit+1); len(buf) > limit {
			buf, err = buf[:limit], &limitError{reasonLength}
		}
	}
	page.Body, page.buffer = buf, buf
	if len(buf) == 0 {
		page.Release()
	}
	x.decide(page)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// describe sets the content type of page from the header and the beginning of the body.
func (x *exchange) describe(page *Page) {
	page.ContentType, page.Sniffed = contentType(page.Header, page.Body)
}

func (x *exchange) wanted(contentType string) bool {
	return x.purpose == politeness.Resource || x.named() || x.f.cfg.Wanted == nil || x.f.cfg.Wanted(contentType)
}

// grow gives buf more memory, up to limit, when Reserve grants it: twice as much or, when enough bytes have arrived to make the declared
// length credible, that length.
func (x *exchange) grow(src *source, buf []byte, limit int) ([]byte, error) {
	size := 2 * cap(buf)
	if cap(buf) >= maxBuffer {
		size = int(max(int64(size), min(src.length+1, int64(limit))))
	}
	size = min(size, limit)
	more := size - cap(buf)
	if x.f.cfg.Record { // the recording needs as much memory as the body
		more *= 2
	}
	if x.f.cfg.Reserve != nil && cap(buf) >= knownBuffer && more > 0 {
		resume := x.watch.pause()
		err := x.f.cfg.Reserve(src.ctx, more)
		resume()
		if err != nil {
			return buf, &reserveError{err}
		}
	}
	return x.f.buffers.grow(buf, size), nil
}

// reserveError wraps the reason why no memory was available for a body.
type reserveError struct{ error }

// readTo reads until buf holds n bytes, or until the body ends with an error, which may be io.EOF.
func (x *exchange) readTo(r io.Reader, src *source, buf []byte, n int) ([]byte, error) {
	empty := 0
	for len(buf) < n {
		if len(buf) == cap(buf) {
			var err error
			if buf, err = x.grow(src, buf, n); err != nil {
				return buf, err
			}
		}
		m, err := r.Read(buf[len(buf):min(cap(buf), n)])
		buf = buf[:len(buf)+m]
		if err != nil {
			return buf, err
		}
		if empty++; m > 0 {
			empty = 0
		} else if empty == 100 {
			return buf, io.ErrNoProgress
		}
		if ratio := int64(x.f.cfg.MaxRatio); ratio > 0 && len(buf) > ratioFloor && int64(len(buf)) > ratio*src.decoded() {
			return buf, &limitError{reasonRatio}
		}
	}
	return buf, nil
}

// Sizes of the buffers that are kept for later bodies, in powers of two. Larger buffers are rare and left to the garbage collector.
const (
	minBuffer = 1 << 14
	maxBuffer = 1 << 20
	classes   = 7
)

// buffers provides memory for bodies that are being read. The zero value is ready to use.
type buffers struct {
	pools [classes]sync.Pool // each of *[]byte with a capacity of minBuffer << index
}

// get returns an empty buffer that holds at least n bytes.
func (b *buffers) get(n int) []byte {
	class := bits.Len(uint(max(n, minBuffer)-1)) - bits.Len(uint(minBuffer-1))
	if class >= classes {
		return make([]byte, 0, n)
	}
	if p, ok := b.pools[class].Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, minBuffer<<class)
}

// put takes back a buffer that get has returned.
func (b *buffers) put(p []byte) {
	n := cap(p)
	if n < minBuffer || n > maxBuffer || n&(n-1) != 0 {
		return
	}
	p = p[:0]
	b.pools[bits.TrailingZeros(uint(n))-bits.TrailingZeros(uint(minBuffer))].Put(&p)
}

// grow returns p in a buffer of the given size, with room for at least one more byte.
func (b *buffers) grow(p []byte, size int) []byte {
	bigger := b.get(max(size, len(p)+1))
	bigger = append(bigger, p...)
	b.put(p)
	return bigger
}
