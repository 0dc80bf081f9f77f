package weburl

import (
	"strconv"
	"strings"
)

// builder assembles one http or https URL. It implements, in linear time, those states of the basic URL parser that such a URL reaches
// (WHATWG URL Standard, section 4.4). Its methods take and return the text as dst, so that a caller's buffer can stay on the stack.
type builder struct {
	marks   marks
	suspect bool // the text may differ from its normal form
	isBase  bool // the text is that of the base
	encoder Encoder
}

// marks holds the offsets at which the parts of a URL begin, in eight bytes. They overflow only for URLs that are too long to be
// accepted.
type marks struct {
	host   uint8  // offset after "://"
	normal bool   // the URL is equal to its normal form
	port   uint16 // offset of the ":" before the port; equal to path if there is no port
	path   uint16
	query  uint16 // offset of the "?"; the length of the URL if there is no query
}

// resolve appends to dst, which is empty, the URL that ref names relative to base, or ref itself if base is zero. The query is encoded by
// e, or in UTF-8 if e is nil. The reason is "" on success. Otherwise the result is only a buffer that can be used again.
func (b *builder) resolve(dst []byte, base *URL, ref string, e Encoder) (_ []byte, reason string) {
	*b = builder{encoder: e}
	ref = tidy(ref)
	scheme, rest := cutScheme(ref)
	switch {
	case scheme != "" && scheme != "http" && scheme != "https":
		return dst, ReasonScheme
	case scheme == "" && base.IsZero():
		return dst, ReasonSyntax
	case len(ref) > MaxLen:
		return dst, ReasonTooLong
	case scheme != "" && scheme != base.Scheme():
		dst, reason = b.absolute(dst, scheme, rest[separators(rest):])
	default: // with an http base, "http:a" is the reference "a"
		dst, reason = b.relative(dst, base, rest)
	}
	if reason == "" && len(dst) > MaxLen {
		reason = ReasonTooLong
	}
	return dst, reason
}

// relative resolves a reference without a scheme against the base: the relative and relative slash states.
func (b *builder) relative(dst []byte, base *URL, ref string) (_ []byte, reason string) {
	n := separators(ref)
	switch {
	case n > 1:
		return b.absolute(dst, base.Scheme(), ref[n:])
	case n == 1:
		dst = b.copyBase(dst, base, int(base.marks.path))
		dst = b.pathAndQuery(dst, ref[1:])
	case ref == "":
		dst = b.copyBase(dst, base, len(base.href))
		b.isBase = true
	case ref[0] == '?':
		dst = b.copyBase(dst, base, int(base.marks.query))
		dst = b.query(dst, ref)
	default:
		dst = b.copyBase(dst, base, base.directory())
		dst = b.pathAndQuery(dst, ref)
	}
	return dst, ""
}

func (b *builder) copyBase(dst []byte, base *URL, n int) []byte {
	b.marks, b.suspect = base.marks, !base.marks.normal
	return append(dst, base.href[:n]...)
}

// absolute parses the part after the scheme and its slashes: the authority, host, port and path start states.
func (b *builder) absolute(dst []byte, scheme, s string) (_ []byte, reason string) {
	dst = append(dst, scheme...)
	dst = append(dst, "://"...)
	b.marks.host = uint8(len(dst))
	end := authorityEnd(s)
	user, host, port := cutAuthority(s[:end])
	if dst, reason = appendHost(dst, host); reason != "" {
		return dst, reason
	}
	b.marks.port = uint16(len(dst))
	dst, ok := appendPort(dst, scheme, port)
	switch {
	case !ok:
		return dst, ReasonSyntax
	case user != "" && user != ":":
		return dst, ReasonCredentials
	}
	b.marks.path = uint16(len(dst))
	if s = s[end:]; s != "" && s[0] != '?' {
		s = s[1:]
	}
	return b.pathAndQuery(dst, s), ""
}

// url returns text, which the builder has assembled, as a URL.
func (b *builder) url(text []byte) URL {
	u := URL{href: string(text), marks: b.marks}
	u.marks.normal = !b.suspect || isNormal(u.href[u.marks.path:])
	return u
}

// cutAuthority splits an authority into user information, host and port. The port keeps its colon.
func cutAuthority(s string) (user, host, port string) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		user, s = s[:i], s[i+1:]
	}
	brackets := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			brackets = true
		case ']':
			brackets = false
		case ':':
			if !brackets {
				return user, s[:i], s[i:]
			}
		}
	}
	return user, s, ""
}

// appendPort appends a port with its colon unless it is the scheme's default. It returns false if the port is invalid.
func appendPort(dst []byte, scheme, text string) ([]byte, bool) {
	if len(text) < 2 {
		return dst, true // no port, or only ":"
	}
	n := 0
	for i := 1; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return dst, false
		}
		if n = n*10 + int(text[i]-'0'); n > 65535 {
			return dst, false
		}
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return dst, true
	}
	return strconv.AppendInt(append(dst, ':'), int64(n), 10), true
}
