// Package challenge recognizes responses in which a bot wall asks a browser to prove itself. It makes no request and solves
// nothing: such a response is the site's refusal, and says nothing about the URL.
//
// The signatures are a table, [Rows]. They concern header fields and markup: elements, their attributes, and the beginning of
// scripts. The text of a page is never examined, so an article that quotes a challenge is an ordinary page.
package challenge

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

const (
	maxPrefix = 32 << 10 // limits the bytes of a body that are examined
	maxScript = 1 << 10  // limits the bytes of a script that are examined
)

// Of returns the name of the wall whose challenge a response is, or "" for any other response. The body is the decoded body or
// its beginning. A redirect is never a challenge, but its target may be one.
func Of(status int, header http.Header, body []byte) string {
	if status >= 300 && status < 400 {
		return ""
	}
	for i := range rows {
		if rows[i].hasField(header) {
			return rows[i].Name
		}
	}
	body = body[:min(len(body), maxPrefix)]
	if !beginsWithMarkup(body) || !hints.in(body) {
		return ""
	}
	for i := range rows {
		r := &rows[i]
		if bytes.Contains(body, []byte(r.hint)) && slices.ContainsFunc(r.pages, func(p page) bool { return p.in(body) }) {
			return r.Name
		}
	}
	return ""
}

func (r *Row) hasField(header http.Header) bool {
	for _, f := range r.fields {
		for _, v := range header.Values(f.name) {
			if strings.EqualFold(strings.TrimSpace(v), f.value) {
				return true
			}
		}
	}
	return false
}

func beginsWithMarkup(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n\f"), []byte("<"))
}

// in reports whether a body has all of the page's parts in its markup.
func (p page) in(body []byte) bool {
	var found uint
	note := func(tag, attr string, value []byte) {
		for i, part := range p {
			if part.tag == tag && part.attr == attr && part.is(value) {
				found |= 1 << i
			}
		}
	}
	z := html.NewTokenizer(bytes.NewReader(body))
	script := false
	for all := uint(1)<<len(p) - 1; found != all; {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			script = tag == "script"
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				note(tag, string(key), value)
			}
		case html.EndTagToken:
			script = false
		case html.TextToken:
			if script {
				text := bytes.TrimLeft(z.Raw(), " \t\r\n\f")
				note("script", "", bytes.Join(bytes.Fields(text[:min(len(text), maxScript)]), nil))
			}
		}
	}
	return true
}

// is reports whether an attribute's value contains the part, or whether a script without its white space begins with it. Data and
// strings of a script may quote a challenge, so only its first statement counts.
func (p *part) is(value []byte) bool {
	if p.attr == "" {
		return bytes.HasPrefix(value, []byte(p.value))
	}
	return bytes.Contains(value, []byte(p.value))
}

// search looks for any of several texts in one pass. It moves a window over a body; the last two bytes of the window say how far it can
// be moved without missing a text. Every page is searched, and hardly any has a text. It is the algorithm of Sun Wu and Udi Manber, "A
// fast algorithm for multi-pattern searching", 1994.
type search struct {
	texts []string
	width int         // width of the window: the length of the shortest text
	skip  [4096]uint8 // number of bytes that the window can be moved, by pairOf its last two bytes; 0 if it may be at a text
}

// hints finds the hints of all rows.
var hints = newSearch(rows)

func newSearch(rows []Row) *search {
	s := &search{width: len(rows[0].hint)}
	for _, r := range rows {
		s.texts = append(s.texts, r.hint)
		s.width = min(s.width, len(r.hint))
	}
	for i := range s.skip {
		s.skip[i] = uint8(s.width - 1)
	}
	for _, text := range s.texts {
		for last := 1; last < s.width; last++ {
			pair := pairOf(text[last-1], text[last])
			s.skip[pair] = min(s.skip[pair], uint8(s.width-1-last))
		}
	}
	return s
}

// pairOf returns the place of two bytes in the table. Some pairs share one, which only makes their skip shorter.
func pairOf(a, b byte) uint { return uint(a)<<5&0xfe0 ^ uint(b) }

// in reports whether a body contains one of the texts.
func (s *search) in(body []byte) bool {
	most := s.width - 1
	for last := most; last < len(body); {
		skip := int(s.skip[pairOf(body[last-1], body[last])])
		if skip == most { // a fast path: the processor predicts this branch and does not wait for the table
			last += most
			continue
		}
		if skip > 0 {
			last += skip
			continue
		}
		window := body[last-most:]
		for _, text := range s.texts {
			if bytes.HasPrefix(window, []byte(text)) {
				return true
			}
		}
		last++
	}
	return false
}
