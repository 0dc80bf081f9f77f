package weburl

// Classes of bytes in the parts of a URL, one bit each.
const (
	blank        uint8 = 1 << iota // ASCII tab or newline: removed anywhere in a reference
	separator                      // "/" or "\", which end a segment of an http URL's path
	encodeInPath                   // path percent-encode set (WHATWG URL Standard, section 1.3)
	encodeInText                   // special-query percent-encode set (section 1.3)
	unreserved                     // RFC 3986 section 2.3
	escape                         // "%"
	alien                          // not allowed in a URI (RFC 3986 appendix A)
	nameByte                       // allowed in a host name of the usual form
)

// classes has the classes of each byte. It is not changed after its initialisation.
var classes = classify()

func classify() (t [256]uint8) {
	for c := range t {
		if c <= ' ' || c >= 0x7f {
			t[c] |= encodeInPath | encodeInText | alien
		}
	}
	set := func(bits uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= bits
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set(blank, "\t\n\r")
	set(separator, `/\`)
	set(encodeInPath, "\"#<>?^`{}")
	set(encodeInText, "\"#<>'")
	set(unreserved, letters+"0123456789-._~")
	set(escape, "%")
	set(alien, "\"<>\\^`{|}")
	set(nameByte, letters+"0123456789-._")
	return t
}

const upperHex = "0123456789ABCDEF"

// hexValue returns the value of a hexadecimal digit, or false for any other byte.
func hexValue(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// unescape decodes the percent-encoded byte at the beginning of s, if there is one.
func unescape[T string | []byte](s T) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, ok1 := hexValue(s[1])
	lo, ok2 := hexValue(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
