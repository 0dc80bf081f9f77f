package extract

import (
	"strings"
	"unicode/utf8"
)

// cssScanner finds the references of a stylesheet or a style attribute one after the other. It reads the tokens of CSS Syntax Module
// Level 3 section 4.
type cssScanner struct {
	s       string
	pos     int
	imports bool // @import is still allowed: no block has begun (CSS Cascade Level 5 section 2)

	ref      string // the reference that was found
	escaped  bool   // the reference contains escapes
	isImport bool
	start    int // offset of the reference's token
	at       int // offset of the reference, without its quotes

	atImport bool // the position is after "@import" and before the URL
	muted    bool // the position is in a rule whose url() loads nothing, such as @namespace
}

// next finds the next reference. It returns false if there is none.
func (c *cssScanner) next() bool {
	for c.pos < len(c.s) {
		c.start = c.pos
		ch := c.s[c.pos]
		switch {
		case isSpace(ch):
			c.pos++
		case ch == '/' && strings.HasPrefix(c.s[c.pos:], "/*"):
			c.comment()
		case ch == '"' || ch == '\'':
			if c.quoted() && c.atImport {
				return c.found()
			}
		case ch == '@':
			c.pos++
			c.atRule(c.name())
		case isDigit(ch) || ch == '#':
			c.pos++
			c.name()
		case isNameByte(ch):
			if c.word() {
				return c.found()
			}
		default:
			c.punctuation(ch)
		}
	}
	return false
}

// found completes the reference that was found, and returns true.
func (c *cssScanner) found() bool {
	c.isImport = c.atImport
	c.atImport = false
	return true
}

func (c *cssScanner) punctuation(ch byte) {
	c.pos++
	c.atImport = false
	switch ch {
	case '{':
		c.imports, c.muted = false, false
	case '}', ';':
		c.muted = false
	}
}

func (c *cssScanner) comment() {
	n := strings.Index(c.s[c.pos+2:], "*/")
	if n < 0 {
		c.pos = len(c.s)
		return
	}
	c.pos += 2 + n + 2
}

func (c *cssScanner) atRule(name string) {
	c.atImport = c.imports && equalFold(name, "import")
	c.muted = equalFold(name, "namespace") || equalFold(name, "document") || equalFold(name, "-moz-document")
}

// word reads a name and reports whether it is that of a url() that contains a reference.
func (c *cssScanner) word() bool {
	name := c.name()
	if c.pos >= len(c.s) || c.s[c.pos] != '(' || !equalFold(name, "url") {
		c.atImport = false
		return false
	}
	c.pos++
	c.blanks()
	var found bool
	if c.pos < len(c.s) && (c.s[c.pos] == '"' || c.s[c.pos] == '\'') {
		found = c.quoted()
	} else {
		found = c.bare()
	}
	return found && !c.muted
}

// maxCSSName is greater than the length of all names that are looked up, even if each of their letters is an escape.
const maxCSSName = 128

// name reads a name and returns it without escapes.
func (c *cssScanner) name() string {
	start, escaped := c.pos, false
	for c.pos < len(c.s) && isNameByte(c.s[c.pos]) {
		if c.s[c.pos] == '\\' {
			escaped = true
			if c.pos+1 < len(c.s) && isNewline(c.s[c.pos+1]) {
				c.pos++
				break
			}
			c.pos += escapeLen(c.s[c.pos:])
			continue
		}
		c.pos++
	}
	if escaped && c.pos-start <= maxCSSName {
		return string(appendCSSUnescaped(nil, c.s[start:c.pos]))
	}
	return c.s[start:c.pos]
}

func (c *cssScanner) blanks() {
	for c.pos < len(c.s) && isSpace(c.s[c.pos]) {
		c.pos++
	}
}

// quoted reads a string and reports whether it is valid: its quote closes it, or the end of the stylesheet does.
func (c *cssScanner) quoted() bool {
	quote := c.s[c.pos]
	c.pos++
	start := c.pos
	c.escaped = false
	for c.pos < len(c.s) {
		switch ch := c.s[c.pos]; {
		case ch == quote:
			c.ref, c.at = c.s[start:c.pos], start
			c.pos++
			return true
		case ch == '\\':
			c.escaped = true
			c.pos += escapeLen(c.s[c.pos:])
		case isNewline(ch):
			return false
		default:
			c.escaped = c.escaped || ch == 0
			c.pos++
		}
	}
	c.ref, c.at = c.s[start:], start
	return true
}

