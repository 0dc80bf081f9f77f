package warc

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	version   = "WARC/1.1\r\n"
	recordEnd = "\r\n\r\n"
	// dateForm is WARC-Date with microseconds, the finest resolution that common readers support.
	dateForm = "2006-01-02T15:04:05.000000Z"
)

// header is the header of a record, or the block of a type application/warc-fields.
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

// add writes a field, with the value on one line.
func (h *header) add(name, value string) {
	h.b = append(h.b, name...)
	h.b = append(h.b, ": "...)
	h.b = append(h.b, oneLine(value)...)
	h.b = append(h.b, "\r\n"...)
}

// opt writes a field if it has a value.
func (h *header) opt(name, value string) {
	if value = oneLine(value); value != "" {
		h.add(name, value)
	}
}

func (h *header) end() []byte { return append(h.b, "\r\n"...) }

// oneLine replaces control characters, which the value of a field must not contain, and invalid UTF-8, and trims
// white space.
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

// newID returns a record ID made of a random UUID (RFC 9562 section 5.4).
func newID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
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
