package warc

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash"
	"hash/maphash"
	"strings"
	"time"

	"github.com/amble-crawler/amble/sink"
)

const (
	typeRequest  = "application/http;msgtype=request"
	typeResponse = "application/http;msgtype=response"
	typeFields   = "application/warc-fields"

	profileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// capture is an exchange while it is being stored.
type capture struct {
	x       *sink.Exchange
	r       *sink.Record // nil if the exchange is not a visit
	at      time.Time
	date    string
	uri     string
	digest  string // digest of the payload
	key     payloadKey
	known   bool      // whether key is valid, so that the payload is looked up and remembered
	earlier *original // earlier capture that stored this payload; may be nil
	request string    // record IDs of request and answer; "" if there is no such record
	answer  string
}

// capture stores an exchange, with the Record of its visit, and returns the place of its main record.
func (w *Writer) capture(x *sink.Exchange, r *sink.Record) (*sink.Location, error) {
	if len(x.Request) == 0 && !x.Answered() {
		return nil, nil
	}
	if err := w.room(estimate(x, r)); err != nil {
		return nil, w.failed(err)
	}
	c := w.newCapture(x, r)
	w.group.reset()
	var main span
	if c.request != "" {
		main = w.putRequest(c)
	}
	if c.answer != "" {
		main = w.putAnswer(c)
	}
	w.putMetadata(c)
	shown := w.putRendered(c)
	offset := w.cur.size
	if err := w.store(); err != nil {
		return nil, w.failed(err)
	}
	at := &sink.Location{File: w.cur.name, Offset: offset + main.start, Length: main.end - main.start}
	if shown != (span{}) {
		r.Rendered.WARC = &sink.Location{File: w.cur.name, Offset: offset + shown.start, Length: shown.end - shown.start}
	}
	if c.answer != "" {
		if err := w.cur.add(c.indexLine(at)); err != nil {
			return nil, w.failed(err)
		}
		if c.known && c.earlier == nil {
			w.seen.add(c.key, original{c.answer, c.uri, c.date})
		}
	}
	return at, nil
}

// estimate returns an upper bound of the size of a capture in the file: with the overhead of compression, and the headers.
func estimate(x *sink.Exchange, r *sink.Record) int64 {
	n := len(x.Request) + len(x.Head) + len(x.Body) + 8*len(x.URL)
	if r != nil {
		n += len(r.Via) + len(strings.Join(r.Hops, "")) + len(r.Reason)
		if r.Rendered != nil {
			n += len(r.Rendered.DOM) + len(r.Rendered.Screenshot) + 8*len(x.URL) + 1024
		}
	}
	return int64(n+n>>8) + 4096
}

func (w *Writer) newCapture(x *sink.Exchange, r *sink.Record) *capture {
	c := &capture{x: x, r: r, at: x.Started, uri: uri(x.URL)}
	if c.at.IsZero() {
		c.at = w.opts.now()
	}
	c.date = formatDate(c.at)
	if len(x.Request) > 0 {
		c.request = newID()
	}
	switch {
	case c.notModified():
		c.answer = newID()
	case x.Answered():
		c.answer, c.digest = newID(), w.opts.Digest.payload(x)
		if c.key, c.known = w.seen.key(c); c.known {
			c.earlier = w.seen.find(c.key)
		}
	}
	return c
}

// header begins the header of a record of the capture.
func (w *Writer) header(c *capture, typ, id string) *header {
	h := newHeader(typ, id, c.date)
	h.add("WARC-Target-URI", c.uri)
	h.add("WARC-Warcinfo-ID", w.cur.info)
	if c.x.Addr.IsValid() {
		h.add("WARC-IP-Address", c.x.Addr.Unmap().WithZone("").String())
	}
	h.opt("WARC-Protocol", c.protocol())
	return h
}

// protocol returns the value of WARC-Protocol (IIPC); "" if the block of the record shows the protocol.
func (c *capture) protocol() string {
	secure := strings.HasPrefix(c.uri, "https:")
	switch {
	case strings.HasPrefix(c.x.Protocol, "HTTP/2") && secure:
		return "h2"
	case strings.HasPrefix(c.x.Protocol, "HTTP/2"):
		return "h2c"
	case strings.HasPrefix(c.x.Protocol, "HTTP/3"):
		return "h3"
	}
	return ""
}

func (w *Writer) putRequest(c *capture) span {
	h := w.header(c, "request", c.request)
	h.opt("WARC-Concurrent-To", c.answer)
	h.add("Content-Type", typeRequest)
	return w.put(h, c.x.Request)
}

func (w *Writer) putAnswer(c *capture) span {
	switch {
	case c.notModified():
		return w.putNotModified(c)
	case c.earlier != nil:
		return w.putRevisit(c)
	}
	h := w.header(c, "response", c.answer)
	h.opt("WARC-Concurrent-To", c.request)
	h.opt("WARC-Truncated", truncation(c.x.Truncated))
	h.add("WARC-Payload-Digest", c.digest)
	h.add("Content-Type", typeResponse)
	return w.put(h, storedHead(c.x), c.x.Payload())
}

// putRevisit stores the response without its payload, which was stored before (ISO 28500 section 6.7.2).
func (w *Writer) putRevisit(c *capture) span {
	h := w.header(c, "revisit", c.answer)
	h.opt("WARC-Concurrent-To", c.request)
	h.add("WARC-Profile", profileIdentical)
	h.add("WARC-Refers-To", c.earlier.id)
	h.add("WARC-Refers-To-Target-URI", c.earlier.uri)
	h.add("WARC-Refers-To-Date", c.earlier.date)
	h.add("WARC-Truncated", "length")
	h.add("WARC-Payload-Digest", c.digest)
	h.add("Content-Type", typeResponse)
	return w.put(h, storedHead(c.x))
}

// notModified reports whether the response means that the page is unchanged since it was stored, by an earlier crawl or visit.
func (c *capture) notModified() bool {
	return c.r != nil && c.r.Outcome == "not_modified" && c.x.Answered()
}

// putNotModified stores a response with status 304 (ISO 28500 section 6.7.3), which has no payload. The record with the payload may be in
// another archive: the response has the validators of that record.
func (w *Writer) putNotModified(c *capture) span {
	h := w.header(c, "revisit", c.answer)
	h.opt("WARC-Concurrent-To", c.request)
	h.add("WARC-Profile", profileNotModified)
	h.add("WARC-Refers-To-Target-URI", c.uri)
	h.add("Content-Type", typeResponse)
	return w.put(h, storedHead(c.x))
}

// truncation returns the value of WARC-Truncated for a reason code; "" for none.
func truncation(reason string) string {
	switch reason {
	case "":
		return ""
	case "length", "ratio", "unwanted":
		return "length"
	case "idle_timeout", "fetch_timeout", "slow":
		return "time"
	case "cut_short":
		return "disconnect"
	}
	return "unspecified"
}

// maxRevisitURI limits the length of the URI for a payload to be remembered.
const maxRevisitURI = 1024

// original is the first capture of a payload.
type original struct{ id, uri, date string }

// payloadKey identifies a payload by the digest in its records, and a second digest with a secret key. Two payloads with the same SHA-1 can
// be constructed, but not with the same second digest. So a wrong payload is never replayed.
type payloadKey struct {
	digest string
	mark   uint64
	length int
}

// payloads remembers a limited number of payloads, those that were stored last.
type payloads struct {
	max   int
	byKey map[payloadKey]original
	ring  []payloadKey // keys in the order in which they were added; when the ring is full, the oldest is at next
	next  int
	seed  maphash.Seed
}

func newPayloads(n int) *payloads {
	return &payloads{max: n, byKey: make(map[payloadKey]original), seed: maphash.MakeSeed()}
}

// key returns the key of a capture's payload. ok is false if the payload must be stored in any case.
func (p *payloads) key(c *capture) (k payloadKey, ok bool) {
	payload := c.x.Payload()
	if p.max == 0 || len(payload) == 0 || c.x.Truncated != "" {
		return k, false
	}
	return payloadKey{c.digest, maphash.Bytes(p.seed, payload), len(payload)}, true
}

func (p *payloads) find(k payloadKey) *original {
	if o, ok := p.byKey[k]; ok {
		return &o
	}
	return nil
}

// add remembers a payload. If the limit is reached, it forgets the oldest one.
func (p *payloads) add(k payloadKey, o original) {
	if len(o.uri) > maxRevisitURI {
		return
	}
	if len(p.ring) < p.max {
		p.ring = append(p.ring, k)
	} else {
		delete(p.byKey, p.ring[p.next])
		p.ring[p.next] = k
		p.next = (p.next + 1) % p.max
	}
	p.byKey[k] = o
}

const (
	typeDOM        = "text/html;charset=utf-8"
	typeScreenshot = "image/png"

	// viewOf is the prefix of the URI of a page's picture. With it, readers do not replay the
	// picture in place of the page. Other archivers of rendered pages use the same prefix.
	viewOf = "urn:view:"

	cutDOM = "render_dom" // same as render.CutDOM
)

// putRendered stores the rendered page: the document as a conversion of the response (ISO 28500 section 6.8), and the picture as a resource
// (section 6.4), which may only refer to the record with which it is concurrent. It returns the place of the document, or the zero span if
// there is no document.
func (w *Writer) putRendered(c *capture) (document span) {
	if c.answer == "" || c.r == nil || c.r.Rendered == nil {
		return span{}
	}
	r := c.r.Rendered
	r.WARC = nil
	if r.DOM != nil {
		document = w.putDOM(c, r)
	}
	if r.Screenshot != nil {
		h := newHeader("resource", newID(), c.date)
		h.add("WARC-Target-URI", viewOf+c.uri)
		h.add("WARC-Warcinfo-ID", w.cur.info)
		h.add("WARC-Concurrent-To", c.answer)
		h.add("Content-Type", typeScreenshot)
		w.put(h, r.Screenshot)
	}
	return document
}

func (w *Writer) putDOM(c *capture, r *sink.Rendered) span {
	h := newHeader("conversion", newID(), c.date)
	h.add("WARC-Target-URI", c.uri)
	h.add("WARC-Warcinfo-ID", w.cur.info)
	h.add("WARC-Refers-To", c.answer)
	if r.Cut == cutDOM {
		h.add("WARC-Truncated", "length")
	}
	h.add("Content-Type", typeDOM)
	return w.put(h, r.DOM)
}

// label returns a digest in the form of WARC fields: SHA-1 in base 32, which needs no padding, and SHA-256 in lower-case base 16, as the
// IIPC recommends.
func (d Digest) label(sum []byte) string {
	if d == SHA256 {
		return "sha256:" + hex.EncodeToString(sum)
	}
	return "sha1:" + base32.StdEncoding.EncodeToString(sum)
}

func (d Digest) of(block ...[]byte) string {
	var h hash.Hash
	if d == SHA256 {
		h = sha256.New()
	} else {
		h = sha1.New()
	}
	for _, b := range block {
		_, _ = h.Write(b)
	}
	return d.label(h.Sum(nil))
}

// payload returns the digest of an exchange's payload, as a label.
func (d Digest) payload(x *sink.Exchange) string {
	if d == SHA256 {
		sum := x.SHA256()
		return d.label(sum[:])
	}
	sum := x.SHA1()
	return d.label(sum[:])
}