// bare reads the rest of a url() without quotes, and reports whether it is valid.
func (c *cssScanner) bare() bool {
	start, end := c.pos, -1
	c.escaped = false
	good := true
	for c.pos < len(c.s) && c.s[c.pos] != ')' {
		switch ch := c.s[c.pos]; {
		case isSpace(ch):
			if end < 0 {
				end = c.pos
			}
			c.pos++
		case ch == '\\' && (c.pos+1 == len(c.s) || !isNewline(c.s[c.pos+1])):
			c.escaped = true
			good = good && end < 0
			c.pos += escapeLen(c.s[c.pos:])
		default:
			c.escaped = c.escaped || ch == 0
			good = good && end < 0 && (ch > ' ' || ch == 0) && ch != '"' && ch != '\'' && ch != '(' && ch != 0x7f && ch != '\\'
			c.pos++
		}
	}
	if end < 0 {
		end = c.pos
	}
	c.ref, c.at = c.s[start:end], start
	if c.pos < len(c.s) {
		c.pos++
	}
	return good
}

func isNewline(c byte) bool { return c == '\n' || c == '\r' || c == '\f' }

// isNameByte reports whether c may be part of a name. A backslash may, because it begins an escape.
func isNameByte(c byte) bool {
	return isAlnum(c) || c == '-' || c == '_' || c == '\\' || c == 0 || c >= utf8.RuneSelf
}

// escapeLen returns the length of the escape at the beginning of s, which begins with a backslash.
func escapeLen(s string) int {
	n := 1
	for n < len(s) && n <= 6 && digit(s[n]) < 16 {
		n++
	}
	if n == 1 {
		if strings.HasPrefix(s[1:], "\r\n") {
			return 3
		}
		return min(2, len(s))
	}
	if strings.HasPrefix(s[n:], "\r\n") {
		return n + 2
	}
	if n < len(s) && isSpace(s[n]) {
		n++
	}
	return n
}

// appendCSSUnescaped appends s with its escapes decoded (CSS Syntax Module Level 3 section 4.3.7).
func appendCSSUnescaped(dst []byte, s string) []byte {
	for s != "" {
		n := strings.IndexAny(s, "\\\x00")
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; s[0] == 0 {
			dst = append(dst, "\ufffd"...)
			s = s[1:]
			continue
		}
		n = escapeLen(s)
		dst = appendCSSEscape(dst, s[1:n])
		s = s[n:]
	}
	return dst
}

// appendCSSEscape appends the character for which an escape stands. s is the escape without its backslash.
func appendCSSEscape(dst []byte, s string) []byte {
	if s == "" || isNewline(s[0]) {
		return dst
	}
	if s[0] == 0 {
		return append(dst, "\ufffd"...)
	}
	if digit(s[0]) == 16 {
		return append(dst, s...)
	}
	x := 0
	for i := 0; i < len(s) && digit(s[i]) < 16; i++ {
		x = x*16 + digit(s[i])
	}
	if x == 0 {
		x = utf8.RuneError
	}
	return utf8.AppendRune(dst, rune(x))
}

// CSS finds the references of a stylesheet: url() and @import. Its links have the kinds Style and Import, and no tag. A url() that is
// only a name, as in @namespace, is left out, because it loads nothing. At most 10,000 links are kept; further links are counted in
// Dropped.
func CSS(body []byte) *Document {
	d := new(Document)
	c := collector{o: Options{}.resolved()}
	c.reset(d)
	c.css(string(body), cssPlace{sheet: true})
	return d
}

// cssPlace describes where CSS was found: whether it is a stylesheet, and with which names its links are stored.
type cssPlace struct {
	tag, attr string
	sheet     bool // @import is valid
	offset    int  // offset of the links, unless each link has a separate offset
}

// css adds the references in s as links.
func (c *collector) css(s string, p cssPlace) {
	sc := cssScanner{s: s, imports: p.sheet}
	for sc.next() {
		ref := sc.ref
		if sc.escaped {
			c.scratch = appendCSSUnescaped(c.scratch[:0], ref)
			ref = c.arena.add(c.scratch)
		}
		ref = trimRef(ref)
		if ref == "" || inPage(ref) || len(ref) > c.o.MaxAttr {
			continue
		}
		l := Link{Ref: ref, Kind: Style, Tag: p.tag, Attr: p.attr, Offset: p.offset}
		if sc.isImport {
			l.Kind = Import
		}
		if p.tag == "" {
			l.Offset = sc.start
		}
		c.add(l)
	}
}

// CSSReferences calls f with each reference of a stylesheet, or of a style attribute if sheet is false: ref is the reference without
// escapes; from and to are its range in s, without quotes. The references are the links that [CSS] finds, and fragments.
func CSSReferences(s string, sheet bool, f func(ref string, from, to int)) {
	sc := cssScanner{s: s, imports: sheet}
	for sc.next() {
		ref := sc.ref
		if sc.escaped {
			ref = string(appendCSSUnescaped(nil, ref))
		}
		if ref = trimRef(ref); ref != "" {
			f(ref, sc.at, sc.at+len(sc.ref))
		}
	}
}
