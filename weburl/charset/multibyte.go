package charset

import (
	"sync"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// The tables below are built on first use. Section numbers are those of the Encoding Standard.

const euro = '€'

// gbk implements section 10.1.2: the pairs of gb18030, and one byte for the euro sign. The pairs are older than the revision of 2022,
// which changed 19 characters and the private use area.
var gbk = sync.OnceValue(func() codes {
	c := codes{euro: 0x80}
	c.add(simplifiedchinese.GBK, pairs([]span{{0x81, 0xfe}}, []span{{0x40, 0x7e}, {0x80, 0xfe}}))
	return c
})

// encodeGB18030 implements section 10.2.2: characters without a pair take four bytes.
func encodeGB18030(dst []byte, text string) ([]byte, int) {
	const euroPair = 0xa2e3
	for i, r := range text {
		switch code, ok := gbk()[r]; {
		case r == euro:
			dst = appendCode(dst, euroPair)
		case r < 0x80:
			dst = append(dst, byte(r))
		case ok:
			dst = appendCode(dst, code)
		default:
			four, err := simplifiedchinese.GB18030.NewEncoder().Bytes([]byte(string(r)))
			if err != nil {
				return dst, i
			}
			dst = append(dst, four...)
		}
	}
	return dst, len(text)
}

// big5 implements section 11.1.2, which omits the Hong Kong supplement and uses the second pair for six characters.
var big5 = sync.OnceValue(func() codes {
	c := codes{0x2550: 0xf9f9, 0x255e: 0xf9e9, 0x2561: 0xf9eb, 0x256a: 0xf9ea, 0x5341: 0xa451, 0x5345: 0xa4ca}
	c.add(traditionalchinese.Big5, pairs([]span{{0xa1, 0xfe}}, []span{{0x40, 0x7e}, {0xa1, 0xfe}}))
	return c
})

// eucJP implements section 12.1.2, which omits JIS X 0212.
var eucJP = sync.OnceValue(func() codes {
	c := codes{yen: '\\', overline: '~'}
	c.add(japanese.EUCJP, pairs([]span{{0xa1, 0xfe}}, []span{{0xa1, 0xfe}}))
	c.add(japanese.EUCJP, pairs([]span{{0x8e, 0x8e}}, []span{{0xa1, 0xdf}}))
	c[minus] = c[wideMinus]
	return c
})

// Characters that Japanese encoders replace by others.
const (
	yen       = 0xa5
	overline  = 0x203e
	minus     = 0x2212
	wideMinus = 0xff0d
)

// shiftJIS implements section 12.3.2: if a character has several pairs, those of NEC are not used.
var shiftJIS = sync.OnceValue(func() codes {
	c := codes{0x80: 0x80, yen: '\\', overline: '~'}
	trails := []span{{0x40, 0x7e}, {0x80, 0xfc}}
	c.add(japanese.ShiftJIS, pairs([]span{{0x81, 0x9f}, {0xe0, 0xec}}, trails))
	c.add(japanese.ShiftJIS, pairs([]span{{0xef, 0xef}, {0xfa, 0xfc}}, trails)) // F0 to F9 are for private use
	c.add(japanese.ShiftJIS, upper)
	c[minus] = c[wideMinus]
	return c
})

// eucKR implements section 13.1.2.
var eucKR = sync.OnceValue(func() codes {
	c := codes{}
	c.add(korean.EUCKR, pairs([]span{{0x81, 0xfe}}, []span{{0x41, 0xfe}}))
	return c
})
