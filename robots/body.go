package robots

import (
	"bytes"
	"strings"
)

// LooksLikeHTML reports whether a body begins like an HTML or XML document, such as the error pages that some sites send for
// /robots.txt with status 200.
func LooksLikeHTML(body []byte) bool {
	s := strings.TrimLeft(strings.TrimPrefix(string(body[:min(len(body), 512)]), "\ufeff"), " \t\r\n\f")
	for _, start := range [...]string{"<!doctype", "<html", "<head", "<body", "<?xml", "<!--", "<script", "<meta", "<title", "<div", "<svg"} {
		if len(s) >= len(start) && foldEqual(s[:len(start)], start) {
			return true
		}
	}
	return false
}

// looksBinary reports whether a body is not text in an ASCII-compatible encoding: compressed, an image, UTF-16, or anything
// else with many control bytes at its beginning.
func looksBinary(body []byte) bool {
	for _, magic := range [...]string{"\x1f\x8b", "PK\x03\x04", "\x89PNG", "GIF8", "\xff\xd8\xff", "%PDF", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(body, []byte(magic)) {
			return true
		}
	}
	head := body[:min(len(body), 1024)]
	odd := 0
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\f' {
			odd++
		}
	}
	return odd*10 > len(head)
}
