package robots

import "strings"

// Rules and URLs are brought to one form before they are compared (RFC 9309 section 2.2.2, RFC 3986 section 6.2.2): escapes of unreserved
// characters are decoded, hex digits are in upper case, and everything that is not allowed in a URL is escaped. Escapes of reserved
// characters stay as written: %2F does not equal "/".

// class says how a byte is treated.
type class uint8

const (
	plain   class = iota
	percent       // may begin an escape
	special       // "*" and "$": escaped in a URL, unchanged in a pattern
	escape        // must be escaped
)

var classes = func() (t [256]class) {
	for c := range t {
		if c <= ' ' || c >= 0x7f {
			t[c] = escape
		}
	}
	for _, c := range []byte("\"<>\\^`{|}") {
		t[c] = escape
	}
	t['%'], t['*'], t['$'] = percent, special, special
	return t
}()

const upperHex = "0123456789ABCDEF"

// canonPath returns the canonical form of a URL's path and query.
func canonPath(s string) string {
	if i := dirty(s, special); i < len(s) {
		return rewrite(s, i, special)
	}
	return s
}

// canonPattern returns the canonical form of a rule in which "*" and "$" are special.
func canonPattern(s string) string {
	if i := dirty(s, escape); i < len(s) {
		return rewrite(s, i, escape)
	}
	return s
}

// dirty returns the index of the first byte of s that must be rewritten because its class is at least from, or len(s).
func dirty(s string, from class) int {
	if allPlain(s) {
		return len(s)
	}
	for i := range len(s) {
		c := classes[s[i]]
		if c >= from || c == percent && !goodEscape(s[i:]) {
			return i
		}
	}
	return len(s)
}

// allPlain reports whether no byte of s needs to be rewritten or checked. This is the common case, so it reads eight bytes at a time.
func allPlain(s string) bool {
	var all class
	for len(s) >= 8 {
		all |= classes[s[0]] | classes[s[1]] | classes[s[2]] | classes[s[3]] |
			classes[s[4]] | classes[s[5]] | classes[s[6]] | classes[s[7]]
		s = s[8:]
	}
	for i := range len(s) {
		all |= classes[s[i]]
	}
	return all == plain
}

// goodEscape reports whether the percent sign at the start of s can stay as it is: it begins an escape in canonical form, or no escape.
func goodEscape(s string) bool {
	v, ok := unhex(s)
	return !ok || !isUnreserved(v) && s[1] < 'a' && s[2] < 'a'
}

// rewrite returns s in canonical form; s[:from] is already in this form.
func rewrite(s string, from int, escaped class) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:from])
	for i := from; i < len(s); i++ {
		switch c := classes[s[i]]; {
		case c == percent:
			v, ok := unhex(s[i:])
			if !ok {
				b.WriteByte('%')
				continue
			}
			if i += 2; isUnreserved(v) {
				b.WriteByte(v)
			} else {
				writeEscape(&b, v)
			}
		case c >= escaped:
			writeEscape(&b, s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func writeEscape(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&15])
}

// unhex returns the byte for which the escape at the start of s stands.
func unhex(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, ok1 := hexDigit(s[1])
	lo, ok2 := hexDigit(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// isUnreserved reports whether c is an unreserved character (RFC 3986 section 2.3).
func isUnreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// canonDecoded returns the form in which the 1997 draft compares URLs: every escape is decoded except %2F. A percent sign is written %25,
// so that it is not taken for the beginning of an escape.
func canonDecoded(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		v := s[i]
		if d, ok := unhex(s[i:]); ok {
			v = d
			i += 2
			if v == '/' {
				b.WriteString("%2F")
				continue
			}
		}
		if v == '%' {
			b.WriteString("%25")
			continue
		}
		b.WriteByte(v)
	}
	return b.String()
}
