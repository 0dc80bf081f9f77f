// Package weburl holds the one URL type of amble: immutable, comparable, absolute http or https.
//
// A [URL] is made from text as a browser makes it (WHATWG URL Standard), by [Parse] or by
// [URL.Resolve] against a base. Two spellings of one address are told apart by [URL.String], which
// is what will be sent, and brought together by [URL.Key], which is what the seen set stores.
//
// From one URL come the three names the rest of amble works by: [URL.Host] is the queue and pace
// key, [URL.Origin] is what a robots.txt speaks for, and [URL.PathQuery] is what its rules judge.
package weburl

import (
	"errors"
	"net"
	"strings"

	"github.com/zeebo/xxh3"
	"golang.org/x/net/publicsuffix"
)

// MaxLen is the longest URL accepted, in octets, after normalisation. The request line built from
// it stays below 8 KiB + method, which common servers accept.
const MaxLen = 8192

// Reason codes of [Error], stable across versions.
const (
	ReasonSyntax      = "url_syntax"      // not a URL by the WHATWG URL Standard
	ReasonScheme      = "url_scheme"      // neither http nor https
	ReasonCredentials = "url_credentials" // user information in the URL: never sent, so refused
	ReasonTooLong     = "url_too_long"    // longer than MaxLen
)

// Error says why a text is no URL that amble can request.
type Error struct {
	Reason string // one of the Reason constants
	Input  string // the text, cut to 200 octets
}

func (e *Error) Error() string { return "weburl: " + e.Reason + ": " + e.Input }

func fail(reason, input string) error {
	if len(input) > 200 {
		input = input[:200] + "…"
	}
	return &Error{Reason: reason, Input: input}
}

// ReasonOf is the reason code of an error from this package, or "" for any other error.
func ReasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Key identifies a URL in a seen set: 128 bits of the normal form's hash. Two URLs with equal Keys
// are taken for one; at 10⁹ URLs the chance of any false match is below 10⁻²⁰.
type Key [16]byte

// URL is an absolute http or https URL without fragment and without user information.
// The zero URL is invalid; [URL.IsZero] tells. URLs are comparable with == (same spelling) and safe
// for concurrent use.
type URL struct {
	href      string
	hostStart uint16 // after "://"
	portStart uint16 // of ":" before the port, or of the path
	pathStart uint16
}

// IsZero reports whether u is the invalid zero URL.
func (u URL) IsZero() bool { return u.href == "" }

// String is the URL as it is sent: the WHATWG serialisation without fragment.
func (u URL) String() string { return u.href }

// Scheme is "http" or "https".
func (u URL) Scheme() string {
	if u.href == "" {
		return ""
	}
	return u.href[:u.hostStart-3]
}

// Hostname is the host without port, in lower case and punycode; IPv6 literals keep no brackets.
func (u URL) Hostname() string {
	return strings.Trim(u.href[u.hostStart:u.portStart], "[]")
}

// Port is the port as digits, the scheme's default when the URL names none.
func (u URL) Port() string {
	switch {
	case u.href == "":
		return ""
	case u.portStart < u.pathStart:
		return u.href[u.portStart+1 : u.pathStart]
	case u.Scheme() == "http":
		return "80"
	}
	return "443"
}

// Host is the queue and pace key: host:port, with the port always present. Requests to one Host
// are never in flight together unless its owner configured so.
func (u URL) Host() string {
	if u.href == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

// Authority is host[:port] as it stands in the URL and in the Host header: the default port left
// out, IPv6 in brackets.
func (u URL) Authority() string { return u.href[u.hostStart:u.pathStart] }

// Origin is scheme://host[:port], the default port left out (RFC 6454 section 6.2): the key under
// which a robots.txt is kept (RFC 9309 section 2.3).
func (u URL) Origin() string { return u.href[:u.pathStart] }

// Domain is the registrable domain by the public suffix list, or the Hostname where there is none
// (IP addresses, single labels, public suffixes themselves).
func (u URL) Domain() string {
	h := u.Hostname()
	d, err := publicsuffix.EffectiveTLDPlusOne(h)
	if err != nil || net.ParseIP(h) != nil {
		return h
	}
	return d
}

// PathQuery is the path with the query, if there is one, behind "?": what robots rules judge and
// what the request line carries.
func (u URL) PathQuery() string { return u.href[u.pathStart:] }

// Path is the path alone.
func (u URL) Path() string {
	p, _, _ := strings.Cut(u.PathQuery(), "?")
	return p
}

// Query is what follows the "?", without it; "" when there is none.
func (u URL) Query() string {
	_, q, _ := strings.Cut(u.PathQuery(), "?")
	return q
}

// Key is the 128-bit seen key: the hash of [URL.Normal].
func (u URL) Key() Key { return xxh3.HashString128(u.Normal()).Bytes() }

// RobotsURL is the origin's /robots.txt (RFC 9309 section 2.3).
func (u URL) RobotsURL() URL {
	v := u
	v.href = u.href[:u.pathStart] + "/robots.txt"
	return v
}

// MarshalText implements encoding.TextMarshaler.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.href), nil }

// UnmarshalText implements encoding.TextUnmarshaler; empty text is the zero URL.
func (u *URL) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*u = URL{}
		return nil
	}
	v, err := Parse(string(b))
	if err == nil {
		*u = v
	}
	return err
}
