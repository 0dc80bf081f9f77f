package fetcher

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// damaged decodes a body that is invalid in places, in a charset with several bytes per character. The decoders of x/text treat other
// sequences as invalid than browsers do, and some remove the letter after such a sequence.
type damaged struct {
	dec     *encoding.Decoder
	lead    func(b byte) bool // reports whether b is the first byte of a longer character
	longest int               // maximum length of a character in bytes
	bad     func(rest []byte) int
}

// damagedAs returns the decoding for a damaged body in a charset. ok is false if the decoder of x/text decodes such a body as browsers
// do.
func damagedAs(charset string, e encoding.Encoding) (d damaged, ok bool) {
	d = damaged{dec: e.NewDecoder(), longest: 2, bad: badPair}
	switch charset {
	case "big5", "euc-kr":
		d.lead = func(b byte) bool { return 0x81 <= b && b <= 0xfe }
	case "gb18030":
		d.lead, d.longest, d.bad = func(b byte) bool { return 0x81 <= b && b <= 0xfe }, 4, badGB18030
	case "shift_jis":
		d.lead = func(b byte) bool { return 0x81 <= b && b <= 0x9f || 0xe0 <= b && b <= 0xfc }
	case "euc-jp":
		d.lead, d.longest, d.bad = func(b byte) bool { return b == 0x8e || b == 0x8f || 0xa1 <= b && b <= 0xfe }, 3, badEUCJP
	default:
		return d, false
	}
	return d, true
}

func (d *damaged) decode(body []byte) []byte {
	text := make([]byte, 0, len(body)+len(body)/2)
	for len(body) > 0 {
		if body[0] < utf8.RuneSelf {
			text, body = append(text, body[0]), body[1:]
			continue
		}
		var n int
		if text, n = d.character(text, body); n == 0 {
			text, n = utf8.AppendRune(text, utf8.RuneError), 1
			if d.lead(body[0]) {
				n = d.bad(body)
			}
		}
		body = body[n:]
	}
	return text
}

// character appends the character at the beginning of rest and returns its length in bytes, or 0 if there is none.
func (d *damaged) character(text, rest []byte) ([]byte, int) {
	var space [16]byte
	for n := 1; n <= min(d.longest, len(rest)); n++ {
		d.dec.Reset()
		m, read, err := d.dec.Transform(space[:], rest[:n], true)
		if c := space[:m]; err == nil && read == n && m > 0 && !bytes.Contains(c, []byte("\ufffd")) {
			return append(text, c...), n
		}
	}
	return text, 0
}

// badPair returns the number of bytes that become one U+FFFD because a lead byte begins no character. The byte after the lead byte is one
// of them unless it is ASCII (Encoding Standard, sections 11.1.1, 12.3.1 and 13.1.1).
func badPair(rest []byte) int {
	if len(rest) > 1 && rest[1] >= utf8.RuneSelf {
		return 2
	}
	return 1
}

// badEUCJP is like badPair, for EUC-JP, where 0x8F begins three bytes (section 12.1.1).
func badEUCJP(rest []byte) int {
	n := badPair(rest)
	if rest[0] == 0x8f && n == 2 && 0xa1 <= rest[1] && rest[1] <= 0xfe && len(rest) > 2 && rest[2] >= utf8.RuneSelf {
		return 3
	}
	return n
}

// badGB18030 is like badPair, for gb18030, where a digit as second byte begins a sequence of four bytes. If the four bytes have the form
// of a character, or the text ends too early to tell, all of them become one U+FFFD, otherwise only the first (section 10.2.1).
func badGB18030(rest []byte) int {
	isDigit := func(i int) bool { return i >= len(rest) || '0' <= rest[i] && rest[i] <= '9' }
	switch {
	case len(rest) < 2 || !isDigit(1):
		return badPair(rest)
	case isDigit(3) && (len(rest) < 3 || 0x81 <= rest[2] && rest[2] <= 0xfe):
		return min(len(rest), 4)
	}
	return 1
}
