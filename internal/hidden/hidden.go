// Package hidden recognizes and escapes characters that are invisible, or that change how others are displayed. With such characters, a
// site could move the cursor of a terminal or disguise a line.
package hidden

import (
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character is hidden: DEL and the C1 controls, format characters such as those for the direction of text or of zero
// width, line separators, and other characters that Unicode tells programs to ignore if they cannot display them, except variation
// selectors. C0 controls, which every text format escapes, are not.
func Is(r rune) bool {
	switch {
	case r < 0x7f:
		return false
	case r <= 0x9f:
		return true
	case r < 0x600:
		return r == 0xad || r == 0x34f
	case 0x900 <= r && r < 0x115f, 0x2070 <= r && r < 0x3164, 0x3164 < r && r < 0xfe00: // a fast path: the blocks of most letters
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

const digits = "0123456789abcdef"

// AppendEscape appends a character as an escape of JSON: \u and four digits, or two of these for a character beyond U+FFFF.
func AppendEscape(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return AppendEscape(AppendEscape(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return append(b, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// Escape returns text or JSON with its hidden characters, and invalid UTF-8, escaped. JSON remains valid, with the
// same meaning, because it can contain such characters only in strings. If there are none, Escape returns b itself.
func Escape(b []byte) []byte {
	var out []byte
	start := 0
	for i := 0; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if bad := r == utf8.RuneError && n == 1; bad || Is(r) {
			out = AppendEscape(append(out, b[start:i]...), r)
			start = i + n
		}
		i += n
	}
	if start == 0 {
		return b
	}
	return append(out, b[start:]...)
}

// AppendJSON appends s as a JSON string. Like encoding/json it escapes the characters of HTML and the two line separators
// of JavaScript, and replaces invalid UTF-8. It also escapes the other hidden characters.
func AppendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = appendASCII(append(b, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + n
		case Is(r):
			b = AppendEscape(append(b, s[start:i]...), r)
			start = i + n
		}
		i += n
	}
	return append(append(b, s[start:]...), '"')
}

// plain marks the ASCII characters that a JSON string contains unescaped.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		is[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return is
}()

// appendASCII appends an ASCII character that must be escaped.
func appendASCII(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return AppendEscape(b, rune(c))
}
