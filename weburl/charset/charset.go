// Package charset encodes text in the legacy encodings of web pages, as browsers encode the query of a link found
// on such a page (WHATWG Encoding Standard, and URL Standard section 1.3, "percent-encode after encoding").
//
// It is separate from package weburl because the tables of the encodings are large. They are those of
// golang.org/x/text/encoding, inverted, because its encoders differ from the Encoding Standard in places.
//
// Reading order: charset.go, then codes.go, which inverts a decoder into a table; singlebyte.go, multibyte.go and
// iso2022jp.go apply it.
package charset

import (
	"golang.org/x/text/encoding/htmlindex"

	"github.com/amble-crawler/amble/weburl"
)

// Encoder returns the encoder for a label of the Encoding Standard. It returns nil, which stands for UTF-8, for an
// unknown label and for UTF-8, UTF-16 and replacement, whose output encoding is UTF-8 (section 4.3). Encoders are
// safe for concurrent use. The first call for an encoding takes some milliseconds to build its table.
func Encoder(label string) weburl.Encoder {
	if label == "utf-8" {
		return nil // the common case
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
