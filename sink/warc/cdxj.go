package warc

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/amble-crawler/amble/sink"
)

// indexLine returns the line of the index for a response or revisit record in the form of CDXJ 0.1.0
// (specs.webrecorder.net/cdxj/0.1.0/), with numbers as strings, as its readers expect. The type of a revisit is
// warc/revisit.
func (c *capture) indexLine(at *sink.Location) []byte {
	b := make([]byte, 0, 512)
	b = append(b, surt(c.uri)...)
	b = append(b, ' ')
	b = c.at.UTC().AppendFormat(b, stamp)
	b = appendMember(append(b, " {"...), "url", c.uri)
	b = appendMember(append(b, ','), "mime", c.mime())
	b = appendMember(append(b, ','), "status", c.status())
	b = appendMember(append(b, ','), "digest", c.digest)
	b = appendMember(append(b, ','), "length", strconv.FormatInt(at.Length, 10))
	b = appendMember(append(b, ','), "offset", strconv.FormatInt(at.Offset, 10))
	b = appendMember(append(b, ','), "filename", at.File)
	return append(b, "}\n"...)
}

// maxMIME is the length of the longest valid media type: RFC 6838 section 4.2.
const maxMIME = 127 + len("/") + 127

func (c *capture) mime() string {
	if c.earlier != nil || c.notModified() {
		return "warc/revisit"
	}
	if t := c.x.ContentType(); t != "" && len(t) <= maxMIME {
		return t
	}
	return "unk"
}

func (c *capture) status() string {
	if s := c.x.Status(); s != 0 {
		return strconv.Itoa(s)
	}
	return "-"
}

// appendMember appends a member of a JSON object.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":"`...)
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return append(b, '"')
}
