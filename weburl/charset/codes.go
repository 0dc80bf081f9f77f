package charset

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// codes maps non-ASCII characters to their bytes: one byte if the number is below 0x100, otherwise two.
type codes map[rune]uint16

// encode implements weburl.Encoder.
func (c codes) encode(dst []byte, text string) ([]byte, int) {
	for i, r := range text {
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			continue
		}
		code, ok := c[r]
		if !ok {
			return dst, i
		}
		dst = appendCode(dst, code)
	}
	return dst, len(text)
}

func appendCode(dst []byte, code uint16) []byte {
	if code > 0xff {
		dst = append(dst, byte(code>>8))
	}
	return append(dst, byte(code))
}

// add maps each character that e decodes from one of the sequences to the first such sequence, unless c already has the character. The
// sequences are in the order of the pointers in the Encoding Standard's index.
func (c codes) add(e encoding.Encoding, sequences iter.Seq[uint16]) {
	var order []uint16
	var all []byte
	for code := range sequences {
		order = append(order, code)
		all = append(appendCode(all, code), '\n')
	}
	text, err := e.NewDecoder().Bytes(all)
	if err != nil {
		return // impossible, because decoders replace characters that they cannot decode
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		r, n := utf8.DecodeRune(line)
		if n != len(line) || r < utf8.RuneSelf || r == utf8.RuneError {
			continue
		}
		if _, ok := c[r]; !ok {
			c[r] = order[i]
		}
	}
}

// span is a range of bytes, both ends included.
type span struct{ from, to int }

// pairs yields the sequences of a lead byte and a trail byte, in order.
func pairs(leads, trails []span) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for lead := range within(leads) {
			for trail := range within(trails) {
				if !yield(uint16(lead<<8 | trail)) {
					return
				}
			}
		}
	}
}

func within(spans []span) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, s := range spans {
			for b := s.from; b <= s.to; b++ {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// upper yields the non-ASCII bytes.
func upper(yield func(uint16) bool) {
	for b := uint16(0x80); b <= 0xff; b++ {
		if !yield(b) {
			return
		}
	}
}
