package fetcher

import (
	"bytes"
	"net/http"
	"strings"
)

// Media types that the crawler handles.
const (
	typeHTML  = "text/html"
	typeXHTML = "application/xhtml+xml"

	typeBinary = "application/octet-stream" // the type of a body that no rule recognizes
)

// IsHTML reports whether the HTML parser must read the page. Its media type decides, not its content.
func (p *Page) IsHTML() bool { return p.ContentType == typeHTML || p.ContentType == typeXHTML }

// IsXHTML reports whether the page is HTML in the syntax of XML.
func (p *Page) IsXHTML() bool { return p.ContentType == typeXHTML }

// contentType returns the media type of a body from its header, or from its first bytes if the header has no usable type or one that
// cannot be true (MIME Sniffing Standard sections 5 and 7, reduced to the types that matter for parsing).
func contentType(h http.Header, body []byte) (mediaType string, sniffed bool) {
	label := mediaTypeOf(h)
	head := sniffable(h, body[:min(len(body), sniffLength)])
	switch {
	case len(body) == 0:
		return label, false
	case label == "" || label == "unknown/unknown" || label == "application/unknown" || label == "*/*":
		return sniff(head), true
	case label == typeHTML:
		if feed := sniffFeed(head); feed != "" {
			return feed, true
		}
		if t := sniff(head); isBinary(t) {
			return t, true
		}
	case label == "text/plain" && charsetByBOM(body) == "" && looksBinary(head):
		return sniffBinary(head), true
	}
	return label, false
}

// sniffable returns the beginning of a body in a form that can be sniffed: UTF-16 is converted to UTF-8, because every second byte of
// UTF-16 looks like binary data. A body with the signature of a binary format is returned unchanged, whatever its header declares.
func sniffable(h http.Header, head []byte) []byte {
	if !looksBinary(head) {
		return head
	}
	charset := charsetByBOM(head)
	if charset == "" {
		charset = charsetByHeader(h)
	}
	if charset == "" {
		charset = charsetOfUTF16XML(head)
	}
	if charset != utf16LE && charset != utf16BE {
		return head
	}
	if t := http.DetectContentType(head); isBinary(t) && t != typeBinary {
		return head
	}
	text, err := toUTF8(charset, head)
	if err != nil {
		return head
	}
	return text
}

// mediaTypeOf returns the type/subtype of the last Content-Type field that has one, in lower case, or "" if none has
// (Fetch Standard section 2.2.2, "extract a MIME type").
func mediaTypeOf(h http.Header) string {
	values := h["Content-Type"]
	for i := len(values) - 1; i >= 0; i-- {
		t, _, _ := strings.Cut(values[i], ";")
		t = strings.ToLower(strings.Trim(t, " \t"))
		if major, minor, ok := strings.Cut(t, "/"); ok && isToken(major) && isToken(minor) || t == "*/*" {
			return t
		}
	}
	return ""
}

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// sniff returns the media type according to the first bytes only.
func sniff(body []byte) string {
	if feed := sniffFeed(body); feed != "" {
		return feed
	}
	t, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if t == "text/xml" && bytes.Contains(body, []byte("http://www.w3.org/1999/xhtml")) {
		return typeXHTML
	}
	return t
}

// isBinary reports whether a sniffed type has a signature with which no HTML document begins.
func isBinary(t string) bool {
	switch t {
	case typeBinary, "application/pdf", "application/postscript", "application/zip",
		"application/x-gzip", "application/x-rar-compressed", "application/wasm", "application/vnd.ms-fontobject":
		return true
	}
	return strings.HasPrefix(t, "image/") || strings.HasPrefix(t, "audio/") || strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "font/")
}

// looksBinary implements the check for servers that send everything as text/plain (MIME Sniffing Standard section 7.2): a body without
// BOM is binary if it has a binary data byte (section 3).
func looksBinary(body []byte) bool {
	for _, c := range body {
		if c <= 0x08 || c == 0x0b || 0x0e <= c && c <= 0x1a || 0x1c <= c && c <= 0x1f {
			return true
		}
	}
	return false
}

func sniffBinary(body []byte) string {
	if t, _, _ := strings.Cut(http.DetectContentType(body), ";"); isBinary(t) {
		return t
	}
	return typeBinary
}

// sniffFeed returns the type of RSS and Atom feeds that are served as HTML (MIME Sniffing Standard section 7.3), or "".
func sniffFeed(body []byte) string {
	rest := bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for {
		rest = bytes.TrimLeft(rest, "\t\n\f\r ")
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			rest = after(rest, "-->")
		case bytes.HasPrefix(rest, []byte("<!")):
			rest = after(rest, ">")
		case bytes.HasPrefix(rest, []byte("<?")):
			rest = after(rest, "?>")
		case bytes.HasPrefix(rest, []byte("<rss")):
			return "application/rss+xml"
		case bytes.HasPrefix(rest, []byte("<feed")):
			return "application/atom+xml"
		case bytes.HasPrefix(rest, []byte("<rdf:RDF")) && bytes.Contains(rest, []byte("http://purl.org/rss/1.0/")) &&
			bytes.Contains(rest, []byte("http://www.w3.org/1999/02/22-rdf-syntax-ns#")):
			return "application/rss+xml"
		default:
			return ""
		}
	}
}

// after returns the part of b after the first occurrence of mark, or nothing if there is none.
func after(b []byte, mark string) []byte {
	_, rest, _ := bytes.Cut(b, []byte(mark))
	return rest
}
