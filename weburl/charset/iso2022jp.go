package charset

import "unicode/utf8"

// wideKatakana are the characters that ISO-2022-JP substitutes for U+FF61 to U+FF9F (Encoding Standard, section 5,
// index ISO-2022-JP katakana).
var wideKatakana = []rune("。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜")

// The states of the encoder, each with the escape sequence that enters it.
const (
	ascii  = "\x1b(B"
	roman  = "\x1b(J"
	jis208 = "\x1b$B"
)

// encodeISO2022JP implements Encoding Standard section 12.2.2. Each call begins and ends in the ASCII state.
func encodeISO2022JP(dst []byte, text string) ([]byte, int) {
	state := ascii
	enter := func(s string) {
		if s != state {
			dst, state = append(dst, s...), s
		}
	}
	for i, r := range text {
		code, in, ok := codeISO2022JP(r, state)
		if !ok {
			enter(ascii)
			return dst, i
		}
		enter(in)
		dst = appendCode(dst, code)
	}
	enter(ascii)
	return dst, len(text)
}

// codeISO2022JP returns the bytes of a character and the state in which they are written.
func codeISO2022JP(r rune, state string) (code uint16, in string, ok bool) {
	switch {
	case r == 0x0e || r == 0x0f || r == 0x1b: // they would change the reader's state
		return 0, "", false
	case r < utf8.RuneSelf && state == roman && r != '\\' && r != '~':
		return uint16(r), roman, true
	case r < utf8.RuneSelf:
		return uint16(r), ascii, true
	case r == yen:
		return '\\', roman, true
	case r == overline:
		return '~', roman, true
	case 0xff61 <= r && r <= 0xff9f:
		r = wideKatakana[r-0xff61]
	}
	code, ok = eucJP()[r]
	return code - 0x8080, jis208, ok && code > 0xff
}
