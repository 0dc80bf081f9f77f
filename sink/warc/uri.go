package warc

import (
	"fmt"
	"strings"
)

// uri percent-encodes the octets that a URI cannot have where they are (RFC 3986), as ISO 28500
// section 4 wants WARC-Target-URI. The URL Standard, by which a crawler asks, lets more stand.
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

// pathStart is where the authority of a URL ends.
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

// foreign reports whether the octet of s at i cannot stand there in a URI. Brackets stand around an
// IPv6 address alone, "%" before two hexadecimal digits.
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
