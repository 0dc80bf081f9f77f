// Package weburl holds the one URL type of amble: immutable, comparable, absolute http or https.
//
// A [URL] is made from text as a browser makes it (WHATWG URL Standard), by [Parse] or by
// [URL.Resolve] against a base. Two spellings of one address are told apart by [URL.String], which
// is what will be sent, and brought together by [URL.Key], which is what the seen set stores; a
// [Profile] brings more of them together, at a risk it names.
//
// From one URL come the three names the rest of amble works by: [URL.Host] is the queue and pace
// key, [URL.Origin] is what a robots.txt speaks for, and [URL.PathQuery] is what its rules judge.
//
// A crawler meets a hundred links for each that is new to it. [Resolver] gives it the key of a link
// before there is a URL for it, without allocating.
//
// Sections of the WHATWG URL Standard are those of its Review Draft of August 2026.
package weburl

import "strings"

// MaxLen is the longest URL accepted, in octets, after normalisation. The request line built from
// it stays below 8 KiB + method, which common servers accept.
const MaxLen = 8192

// URL is an absolute http or https URL without fragment and without user information.
// The zero URL is invalid; [URL.IsZero] tells. URLs are comparable with == (same spelling) and safe
// for concurrent use. A URL is a string header and eight octets: pass it by value.
type URL struct {
	href  string
	marks marks
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
	return u.href[:u.marks.host-uint8(len("://"))]
}

// Authority is host[:port] as it stands in the URL and in the Host header: the default port left
// out, IPv6 in brackets.
func (u URL) Authority() string { return u.href[u.marks.host:u.marks.path] }

// Origin is scheme://host[:port], the default port left out (RFC 6454 section 6.2): the key under
// which a robots.txt is kept (RFC 9309 section 2.3).
func (u URL) Origin() string { return u.href[:u.marks.path] }

// PathQuery is the path with the query, if there is one, behind "?": what robots rules judge and
// what the request line carries. It begins with "/".
func (u URL) PathQuery() string { return u.href[u.marks.path:] }

// Path is the path alone. It begins with "/".
func (u URL) Path() string { return u.href[u.marks.path:u.marks.query] }

// Query is what follows the "?", without it; "" when there is none, and for an empty one.
func (u URL) Query() string { return strings.TrimPrefix(u.href[u.marks.query:], "?") }

// RobotsURL is the origin's /robots.txt (RFC 9309 section 2.3). On the zero URL it is zero.
func (u URL) RobotsURL() URL {
	if u.href == "" {
		return u
	}
	v := URL{href: u.Origin() + "/robots.txt", marks: u.marks}
	v.marks.query, v.marks.normal = uint16(len(v.href)), true
	return v
}

// directory is the length of the origin and the path without its last segment and that one's "/":
// what a relative path is appended to.
func (u *URL) directory() int {
	return int(u.marks.path) + strings.LastIndexByte(u.Path(), '/')
}
