package warc

import (
	"fmt"
	"strings"
)

// uri percent-encodes the bytes that are not valid in a URI where they are (RFC 3986), as ISO 28500 section 4
// requires of WARC-Target-URI. The URL Standard, which a crawler follows, permits some of them.
func uri(s string) string {
	path := pathStart(s)
	for i := range len(s) {
		if foreign(s, i, path) {
			return encodeFrom(s, i, path)
		}
	}
	return s
}

func encodeFrom(s string, i, path int) string {
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		if foreign(s, i, path) {
			b = fmt.Appendf(b, "%%%02X", s[i])
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// pathStart returns the offset at which the authority of a URL ends.
func pathStart(s string) int {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return 0
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return len(scheme) + len("://") + len(rest)
}

// foreign reports whether the byte of s at i is not valid there in a URI. Brackets are valid only around an IPv6
// address, "%" only before two hexadecimal digits.
func foreign(s string, i, path int) bool {
	switch c := s[i]; {
	case c <= ' ', c >= 0x7f:
		return true
	case c == '[', c == ']':
		return i > path
	case c == '%':
		return i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])
	default:
		return strings.IndexByte("<>\"\\^`{|}", c) >= 0
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
