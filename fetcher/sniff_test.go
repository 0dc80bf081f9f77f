package fetcher

import (
	"net/http"
	"testing"
)

func TestContentType(t *testing.T) {
	html, png := "<!DOCTYPE html><p>hello", "\x89PNG\x0d\x0a\x1a\x0a\x00\x00"
	for _, tc := range []struct {
		name    string
		label   []string
		body    string
		want    string
		sniffed bool
		html    bool
	}{
		{"as labelled", []string{"text/html"}, html, "text/html", false, true},
		{"parameters, blanks, case", []string{" Text/HTML ; charset=x"}, html, "text/html", false, true},
		{"xhtml", []string{"application/xhtml+xml"}, html, "application/xhtml+xml", false, true},
		{"the last field counts", []string{"text/plain", "text/html"}, html, "text/html", false, true},
		{"the last that is one counts", []string{"text/html", "nonsense"}, html, "text/html", false, true},
		{"HTML labelled otherwise is not parsed", []string{"text/plain"}, html, "text/plain", false, false},
		{"HTML labelled as an image is not parsed", []string{"image/png"}, html, "image/png", false, false},
		{"HTML labelled as data is not parsed", []string{"application/octet-stream"}, html, "application/octet-stream", false, false},
		{"XML is not HTML", []string{"application/xml"}, "<?xml version='1.0'?><html>", "application/xml", false, false},
		{"missing", nil, html, "text/html", true, true},
		{"missing, blanks and a comment first", nil, " \n<!-- x --><html>", "text/html", true, true},
		{"empty", []string{""}, html, "text/html", true, true},
		{"no media type", []string{"html"}, html, "text/html", true, true},
		{"unknown/unknown", []string{"unknown/unknown"}, html, "text/html", true, true},
		{"application/unknown", []string{"application/unknown"}, html, "text/html", true, true},
		{"*/*", []string{"*/*"}, html, "text/html", true, true},
		{"missing, plain text", nil, "hello", "text/plain", true, false},
		{"missing, binary", nil, "\x00\x01\x02", "application/octet-stream", true, false},
		{"missing, XML", nil, "<?xml version='1.0'?><urlset>", "text/xml", true, false},
		{"missing, XHTML", nil, "<?xml version='1.0'?><html xmlns=\"http://www.w3.org/1999/xhtml\">", "application/xhtml+xml", true, true},
		{"missing, RSS", nil, "<?xml version='1.0'?><rss version='2.0'>", "application/rss+xml", true, false},
		{"image labelled HTML", []string{"text/html"}, png, "image/png", true, false},
		{"PDF labelled HTML", []string{"text/html; charset=utf-8"}, "%PDF-1.7 x", "application/pdf", true, false},
		{"gzip labelled HTML", []string{"text/html"}, "\x1f\x8b\x08\x00\x00", "application/x-gzip", true, false},
		{"feed labelled HTML", []string{"text/html"}, "\xef\xbb\xbf<!-- x --><!DOCTYPE x>\n<?pi?><feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml", true, false},
		{"RDF feed labelled HTML", []string{"text/html"}, `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">`, "application/rss+xml", true, false},
		{"unclosed comment", []string{"text/html"}, "<!-- <rss", "text/html", false, true},
		{"text labelled HTML", []string{"text/html"}, "just words", "text/html", false, true},
		{"binary labelled text/plain", []string{"text/plain"}, png, "image/png", true, false},
		{"unknown binary labelled text/plain", []string{"text/plain"}, "ab\x00", "application/octet-stream", true, false},
		{"UTF-16 labelled text/plain", []string{"text/plain"}, "\xff\xfea\x00", "text/plain", false, false},
		{"UTF-16 by the header", []string{"text/html; charset=utf-16le"}, wide(html), "text/html", false, true},
		{"UTF-16 by the header, big-endian", []string{"text/html; charset=UTF-16BE"}, swapped(wide(html)), "text/html", false, true},
		{"UTF-16 by the header, cut in a character", []string{"text/html; charset=utf-16"}, wide(html)[:21], "text/html", false, true},
		{"UTF-16 by the header, plain text", []string{"text/plain; charset=utf-16le"}, wide("hello"), "text/plain", false, false},
		{"UTF-16 by the header, a feed labelled HTML", []string{"text/html; charset=utf-16le"}, wide("<?xml version='1.0'?><rss>"), "application/rss+xml", true, false},
		{"UTF-16 by a byte order mark, a feed labelled HTML", []string{"text/html"}, "\xff\xfe" + wide("<?xml version='1.0'?><rss>"), "application/rss+xml", true, false},
		{"UTF-16 by an XML declaration", []string{"text/html"}, wide("<?xml version='1.0'?><html>"), "text/html", false, true},
		{"UTF-16 by an XML declaration, a feed", []string{"text/html"}, wide("<?xml version='1.0'?><rss>"), "application/rss+xml", true, false},
		{"UTF-16 by the header, and yet an image", []string{"text/html; charset=utf-16le"}, png, "image/png", true, false},
		{"UTF-16 by the header, binary as plain text", []string{"text/plain; charset=utf-16le"}, wide("\x01\x02"), "application/octet-stream", true, false},
		{"undeclared UTF-16", []string{"text/html"}, wide(html), "application/octet-stream", true, false},
		{"no body, no label", nil, "", "", false, false},
		{"no body", []string{"text/html"}, "", "text/html", false, true},
	} {
		h := http.Header{}
		if tc.label != nil {
			h["Content-Type"] = tc.label
		}
		p := Page{}
		p.ContentType, p.Sniffed = contentType(h, []byte(tc.body))
		if p.ContentType != tc.want || p.Sniffed != tc.sniffed || p.IsHTML() != tc.html {
			t.Errorf("%s: %q, sniffed %v, HTML %v", tc.name, p.ContentType, p.Sniffed, p.IsHTML())
		}
	}
}

// wide returns ASCII text in UTF-16LE.
func wide(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return string(b)
}

// swapped returns UTF-16 in the other byte order.
func swapped(s string) string {
	b := []byte(s)
	for i := 0; i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

// A page whose header declares UTF-16 is decoded as UTF-16 even without a byte order mark.
func TestPageInUTF16WithoutByteOrderMark(t *testing.T) {
	const html = "<!DOCTYPE html><title>hello</title>"
	r := newRig(t, Config{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-16le")
		w.Write([]byte(wide(html)))
	})
	p := r.page(s.URL)
	text, err := p.Text()
	if !p.IsHTML() || p.Charset != "utf-16le" || p.CharsetFrom != fromHeader || string(text) != html || err != nil {
		t.Fatalf("%s in %s by %s: %q, %v", p.ContentType, p.Charset, p.CharsetFrom, text, err)
	}
}

func TestUnwantedIsJudgedByTheSniffedType(t *testing.T) {
	body := append([]byte("%PDF-1.7 "), make([]byte, 200_000)...)
	r := newRig(t, Config{Wanted: func(ct string) bool { return ct == "" || ct == "text/html" }})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		w.Write(body)
	})
	p := r.page(s.URL)
	if p.ContentType != "application/pdf" || !p.Sniffed || p.Truncated != reasonUnwanted || len(p.Body) != defaultUnwantedLimit {
		t.Fatalf("%s %v %s %d", p.ContentType, p.Sniffed, p.Truncated, len(p.Body))
	}
}
