package weburl

import (
	"strconv"
	"unicode/utf8"
)

// Encoder appends text in the encoding of a document to dst, up to the first character that the encoding
// does not have. It returns how many bytes of text it has read: fewer than there are when it has met such a
// character. Text is UTF-8; ASCII is written as it is, unless it would change how other bytes are read. An
// Encoder is safe for concurrent use and keeps neither argument. Package weburl/charset has those of the web.
type Encoder func(dst []byte, text string) (_ []byte, n int)

// query appends a query in the encoding, percent-encoded (WHATWG URL Standard, section 1.3, percent-encode after
// encoding): a character that the encoding does not have is sent as its decimal character reference.
func (e Encoder) query(dst []byte, s string) []byte {
	var space [256]byte
	for {
		text, n := e(space[:0], s)
		for _, c := range text {
			if octets[c]&encodeInText != 0 {
				dst = appendEscape(dst, c)
			} else {
				dst = append(dst, c)
			}
		}
		if s = s[n:]; s == "" {
			return dst
		}
		r, n := utf8.DecodeRuneInString(s)
		dst = append(dst, "%26%23"...)
		dst = strconv.AppendInt(dst, int64(r), 10)
		dst = append(dst, "%3B"...)
		s = s[n:]
	}
}
