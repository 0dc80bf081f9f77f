// Package weburl provides amble's URL type: an absolute http or https URL, immutable and comparable.
//
// A [URL] is parsed from text as a browser parses it (WHATWG URL Standard), by [Parse] or by [URL.Resolve] against a base. Two spellings
// of one address differ in [URL.String], which is requested, but have the same [URL.Key], by which known URLs are recognized. A [Profile]
// can merge more spellings, at a documented risk.
//
// The rest of amble uses three keys derived from a URL: [URL.Host] for queueing and pacing, [URL.Origin] for the scope of a robots.txt,
// and [URL.PathQuery] for matching the rules in it.
//
// A crawler finds a hundred links for each one that is new. [Resolver] returns the key of a link before it makes a URL, without
// allocating.
//
// Section numbers of the WHATWG URL Standard are those of its Review Draft of August 2026.
//
//	page, err := weburl.Parse("https://site.example/a/")
//	link, err := page.Resolve("../b?q=1#top")
package weburl

import (
	"errors"
	"strconv"
	"strings"
)

// MaxLen is the maximum length of a URL, in bytes, after parsing. A request line with such a URL has at most 8 KiB plus the method, which
// common servers accept.
const MaxLen = 8192

// URL is an absolute http or https URL without fragment and without user information. The zero URL is invalid; see [URL.IsZero]. URLs can
// be compared with ==, which means the same spelling, and are safe for concurrent use. A URL is a string header and eight bytes: pass it
// by value.
type URL struct {
	href  string
	marks marks
}

// IsZero reports whether u is the zero URL, which is invalid.
func (u URL) IsZero() bool { return u.href == "" }

// String returns the URL as it is requested: the WHATWG serialisation without fragment.
func (u URL) String() string { return u.href }

// Scheme returns "http" or "https", or "" for the zero URL.
func (u URL) Scheme() string {
	if u.href == "" {
		return ""
	}
	return u.href[:u.marks.host-uint8(len("://"))]
}

// Authority returns host[:port] as it is written in the URL and in the Host header: without the default port, and
// with IPv6 in brackets.
func (u URL) Authority() string { return u.href[u.marks.host:u.marks.path] }

// Origin returns scheme://host[:port] without the default port (RFC 6454 section 6.2). A robots.txt applies to one origin (RFC 9309
// section 2.3).
func (u URL) Origin() string { return u.href[:u.marks.path] }

// PathQuery returns the path and, if there is a query, "?" and the query: the text that robots rules match and the request line contains.
// It begins with "/".
func (u URL) PathQuery() string { return u.href[u.marks.path:] }

// Path returns the path without the query. It begins with "/".
func (u URL) Path() string { return u.href[u.marks.path:u.marks.query] }

// Query returns the text after the "?", or "" if the query is missing or empty.
func (u URL) Query() string { return strings.TrimPrefix(u.href[u.marks.query:], "?") }

// RobotsURL returns the URL of the origin's /robots.txt (RFC 9309 section 2.3), or the zero URL for the zero URL.
func (u URL) RobotsURL() URL {
	if u.href == "" {
		return u
	}
	v := URL{href: u.Origin() + "/robots.txt", marks: u.marks}
	v.marks.query, v.marks.normal = uint16(len(v.href)), true
	return v
}

// directory returns the length of the origin and of the path up to the "/" before its last segment: the part to which a relative path is
// appended.
func (u *URL) directory() int {
	return int(u.marks.path) + strings.LastIndexByte(u.Path(), '/')
}

// MarshalText implements encoding.TextMarshaler. It returns the text of [URL.String], empty for the zero URL.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.href), nil }

// UnmarshalText implements encoding.TextUnmarshaler like [Parse]. Empty text is the zero URL. After an error u is unchanged.
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

// Reason codes of [Error]. They are stable across versions.
const (
	ReasonSyntax      = "url_syntax"      // not valid by the WHATWG URL Standard
	ReasonScheme      = "url_scheme"      // neither http nor https
	ReasonCredentials = "url_credentials" // has user information, which is never sent
	ReasonTooLong     = "url_too_long"    // the URL is longer than MaxLen, or its host is longer than 512 bytes
)

// Error reports why a text is not a URL that amble can request.
type Error struct {
	Reason string // one of the Reason constants
	Input  string // the text, with user information masked, at most 200 bytes
}

// Error returns the message. It quotes the input, which may be hostile, so that no control character gets into a log.
func (e *Error) Error() string { return "weburl: " + e.Reason + ": " + strconv.Quote(e.Input) }

// maxInput limits the part of a text that an Error contains, in bytes.
const maxInput = 200

func fail(reason, input string) error {
	if input = Redact(input); len(input) > maxInput {
		input = input[:maxInput] + "…"
	}
	return &Error{Reason: reason, Input: strings.Clone(input)}
}

// ReasonOf returns the reason code of an error from this package, or "" for any other error.
func ReasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Parse parses an absolute URL as a browser does (WHATWG URL Standard, basic URL parser, section 4.4): blanks around it, tabs and
// newlines in it, backslashes and unusual spellings of hosts are accepted as in browsers, and the fragment is dropped. In text that is
// not valid UTF-8, each invalid byte counts as U+FFFD.
//
// Errors are of type *[Error]. Their reasons are checked in this order: [ReasonScheme] for text with a scheme other than http and https,
// even if it is malformed; [ReasonTooLong] for text longer than [MaxLen] without its blanks and its fragment, even if removing dot
// segments would make it shorter, or with a host longer than 512 bytes; [ReasonSyntax]; [ReasonCredentials]; [ReasonTooLong] for the
// result. Parse takes time linear in the length of the text.
func Parse(raw string) (URL, error) { return URL{}.Resolve(raw) }

// Resolve returns the URL that a reference in a document at u points to (WHATWG URL Standard, section 4.4, with u as the base URL). For
// the zero URL, Resolve is [Parse]. Errors are those of Parse. Resolve allocates only the result; a [Resolver] does not even allocate
// that.
func (u URL) Resolve(ref string) (URL, error) { return u.ResolveIn(nil, ref) }

// ResolveIn is like [URL.Resolve], for a reference in a document whose encoding is not UTF-8: the query is encoded in the document's
// encoding, as in browsers. A nil Encoder stands for UTF-8.
func (u URL) ResolveIn(e Encoder, ref string) (URL, error) {
	var space [512]byte
	var b builder
	text, reason := b.resolve(space[:0], &u, ref, e)
	switch {
	case reason != "":
		return URL{}, fail(reason, ref)
	case b.isBase:
		return u, nil
	}
	return b.url(text), nil
}
