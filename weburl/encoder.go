package weburl

import (
	"strconv"
	"unicode/utf8"
)

// Encoder appends text to dst in the encoding of a document, up to the first character that the encoding lacks. It
// returns how many bytes of text it has read, which is less than len(text) if it has met such a character. Text is
// UTF-8; ASCII is written unchanged unless it would alter how other bytes are read. An Encoder is safe for
// concurrent use and retains neither argument. Package weburl/charset has the encoders of the web.
type Encoder func(dst []byte, text string) (_ []byte, n int)

// query appends a percent-encoded query in the encoding (WHATWG URL Standard, section 1.3, percent-encode after
// encoding). A character that the encoding lacks is written as its decimal character reference.
func (e Encoder) query(dst []byte, s string) []byte {
	var space [256]byte
	for {
		text, n := e(space[:0], s)
		for _, c := range text {
			if classes[c]&encodeInText != 0 {
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
