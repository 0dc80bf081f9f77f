package extract

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// maxRefName is greater than the length of every named character reference; the longest has 32 bytes after "&".
const maxRefName = 40

// appendDecoded appends s as a browser reads text or the value of an attribute: character references are decoded, CR and CRLF become LF,
// and NUL becomes U+FFFD.
func appendDecoded(dst []byte, s string, inAttr bool) []byte {
	for s != "" {
		n := strings.IndexAny(s, "&\r\x00")
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		switch s[n] {
		case '&':
			var used int
			dst, used = appendRef(dst, s[n:], inAttr)
			n += used
		case '\r':
			dst = append(dst, '\n')
			n++
			if n < len(s) && s[n] == '\n' {
				n++
			}
		default:
			dst = append(dst, "\ufffd"...)
			n++
		}
		s = s[n:]
	}
	return dst
}

// appendRef appends the character for the reference at the beginning of s, which begins with "&", or "&" if there is no reference. It
// returns the number of bytes of s that it has consumed. The rules are those of the HTML Standard section 13.2.5.72 and following; the
// names are those of x/net/html.
func appendRef(dst []byte, s string, inAttr bool) ([]byte, int) {
	if len(s) > 1 && s[1] == '#' {
		return appendNumeric(dst, s)
	}
	n := 1
	for n < len(s) && n < maxRefName && isAlnum(s[n]) {
		n++
	}
	closed := n < len(s) && s[n] == ';'
	switch {
	case closed:
		n++
	case inAttr && n < len(s) && (s[n] == '=' || isAlnum(s[n])):
		return append(dst, '&'), 1
	}
	if s[:n] == "&amp;" {
		return append(dst, '&'), n
	}
	decoded := html.UnescapeString(s[:n])
	if decoded == s[:n] || inAttr && !whole(decoded, closed) {
		return append(dst, '&'), 1
	}
	return append(dst, decoded...), n
}

// whole reports whether decoded is the result of a complete name. Otherwise the text begins with a known name and continues with letters:
// in text, but not in an attribute, old names need no semicolon ("&notit;" stands for "¬it;").
func whole(decoded string, closed bool) bool {
	if closed {
		return decoded == ";" || !strings.HasSuffix(decoded, ";")
	}
	_, n := utf8.DecodeRuneInString(decoded)
	return n == len(decoded)
}

// appendNumeric is like appendRef, for references that begin with "&#".
func appendNumeric(dst []byte, s string) ([]byte, int) {
	n, base := len("&#"), 10
	if n < len(s) && s[n]|0x20 == 'x' {
		n, base = n+1, 16
	}
	start, x := n, 0
	for ; n < len(s); n++ {
		d := digit(s[n])
		if d >= base {
			break
		}
		if x <= utf8.MaxRune {
			x = x*base + d
		}
	}
	if n == start {
		return append(dst, '&'), 1
	}
	if n < len(s) && s[n] == ';' {
		n++
	}
	if 0x80 <= x && x <= 0x9F { // windows-1252 by the Standard's table, which x/net/html contains
		return append(dst, html.UnescapeString("&#"+strconv.Itoa(x)+";")...), n
	}
	if x == 0 {
		x = utf8.RuneError
	}
	return utf8.AppendRune(dst, rune(x)), n // surrogates and numbers that are too large become U+FFFD
}

// digit returns the value of a hexadecimal digit, or 16 for any other byte.
func digit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 16
}
