package fetcher

import (
	"bytes"
	"strings"
)

// prescan looks for a META element that declares the encoding (HTML Standard section 13.2.3.2, "prescan a byte stream to determine its
// encoding"), not only in the first 1024 bytes, but up to the body element. It returns "" if there is none.
func prescan(body []byte) string {
	s := scanner{b: body}
	for s.pos < len(s.b) {
		rest := s.b[s.pos:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.comment()
		case isTag(rest, "<meta"):
			s.pos += len("<meta")
			if name := s.meta(); name != "" {
				return name
			}
		case isTag(rest, "<body"):
			return ""
		case len(rest) > 1 && rest[0] == '<' && (isLetter(rest[1]) || len(rest) > 2 && rest[1] == '/' && isLetter(rest[2])):
			s.tag()
		case len(rest) > 1 && rest[0] == '<' && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			s.skipPast('>')
		default:
			s.text()
		}
	}
	return ""
}

type scanner struct {
	b   []byte
	pos int
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// isTag reports whether b begins with a tag of this name, which is in lower case.
func isTag(b []byte, open string) bool {
	return len(b) > len(open) && bytes.EqualFold(b[:len(open)], []byte(open)) && (isSpace(b[len(open)]) || b[len(open)] == '/')
}

// text skips the current byte and continues to the next "<".
func (s *scanner) text() {
	if i := bytes.IndexByte(s.b[s.pos+1:], '<'); i >= 0 {
		s.pos += 1 + i
		return
	}
	s.pos = len(s.b)
}

// comment skips to the end of a comment. "<!-->" is a comment, too.
func (s *scanner) comment() {
	s.pos += 2
	if i := bytes.Index(s.b[s.pos:], []byte("-->")); i >= 0 {
		s.pos += i + 3
		return
	}
	s.pos = len(s.b)
}

func (s *scanner) skipPast(c byte) {
	if i := bytes.IndexByte(s.b[s.pos:], c); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.b)
}

// tag skips the tag of an element other than META, with its attributes.
func (s *scanner) tag() {
	for s.pos < len(s.b) && !isSpace(s.b[s.pos]) && s.b[s.pos] != '>' {
		s.pos++
	}
	for {
		if _, _, ok := s.attribute(); !ok {
			return
		}
	}
}

// meta returns the encoding that the attributes of a META element declare.
func (s *scanner) meta() string {
	var seen [3]bool // for http-equiv, content and charset: only the first attribute of each name counts
	gotPragma, needPragma, charset := false, false, ""
	for {
		name, value, ok := s.attribute()
		if !ok {
			break
		}
		switch {
		case name == "http-equiv" && !seen[0]:
			seen[0], gotPragma = true, strings.EqualFold(value, "content-type")
		case name == "content" && !seen[1]:
			seen[1] = true
			if c := canonical(charsetIn(value)); c != "" && charset == "" {
				charset, needPragma = c, true
			}
		case name == "charset" && !seen[2]:
			seen[2] = true
			charset, needPragma = canonical(value), false
		}
	}
	if charset == "" || needPragma && !gotPragma {
		return ""
	}
	switch charset {
	case utf16BE, utf16LE:
		return utf8Name // a declaration that could be read as ASCII cannot be in UTF-16
	case "x-user-defined":
		return fallbackName
	}
	return charset
}

// attribute reads one attribute, with its name in lower case. ok is false at the end of the tag.
func (s *scanner) attribute() (name, value string, ok bool) {
	for s.pos < len(s.b) && (isSpace(s.b[s.pos]) || s.b[s.pos] == '/') {
		s.pos++
	}
	if s.pos >= len(s.b) {
		return "", "", false
	}
	if s.b[s.pos] == '>' {
		s.pos++
		return "", "", false
	}
	start := s.pos
	s.pos++ // the first character belongs to the name, even "="
	for s.pos < len(s.b) && s.b[s.pos] != '=' && !isSpace(s.b[s.pos]) && s.b[s.pos] != '/' && s.b[s.pos] != '>' {
		s.pos++
	}
	name = short(s.b[start:s.pos])
	s.spaces()
	if s.pos >= len(s.b) || s.b[s.pos] != '=' {
		return name, "", true
	}
	s.pos++
	s.spaces()
	return name, s.value(), true
}

func (s *scanner) spaces() {
	for s.pos < len(s.b) && isSpace(s.b[s.pos]) {
		s.pos++
	}
}

func (s *scanner) value() string {
	if s.pos >= len(s.b) {
		return ""
	}
	if q := s.b[s.pos]; q == '"' || q == '\'' {
		s.pos++
		start := s.pos
		s.skipPast(q)
		if s.b[s.pos-1] != q || s.pos == start {
			return "" // the value has no end, so the tag is incomplete
		}
		return short(s.b[start : s.pos-1])
	}
	start := s.pos
	for s.pos < len(s.b) && !isSpace(s.b[s.pos]) && s.b[s.pos] != '>' {
		s.pos++
	}
	return short(s.b[start:s.pos])
}

// short returns b in lower case, or "" if it is longer than all names and labels that are looked up.
func short(b []byte) string {
	if len(b) > 256 {
		return ""
	}
	return strings.ToLower(string(b))
}

// charsetIn finds "charset=" in a content attribute (HTML Standard section 2.6, "extracting a character
// encoding from a meta element").
func charsetIn(content string) string {
	for {
		_, rest, found := strings.Cut(content, "charset")
		if !found {
			return ""
		}
		content = strings.TrimLeft(rest, " \t\n\f\r")
		if strings.HasPrefix(content, "=") {
			break
		}
	}
	v := strings.TrimLeft(content[1:], " \t\n\f\r")
	if v == "" {
		return ""
	}
	if q := v[0]; q == '"' || q == '\'' {
		v, _, closed := strings.Cut(v[1:], string(q))
		if !closed {
			return ""
		}
		return v
	}
	if i := strings.IndexAny(v, " \t\n\f\r;"); i >= 0 {
		v = v[:i]
	}
	return v
}

// charsetByXML returns the encoding of an XML declaration at the very beginning (HTML Standard section 13.2.3.2,
// "get an XML encoding" and the first step of the prescan).
func charsetByXML(body []byte) string {
	if name := charsetOfUTF16XML(body); name != "" {
		return name
	}
	if !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	declaration, _, closed := bytes.Cut(body[:min(len(body), 1024)], []byte(">"))
	_, rest, found := bytes.Cut(declaration, []byte("encoding"))
	if !closed || !found {
		return ""
	}
	rest, found = bytes.CutPrefix(trimControls(rest), []byte("="))
	rest = trimControls(rest)
	if !found || len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, closed := bytes.Cut(rest[1:], rest[:1])
	if !closed || bytes.ContainsFunc(label, func(r rune) bool { return r <= ' ' }) {
		return ""
	}
	name := canonical(string(label))
	if name == utf16BE || name == utf16LE {
		return utf8Name
	}
	return name
}

// charsetOfUTF16XML returns the charset of a body that begins with an XML declaration in UTF-16.
func charsetOfUTF16XML(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("<\x00?\x00x\x00")):
		return utf16LE
	case bytes.HasPrefix(body, []byte("\x00<\x00?\x00x")):
		return utf16BE
	}
	return ""
}

// trimControls removes spaces and control characters from the beginning of b.
func trimControls(b []byte) []byte {
	return bytes.TrimLeftFunc(b, func(r rune) bool { return r <= ' ' })
}
