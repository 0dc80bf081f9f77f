package fetcher

import (
	"bytes"
	"net/textproto"
	"slices"
)

// recorder records the bytes sent and received on an HTTP/1.1 connection during one exchange.
type recorder struct {
	limit    int64
	request  []byte
	answer   []byte
	cut      bool
	informal int // number of responses with status 1xx so far
}

func newRecorder(limit int64) *recorder { return &recorder{limit: limit} }

func (r *recorder) sent(p []byte) { r.request = append(r.request, p...) }

func (r *recorder) received(p []byte) {
	if room := r.limit - int64(len(r.answer)); int64(len(p)) > room {
		p, r.cut = p[:max(room, 0)], true
	}
	r.answer = append(r.answer, p...)
}

// informational records a response with status 1xx, which precedes the final one.
func (w *wire) informational(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.record.informal++
}

// raw returns the recorded exchange, split into its parts. It masks the values of the fields named in secret.
func (r *recorder) raw(secret []string) *Raw {
	rest := r.answer
	for range r.informal {
		rest = rest[headLength(rest):]
	}
	n := headLength(rest)
	return &Raw{Request: blank(r.request, append(secret, "Authorization", "Cookie")), Head: rest[:n:n], Body: rest[n:], Cut: r.cut}
}

// headLength returns the length of the header section at the beginning of b, including the empty line after it. Lines
// may end in LF alone (RFC 9112 section 2.2).
func headLength(b []byte) int {
	for pos := 0; pos < len(b); {
		end := bytes.IndexByte(b[pos:], '\n')
		if end < 0 {
			break
		}
		line := bytes.TrimSuffix(b[pos:pos+end], []byte("\r"))
		pos += end + 1
		if len(line) == 0 {
			return pos
		}
	}
	return len(b)
}

// blank overwrites the values of the fields that contain secrets.
func blank(request []byte, secret []string) []byte {
	for pos := 0; pos < len(request); {
		end := bytes.IndexByte(request[pos:], '\n')
		if end < 0 {
			break
		}
		line := request[pos : pos+end]
		pos += end + 1
		name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(": "))
		if slices.Contains(secret, textproto.CanonicalMIMEHeaderKey(string(name))) {
			overwrite(value)
		}
	}
	return request
}

// maskCookies overwrites the values of the cookies that a response sets. Whoever reads them could act as the logged-in user.
func maskCookies(head []byte) {
	within := false
	for pos := 0; pos < len(head); {
		end := bytes.IndexByte(head[pos:], '\n')
		if end < 0 {
			return
		}
		line := bytes.TrimSuffix(head[pos:pos+end], []byte("\r"))
		pos += end + 1
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch folded := len(line) > 0 && (line[0] == ' ' || line[0] == '\t'); {
		case folded && within: // a continuation line of a field, which HTTP allowed before RFC 9112
			overwrite(line)
		case !folded:
			if within = bytes.EqualFold(name, []byte("Set-Cookie")); within {
				_, value, _ = bytes.Cut(value, []byte("="))
				value, _, _ = bytes.Cut(value, []byte(";"))
				overwrite(value)
			}
		}
	}
}

func overwrite(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}
