package sink

import (
	"crypto/sha1"
	"crypto/sha256"
	"net/netip"
	"time"
)

// Exchange is a request and its response as sent and received. Its methods cache what they compute: an Exchange is not safe for
// concurrent use, and its slices must not be changed once a method was called.
type Exchange struct {
	URL     string     // URL of the request: absolute, http or https, without fragment
	Addr    netip.Addr // address of the server; invalid if the address is not known
	Started time.Time  // time at which the first byte of the request was sent
	Ended   time.Time  // time at which the last byte of the response arrived, or the request was given up

	// Protocol is the protocol of the response in the form of net/http: "HTTP/1.1", "HTTP/2.0".
	Protocol string
	// Purpose is the reason for a request that belongs to no visit, such as "robots". It is "" for the request of a visit.
	Purpose string

	// Request holds the request as sent, with secrets masked. It is empty if it was not recorded.
	Request []byte
	// Head is the status line and header section of the final response, including the empty line at the end. It is empty if there is no
	// response. HTTP/2 has no such text: see [SyntheticHead] and [SyntheticRequest].
	Head []byte
	// Body is the body as received, in its transfer coding and content coding.
	Body []byte
	// Truncated is the reason why Body is incomplete, one of the reason codes of Record.Truncated. It is "" if Body is complete.
	Truncated string

	opened  bool
	chunked bool
	payload []byte
	sha1    *[sha1.Size]byte
	sha256  *[sha256.Size]byte
}

// Answered reports whether there is a response with a complete header section.
func (x *Exchange) Answered() bool {
	for line, rest := range lines(x.Head) {
		if len(line) == 0 {
			return len(rest) == 0
		}
	}
	return false
}

// Status returns the status code of the response, or 0 without a response.
func (x *Exchange) Status() int { return status(x.Head) }

// ContentType returns the media type of the Content-Type field, in lower case and without parameters, or "".
func (x *Exchange) ContentType() string {
	v, _ := field(x.Head, "Content-Type")
	return mediaType(v)
}

// Payload returns the body without transfer coding: the entity body of RFC 2616 section 7.2, which the WARC standard calls the payload. Its
// content coding remains. Of an incomplete chunked body, it returns the part that was received. A body that is not chunked although its
// header says so is returned unchanged.
func (x *Exchange) Payload() []byte {
	x.open()
	return x.payload
}

// Chunked reports whether the body is chunked. If it is not, Payload is Body.
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

// SHA1 returns the SHA-1 of Payload, the usual digest in web archives. It does not protect against colliding payloads made on purpose.
func (x *Exchange) SHA1() [sha1.Size]byte {
	if x.sha1 == nil {
		sum := sha1.Sum(x.Payload())
		x.sha1 = &sum
	}
	return *x.sha1
}

// SHA256 returns the SHA-256 of Payload.
func (x *Exchange) SHA256() [sha256.Size]byte {
	if x.sha256 == nil {
		sum := sha256.Sum256(x.Payload())
		x.sha256 = &sum
	}
	return *x.sha256
}

// Extent describes a file that only grows, by its length and the hash of its content. It allows a later check that the file still begins
// with this content.
type Extent struct {
	File   string            // name of the file in the output's directory
	Bytes  int64             // length of the file
	SHA256 [sha256.Size]byte // hash of the content
	// State is the state of the hash, in the form of encoding.BinaryMarshaler. With it, the hash of the grown file can be computed without
	// reading these bytes again.
	State []byte
}
