// Package fetcher makes one GET request per Permit and bounds everything about it: time, header,
// body, decoding. It follows no redirect and retries nothing: what to do next is the crawler's
// decision, and needs a Permit of its own.
package fetcher

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Page is the answer to one request, whole or cut.
type Page struct {
	URL         weburl.URL
	Addr        netip.Addr
	Status      int
	Proto       string // "HTTP/1.1", "HTTP/2.0"
	Header      http.Header
	Body        []byte // decoded, at most the limit
	ContentType string // media type without parameters, lower case, sniffed where missing
	Sniffed     bool   // ContentType came from the body
	Charset     string // of Body, canonical name; "" when not text
	Truncated   string // why Body is not whole: a reason code, "" when it is
	WireBytes   int64  // body octets received, before decoding
	Permit      politeness.Permit

	Started   time.Time // the Permit was redeemed
	Written   time.Time // the request's first byte
	FirstByte time.Time // the answer's first byte
	Ended     time.Time // body read or given up
}

// Error is a request that got no usable answer.
type Error struct {
	Reason string // stable code, see the Reason constants
	Phase  string // "dns", "connect", "tls", "request", "header", "body"
	Err    error  // the cause
}

func (e *Error) Error() string { return "fetcher: " + e.Phase + ": " + e.Reason + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether another attempt may succeed.
func (e *Error) Temporary() bool { return false }
