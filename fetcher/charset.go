package fetcher

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// Values of [Page].CharsetFrom. The comment of Page describes them.
const (
	fromBOM      = "bom"
	fromHeader   = "header"
	fromMeta     = "meta"
	fromXML      = "xml"
	fromUTF8     = "utf8"
	fromDetector = "detector"
	fromDefault  = "default"
)

const (
	utf8Name      = "utf-8"
	utf16LE       = "utf-16le"
	utf16BE       = "utf-16be"
	metaLimit     = 64 << 10 // number of bytes of the body that are searched for a META element
	detectLimit   = 8 << 10  // maximum number of bytes that the detector reads
	minConfidence = 0.5      // confidence below which the detector's guess is ignored
	fallbackName  = "windows-1252"
)

// decide determines the charset of a page's body.
func (x *exchange) decide(p *Page) {
	if isText(p.ContentType) {
		p.Charset, p.CharsetFrom, p.CharsetCertain = charsetOf(p.Header, p.ContentType, p.Body)
	}
}

// isText reports whether bodies of this type are text in some charset.
func isText(mediaType string) bool {
	switch mediaType {
	case "application/xml", "application/json", "application/javascript", "application/x-javascript", "application/ld+json":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+json")
}

func isXML(mediaType string) bool {
	return mediaType == "text/xml" || mediaType == "application/xml" || strings.HasSuffix(mediaType, "+xml")
}

// charsetOf implements the encoding sniffing algorithm (HTML Standard section 13.2.3.2), including the detector of its
// ninth step, and for XML the declaration (XML 1.0 appendix F).
func charsetOf(h http.Header, mediaType string, body []byte) (name, from string, certain bool) {
	if name = charsetByBOM(body); name != "" {
		return name, fromBOM, true
	}
	if name = charsetByHeader(h); name != "" {
		return name, fromHeader, true
	}
	if name, from = charsetByMarkup(mediaType, body); name != "" {
		return name, from, false
	}
	if validUTF8(body) {
		return utf8Name, fromUTF8, false
	}
	if name = detect(body); name != "" {
		return name, fromDetector, false
	}
	return fallbackName, fromDefault, false
}

// charsetByMarkup returns the charset that the document itself declares: XML in its declaration, HTML in a META element or, without one,
// in an XML declaration.
func charsetByMarkup(mediaType string, body []byte) (name, from string) {
	html := mediaType == typeHTML || mediaType == typeXHTML
	if !html && !isXML(mediaType) {
		return "", ""
	}
	declared := charsetByXML(body)
	if declared != "" && (mediaType != typeHTML || charsetOfUTF16XML(body) != "") {
		return declared, fromXML
	}
	if html {
		if name = prescan(body[:min(len(body), metaLimit)]); name != "" {
			return name, fromMeta
		}
	}
	if declared != "" {
		return declared, fromXML
	}
	return "", ""
}

// charsetByBOM recognises the byte order marks of the Encoding Standard (section 6, "BOM sniff").
func charsetByBOM(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return utf8Name
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return utf16BE
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return utf16LE
	}
	return ""
}

// charsetByHeader returns the charset parameter of the last Content-Type field in which it is a known label.
func charsetByHeader(h http.Header) string {
	for _, v := range slices.Backward(h["Content-Type"]) {
		_, params, _ := strings.Cut(v, ";")
		if name := canonical(charsetParameter(params)); name != "" {
			return name
		}
	}
	return ""
}

// charsetParameter returns the value of the first charset in a list of parameters (MIME Sniffing Standard section 4.4),
// however malformed the rest of the list is.
func charsetParameter(params string) string {
	for params != "" {
		var name, value string
		if i := strings.IndexAny(params, ";="); i < 0 || params[i] == ';' {
			_, params, _ = strings.Cut(params, ";")
			continue
		}
		name, params, _ = strings.Cut(params, "=")
		if quoted, ok := strings.CutPrefix(params, `"`); ok {
			value, params, _ = strings.Cut(quoted, `"`)
			_, params, _ = strings.Cut(params, ";")
		} else {
			value, params, _ = strings.Cut(params, ";")
		}
		if strings.EqualFold(strings.Trim(name, " \t"), "charset") {
			return strings.Trim(value, " \t'")
		}
	}
	return ""
}

