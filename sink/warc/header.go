package warc

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/sink"
)

const (
	version   = "WARC/1.1\r\n"
	recordEnd = "\r\n\r\n"
	// dateForm is the format of WARC-Date with microseconds, the finest resolution that common readers support.
	dateForm = "2006-01-02T15:04:05.000000Z"
)

// header is the header of a record, or a block of type application/warc-fields.
type header struct{ b []byte }

// newHeader starts the header of a record.
func newHeader(typ, id, date string) *header {
	h := &header{b: make([]byte, 0, 1024)}
	h.b = append(h.b, version...)
	h.add("WARC-Type", typ)
	h.add("WARC-Record-ID", id)
	h.add("WARC-Date", date)
	return h
}

// add writes a field. The value is put on one line.
func (h *header) add(name, value string) {
	h.b = append(h.b, name...)
	h.b = append(h.b, ": "...)
	h.b = append(h.b, oneLine(value)...)
	h.b = append(h.b, "\r\n"...)
}

// opt writes a field if value is not "".
func (h *header) opt(name, value string) {
	if value = oneLine(value); value != "" {
		h.add(name, value)
	}
}

func (h *header) end() []byte { return append(h.b, "\r\n"...) }

// oneLine replaces control characters, which the value of a field must not contain, and invalid UTF-8. It trims white space.
func oneLine(s string) string {
	for i := range len(s) {
		if s[i] >= ' ' && s[i] < 0x7f {
			continue
		}
		s = strings.Map(func(r rune) rune {
			if r < ' ' || 0x7f <= r && r <= 0x9f {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s, string(utf8.RuneError)))
		break
	}
	return strings.TrimSpace(s)
}

// newID returns a record ID with a random UUID (RFC 9562 section 5.4).
func newID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // Read never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	b := append(make([]byte, 0, 48), "<urn:uuid:"...)
	start := 0
	for _, end := range []int{4, 6, 8, 10, 16} {
		if start > 0 {
			b = append(b, '-')
		}
		b, start = hex.AppendEncode(b, u[start:end]), end
	}
	return string(append(b, '>'))
}

func formatDate(t time.Time) string { return t.UTC().Format(dateForm) }

// renamed is the prefix for header fields that no longer describe the body, as in the archives of Common Crawl.
const renamed = "X-Crawler-"

// storedHead returns the header section that is stored with the payload. The chunks of a chunked body are not stored, so the fields that
// describe them (RFC 9112 section 6) are renamed.
func storedHead(x *sink.Exchange) []byte {
	if !x.Chunked() {
		return x.Head
	}
	out := make([]byte, 0, len(x.Head)+2*len(renamed))
	for rest := x.Head; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		if line := rest[:end]; named(line, "Transfer-Encoding") || named(line, "Content-Length") {
			out = append(out, renamed...)
		}
		out, rest = append(out, rest[:end]...), rest[end:]
	}
	return out
}

// named reports whether a header line has a field of this name.
func named(line []byte, name string) bool {
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && bytes.EqualFold(key, []byte(name))
}

// uri percent-encodes bytes that are invalid at their place in a URI (RFC 3986), as ISO 28500 section 4 requires for WARC-Target-URI. The
// URL Standard, which the crawler follows, permits some of these bytes.
func uri(s string) string {
	path := pathStart(s)
	for i := range len(s) {
		if foreign(s, i, path) {
			return encodeFrom(s, i, path)
		}
	}
	return s
}

func encodeFrom(s string, i, path int) string {
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		if foreign(s, i, path) {
			b = fmt.Appendf(b, "%%%02X", s[i])
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// pathStart returns the offset of the end of a URL's authority.
func pathStart(s string) int {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return 0
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return len(scheme) + len("://") + len(rest)
}

// foreign reports whether byte i of s is invalid at its place in a URI. Brackets are valid only around an IPv6 address, and "%" only before
// two hexadecimal digits.
func foreign(s string, i, path int) bool {
	switch c := s[i]; {
	case c <= ' ', c >= 0x7f:
		return true
	case c == '[', c == ']':
		return i > path
	case c == '%':
		return i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])
	default:
		return strings.IndexByte("<>\"\\^`{|}", c) >= 0
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
