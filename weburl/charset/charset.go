// Package charset encodes text in the legacy encodings of web pages, as browsers encode the queries of links on such pages (WHATWG
// Encoding Standard, and URL Standard section 1.3, "percent-encode after encoding").
//
// The package is separate from weburl because the tables of the encodings are large. The tables are inverted decoding tables of
// golang.org/x/text/encoding, because its encoders differ from the Encoding Standard in places.
package charset

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/amble-crawler/amble/weburl"
)

// Encoder returns the encoder for a label of the Encoding Standard. It returns nil, which stands for UTF-8, for an
// unknown label and for UTF-8, UTF-16 and replacement, whose output encoding is UTF-8 (section 4.3). Encoders are
// safe for concurrent use. The first call for an encoding takes some milliseconds to build its table.
func Encoder(label string) weburl.Encoder {
	if label == "utf-8" {
		return nil // UTF-8 is the most common charset
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return nil
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return nil
	}
	switch name {
	case "utf-8", "utf-16le", "utf-16be", "replacement":
		return nil
	case "big5":
		return big5().encode
	case "euc-jp":
		return eucJP().encode
	case "euc-kr":
		return eucKR().encode
	case "gb18030":
		return encodeGB18030
	case "gbk":
		return gbk().encode
	case "iso-2022-jp":
		return encodeISO2022JP
	case "shift_jis":
		return shiftJIS().encode
	}
	return singleBytes()[name].encode
}

// wideKatakana has the characters that ISO-2022-JP writes instead of U+FF61 to U+FF9F (Encoding Standard, section 5, index ISO-2022-JP
// katakana).
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
	case r == 0x0e || r == 0x0f || r == 0x1b: // such bytes would change the state of the reader
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

// singleBytes has the encodings with one byte per character, by name (Encoding Standard, section 9, and section 14.5 for x-user-defined).
var singleBytes = sync.OnceValue(func() map[string]codes {
	all := map[string]codes{}
	for _, name := range []string{
		"ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
		"iso-8859-8-i", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u",
		"macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
		"windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic", "x-user-defined",
	} {
		if e, err := htmlindex.Get(name); err == nil {
			all[name] = singleByte(e)
		}
	}
	return all
})

// singleByte returns the codes of one encoding. Bytes from 0x80 to 0x9F that x/text maps to no character stand for the control characters
// with the same numbers.
func singleByte(e encoding.Encoding) codes {
	c := codes{}
	c.add(e, upper)
	used := map[uint16]bool{}
	for _, code := range c {
		used[code] = true
	}
	for b := uint16(0x80); b <= 0x9f; b++ {
		if !used[b] {
			c[rune(b)] = b
		}
	}
	return c
}