// canonical returns the Encoding Standard's name for a label, in lower case, or "" if the label is unknown. The name may be
// "replacement", which the standard uses for dangerous encodings: such a body is not decoded.
func canonical(label string) string {
	if label == "" || len(label) > 64 {
		return ""
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return ""
	}
	return name
}

// validUTF8 reports whether body is UTF-8. A character at its end may be incomplete, because truncation may have split it.
func validUTF8(body []byte) bool {
	if utf8.Valid(body) {
		return true
	}
	for i := len(body) - 1; i >= max(0, len(body)-utf8.UTFMax); i-- {
		if utf8.RuneStart(body[i]) {
			return body[i] >= utf8.RuneSelf && !utf8.FullRune(body[i:]) && utf8.Valid(body[:i])
		}
	}
	return false
}

// detect guesses the charset from the part of the body that begins with its first non-ASCII byte.
func detect(body []byte) string {
	i := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	if i < 0 {
		i = 0 // take the whole body: ISO-2022-JP consists of ASCII bytes
	}
	guess := chardet.Detect(body[i:min(len(body), i+detectLimit)])
	if guess.Confidence < minConfidence {
		return ""
	}
	name := canonical(guess.Encoding)
	if name == utf8Name {
		return "" // a wrong guess: the body was found not to be valid UTF-8
	}
	return name
}

// Text returns Body in UTF-8, without a byte order mark. Bytes without a meaning in the charset become as many U+FFFD as in browsers (in
// UTF-8 one for each maximal subpart, Unicode Standard section 3.9); in ISO-2022-JP their number may differ. A body in UTF-8 is not
// copied, and a body that is not text is returned unchanged. Text returns an error if the charset is not in the Encoding Standard.
func (p *Page) Text() ([]byte, error) {
	if p.text != nil {
		return p.text, nil
	}
	text, err := toUTF8(p.Charset, p.Body)
	p.text = text
	return text, err
}

func toUTF8(charset string, body []byte) ([]byte, error) {
	switch charset {
	case "":
		return body, nil
	case utf8Name:
		body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
		if utf8.Valid(body) {
			return body, nil
		}
	case utf16BE:
		body = wholePairs(bytes.TrimPrefix(body, []byte("\xfe\xff")), 0)
	case utf16LE:
		body = wholePairs(bytes.TrimPrefix(body, []byte("\xff\xfe")), 1)
	case "gbk":
		charset = "gb18030" // gb18030 contains all characters of gbk (Encoding Standard section 10.1.1)
	case "iso-8859-8-i":
		charset = "iso-8859-8" // iso-8859-8-i differs only in text direction
	}
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, &Error{Phase: PhaseBody, Reason: reasonEncoding, Err: err}
	}
	if c, ok := e.(*charmap.Charmap); ok {
		return decodeSingleBytes(c, body), nil
	}
	text, _, err := transform.Bytes(e.NewDecoder(), body)
	if err == nil && bytes.Contains(text, []byte("\ufffd")) {
		if d, ok := damagedAs(charset, e); ok {
			return d.decode(body), nil
		}
	}
	return text, err
}

// wholePairs shortens UTF-16 that ends in a lead surrogate and half of the code unit after it: it removes the half unit, because both
// together become one U+FFFD (Encoding Standard section 14.2.1). high is the index of the more significant byte in a pair.
func wholePairs(body []byte, high int) []byte {
	if n := len(body); n >= 3 && n%2 == 1 && body[n-3+high]&0xfc == 0xd8 {
		return body[:n-1]
	}
	return body
}

// decodeSingleBytes decodes an encoding with one byte per character. The bytes from 0x80 to 0x9F for which x/text has
// no character are control characters (Encoding Standard section 9).
func decodeSingleBytes(c *charmap.Charmap, body []byte) []byte {
	text := make([]byte, 0, len(body)+len(body)/4)
	for _, b := range body {
		r := c.DecodeByte(b)
		if r == utf8.RuneError && b < 0xa0 {
			r = rune(b)
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}
