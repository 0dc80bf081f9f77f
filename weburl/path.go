package weburl

import (
	"bytes"
	"unicode/utf8"
)

// pathAndQuery appends a path and, if there is one, a query. dst contains scheme and authority, and may contain the segments of the
// base's directory, each after a "/", which the path continues.
func (b *builder) pathAndQuery(dst []byte, s string) []byte {
	root := int(b.marks.path)
	for {
		n, seen := segment(s)
		more := n < len(s) && s[n] != '?'
		switch dots(s[:n]) {
		case 2:
			dst = shorten(dst, root)
			fallthrough
		case 1:
			if !more {
				dst = append(dst, '/')
			}
		default:
			b.suspect = b.suspect || seen&(escape|alien) != 0
			dst = appendEncoded(append(dst, '/'), s[:n], seen, encodeInPath)
		}
		if s = s[n:]; !more {
			return b.query(dst, s)
		}
		s = s[1:]
	}
}

// query appends a query with its "?", or nothing if there is none.
func (b *builder) query(dst []byte, s string) []byte {
	b.marks.query = uint16(len(dst))
	if s == "" {
		return dst
	}
	var seen uint8
	for i := 1; i < len(s); i++ {
		seen |= classes[s[i]]
	}
	b.suspect = b.suspect || seen&(escape|alien) != 0 || len(s) == 1
	if b.encoder != nil && seen&encodeInText != 0 {
		return b.encoder.query(append(dst, '?'), s[1:])
	}
	return appendEncoded(append(dst, '?'), s[1:], seen, encodeInText)
}

// segment returns the length of the path segment at the beginning of s and the classes of its bytes, ORed together.
func segment(s string) (n int, seen uint8) {
	for n < len(s) && s[n] != '?' {
		o := classes[s[n]]
		if o&separator != 0 {
			break
		}
		seen |= o
		n++
	}
	return n, seen
}

// dots returns the number of dots if a segment consists only of dots, otherwise 0. 1 and 2 stand for the single-dot and double-dot
// segments (WHATWG URL Standard, section 4.1; "%2e" counts as a dot).
func dots(segment string) int {
	if len(segment) == 0 || segment[0] != '.' && segment[0] != '%' || len(segment) > len("%2e%2e") {
		return 0
	}
	n := 0
	for ; len(segment) > 0; n++ {
		if segment[0] == '.' {
			segment = segment[1:]
		} else if c, ok := unescape(segment); ok && c == '.' {
			segment = segment[3:]
		} else {
			return 0
		}
	}
	return n
}

// shorten removes the last segment of the path that begins at root (WHATWG URL Standard, section 4.1). It reads only the bytes that it
// removes, so a path of n bytes takes n steps, whatever its dot segments are.
func shorten(dst []byte, root int) []byte {
	if i := bytes.LastIndexByte(dst[root:], '/'); i >= 0 {
		return dst[:root+i]
	}
	return dst
}

// appendEncoded appends s, percent-encoded with the given encode set. seen has the classes of the bytes of s.
func appendEncoded(dst []byte, s string, seen, set uint8) []byte {
	if seen&set == 0 {
		return append(dst, s...)
	}
	for len(s) > 0 {
		r, n := rune(s[0]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s)
		}
		switch {
		case r == utf8.RuneError: // U+FFFD itself, or an invalid byte
			dst = append(dst, "%EF%BF%BD"...)
		case classes[s[0]]&set == 0:
			dst = append(dst, s[0])
		default:
			for i := range n {
				dst = appendEscape(dst, s[i])
			}
		}
		s = s[n:]
	}
	return dst
}
