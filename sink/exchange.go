package sink

import (
	"crypto/sha1"
	"crypto/sha256"
	"net/netip"
	"time"
)

// Exchange is a request and its answer as they went over the wire. Its methods compute what they
// return once and keep it: an Exchange is not safe for concurrent use, and its slices must not be
// changed once a method was called.
type Exchange struct {
	URL     string     // what was asked for: absolute, http or https, no fragment
	Addr    netip.Addr // who was asked; invalid when that is not known
	Started time.Time  // the request's first octet
	Ended   time.Time  // the answer's last octet, or when it was given up

	// Protocol is the protocol of the answer as net/http names it: "HTTP/1.1", "HTTP/2.0".
	Protocol string
	// Purpose says what a request without a visit was for, such as "robots". "" with a visit.
	Purpose string

	// Request is the request as it was written, secrets blanked. Empty when it was not recorded.
	Request []byte
	// Head is the status line and header section of the final answer, with the empty line after it.
	// Empty without an answer. For HTTP/2, where neither has this form, see [SyntheticHead] and
	// [SyntheticRequest].
	Head []byte
	// Body is what followed as it was received: transfer coding and content coding still on it.
	Body []byte
	// Truncated is why Body is not whole, in the reason codes of Record.Truncated. "" when it is.
	Truncated string

	opened  bool
	chunked bool
	payload []byte
	sha1    *[sha1.Size]byte
	sha256  *[sha256.Size]byte
}

// Answered reports whether there is an answer with a whole header section.
func (x *Exchange) Answered() bool {
	for line, rest := range lines(x.Head) {
		if len(line) == 0 {
			return len(rest) == 0
		}
	}
	return false
}

// Status is the status code of the answer, 0 without one.
func (x *Exchange) Status() int { return status(x.Head) }

// ContentType is the media type that the answer's header names, in lower case and without parameters.
// "" when there is none.
func (x *Exchange) ContentType() string {
	v, _ := field(x.Head, "Content-Type")
	return mediaType(v)
}

// Payload is the body without transfer coding: the entity body of RFC 2616 section 7.2, which the WARC
// standard calls the payload. Content coding stays on it. Of a chunked body that broke off it is what
// there is; what is not chunked as its header says is returned as it is.
func (x *Exchange) Payload() []byte {
	x.open()
	return x.payload
}

// Chunked reports whether the body was chunked, so that Payload is not Body.
func (x *Exchange) Chunked() bool {
	x.open()
	return x.chunked
}

func (x *Exchange) open() {
	if x.opened {
		return
	}
	x.opened, x.payload = true, x.Body
	if coding, n := field(x.Head, "Transfer-Encoding"); n == 1 && equalFold(coding, "chunked") {
		if p, ok := unchunk(x.Body); ok {
			x.payload, x.chunked = p, true
		}
	}
}

// SHA1 is the digest of Payload that is customary in web archives. It proves nothing against one who
// makes payloads to collide.
func (x *Exchange) SHA1() [sha1.Size]byte {
	if x.sha1 == nil {
		sum := sha1.Sum(x.Payload())
		x.sha1 = &sum
	}
	return *x.sha1
}

// SHA256 is the digest of Payload.
func (x *Exchange) SHA256() [sha256.Size]byte {
	if x.sha256 == nil {
		sum := sha256.Sum256(x.Payload())
		x.sha256 = &sum
	}
	return *x.sha256
}
