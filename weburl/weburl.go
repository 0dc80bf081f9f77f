// Package weburl provides the one URL type of amble: immutable, comparable, absolute http or https.
//
// A [URL] is parsed from text as a browser parses it (WHATWG URL Standard), by [Parse] or by [URL.Resolve] against
// a base. [URL.String], which is what is sent, distinguishes two spellings of one address; [URL.Key], which is what
// the seen set stores, equates them. A [Profile] equates more of them, at a risk that it names.
//
// Three names derived from a URL are the keys by which the rest of amble works: [URL.Host] for queueing and pacing,
// [URL.Origin] for the scope of a robots.txt, and [URL.PathQuery] for what its rules match.
//
// A crawler meets a hundred links for each one that is new to it. [Resolver] returns the key of a link before a URL
// is made of it, without allocating.
//
// Section numbers of the WHATWG URL Standard are those of its Review Draft of August 2026.
//
// Reading order: weburl.go for the type and its parts, parse.go and builder.go for the parser, with reference.go,
// host.go and path.go for its states; normal.go, profile.go and key.go for what counts as seen; resolver.go for
// links in bulk.
package weburl

import "strings"

// MaxLen is the longest URL accepted, in bytes, after normalisation. The request line built from it stays below 8
// KiB plus the method, which common servers accept.
const MaxLen = 8192

// URL is an absolute http or https URL without fragment and without user information. The zero URL is invalid; see
// [URL.IsZero]. URLs are comparable with == (same spelling) and safe for concurrent use. A URL is a string header
// and eight bytes: pass it by value.
type URL struct {
	href  string
	marks marks
}

// IsZero reports whether u is the invalid zero URL.
func (u URL) IsZero() bool { return u.href == "" }

// String returns the URL as it is sent: the WHATWG serialisation without fragment.
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

// Origin returns scheme://host[:port] without the default port (RFC 6454 section 6.2): the key under which a
// robots.txt is kept (RFC 9309 section 2.3).
func (u URL) Origin() string { return u.href[:u.marks.path] }

// PathQuery returns the path, followed by "?" and the query if there is one: what robots rules match and what the
// request line carries. It begins with "/".
func (u URL) PathQuery() string { return u.href[u.marks.path:] }

// Path returns the path alone. It begins with "/".
func (u URL) Path() string { return u.href[u.marks.path:u.marks.query] }

// Query returns what follows the "?", or "" if the query is missing or empty.
func (u URL) Query() string { return strings.TrimPrefix(u.href[u.marks.query:], "?") }

// RobotsURL returns the URL of the origin's /robots.txt (RFC 9309 section 2.3). On the zero URL it is zero.
func (u URL) RobotsURL() URL {
	if u.href == "" {
		return u
	}
	v := URL{href: u.Origin() + "/robots.txt", marks: u.marks}
	v.marks.query, v.marks.normal = uint16(len(v.href)), true
	return v
}

// directory returns the length of the origin and of the path without its last segment and the "/" before it: what a
// relative path is appended to.
func (u *URL) directory() int {
	return int(u.marks.path) + strings.LastIndexByte(u.Path(), '/')
}
