package sink

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
)

// lines iterates over the lines of a header section. It yields each line without its end, and the bytes after the line. Lines may end in LF
// alone (RFC 9112 section 2.2). An incomplete line is skipped.
func lines(head []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(line, rest []byte) bool) {
		for {
			end := bytes.IndexByte(head, '\n')
			if end < 0 {
				return
			}
			line := bytes.TrimSuffix(head[:end], []byte("\r"))
			head = head[end+1:]
			if !yield(line, head) {
				return
			}
		}
	}
}

// status returns the status code of a status line (RFC 9112 section 4), or 0 if it has none.
func status(head []byte) int {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(rest) < 3 || !bytes.HasPrefix(line, []byte("HTTP/")) {
		return 0
	}
	code := 0
	for _, c := range rest[:3] {
		if c < '0' || c > '9' {
			return 0
		}
		code = code*10 + int(c-'0')
	}
	if len(rest) > 3 && rest[3] != ' ' && rest[3] != '\r' {
		return 0
	}
	return code
}

// field returns the value of the first field with a name, and the number of fields with that name.
func field(head []byte, name string) (value string, n int) {
	for line := range lines(head) {
		k, v, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(k) != len(name) || !equalFold(string(k), name) {
			continue
		}
		if n++; n == 1 {
			value = string(bytes.Trim(v, " \t"))
		}
	}
	return value, n
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// mediaType returns the type/subtype of a Content-Type value, or "" if the value is invalid.
func mediaType(value string) string {
	value, _, _ = strings.Cut(value, ";")
	value = strings.ToLower(strings.Trim(value, " \t"))
	typ, sub, ok := strings.Cut(value, "/")
	if !ok || !token(typ) || !token(sub) {
		return ""
	}
	return value
}

// token reports whether s is a token (RFC 9110 section 5.6.2).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// SyntheticHead makes a header section in the form of HTTP/1.1, for a response that has another form (HTTP/2, HTTP/3) or was not recorded.
// The reason phrase is empty; the fields are sorted by name. decoded means that the body is stored without its codings. Then the fields
// Content-Encoding, Content-Length and Transfer-Encoding no longer describe the body, and are renamed to X-Crawler-Content-Encoding and so
// on.
func SyntheticHead(status int, h http.Header, decoded bool) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 %03d \r\n", status)
	return append(appendFields(b, h, decoded), "\r\n"...)
}

// SyntheticRequest makes a GET request in the form of HTTP/1.1, for a request that had another form or was not recorded. target is the
// request target, such as "/a?b"; host is the value of the Host field.
func SyntheticRequest(target, host string, h http.Header) []byte {
	b := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n", oneLine(target), oneLine(host))
	return append(appendFields(b, h, false), "\r\n"...)
}

func appendFields(b []byte, h http.Header, decoded bool) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		if token(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			if decoded && framing(name) {
				b = append(b, "X-Crawler-"...)
			}
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, oneLine(v)...)
			b = append(b, "\r\n"...)
		}
	}
	return b
}

// framing reports whether a field describes the codings of the body.
func framing(name string) bool {
	return equalFold(name, "Content-Encoding") || equalFold(name, "Content-Length") || equalFold(name, "Transfer-Encoding")
}

// oneLine replaces line ends by blanks.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n\x00") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(s)
}
