package robots

import "strings"

// A parser of Structured Field Dictionaries (RFC 9651 section 4.2.2), the format of usage preferences. Only members whose value is a
// Token are used. All others are checked for syntax, because one error invalidates the whole dictionary.

// member is a key of a dictionary and its value. token is "" if the value is not a Token.
type member struct{ key, token string }

// sfParser parses from the beginning of s. Once bad is set, it stays set.
type sfParser struct {
	s   string
	bad bool
}

// parseDictionary reads a dictionary. The last value of a repeated key applies. ok is false if the text is invalid.
func parseDictionary(s string) (members []member, ok bool) {
	p := sfParser{s: strings.Trim(s, " ")}
	for p.s != "" && !p.bad {
		key := p.key()
		value := ""
		if p.accept('=') {
			value = p.itemOrList()
		}
		p.parameters()
		if members = set(members, member{key, value}); len(members) > maxMembers {
			p.bad = true
		}
		p.skip(" \t")
		if p.s == "" {
			break
		}
		p.expect(',')
		p.skip(" \t")
		if p.s == "" {
			p.bad = true // a comma must not end the list
		}
	}
	return members, !p.bad
}

// set replaces the member that has the same key, or adds m.
func set(members []member, m member) []member {
	for i := range members {
		if members[i].key == m.key {
			members[i] = m
			return members
		}
	}
	return append(members, m)
}

// maxMembers limits the members of a dictionary, because set searches all of them. RFC 9651 section 3.2 does not require more.
const maxMembers = 1024

func (p *sfParser) peek() byte {
	if p.s == "" {
		return 0
	}
	return p.s[0]
}

func (p *sfParser) accept(c byte) bool {
	if p.bad || p.peek() != c || p.s == "" {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *sfParser) expect(c byte) {
	if !p.accept(c) {
		p.bad = true
	}
}

func (p *sfParser) skip(set string) { p.s = strings.TrimLeft(p.s, set) }

// take returns the longest prefix whose bytes all satisfy ok.
func (p *sfParser) take(ok func(byte) bool) string {
	i := 0
	for i < len(p.s) && ok(p.s[i]) {
		i++
	}
	t := p.s[:i]
	p.s = p.s[i:]
	return t
}

// key implements RFC 9651 section 4.2.3.3.
func (p *sfParser) key() string {
	if c := p.peek(); c != '*' && (c < 'a' || c > 'z') {
		p.bad = true
		return ""
	}
	return p.take(func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_-.*", c) >= 0
	})
}

// itemOrList implements section 4.2.1.1. It returns the value if that is a Token.
func (p *sfParser) itemOrList() string {
	if !p.accept('(') {
		return p.bareItem()
	}
	for !p.bad {
		p.skip(" ")
		if p.accept(')') {
			return ""
		}
		p.bareItem()
		p.parameters()
		if c := p.peek(); c != ' ' && c != ')' {
			p.bad = true
		}
	}
	return ""
}

// parameters implements section 4.2.3.2.
func (p *sfParser) parameters() {
	for p.accept(';') {
		p.skip(" ")
		p.key()
		if p.accept('=') {
			p.bareItem()
		}
	}
}

// bareItem implements section 4.2.3.1.
func (p *sfParser) bareItem() string {
	c := p.peek()
	switch {
	case c == '"':
		p.quoted(false)
	case c == '%':
		p.s = p.s[1:]
		p.quoted(true)
	case c == ':':
		p.bytes()
	case c == '?':
		p.s = p.s[1:]
		if !p.accept('0') {
			p.expect('1')
		}
	case c == '@':
		p.s = p.s[1:]
		p.number(false)
	case c == '-' || c >= '0' && c <= '9':
		p.number(true)
	case c == '*' || c|0x20 >= 'a' && c|0x20 <= 'z':
		return p.take(isSFToken)
	default:
		p.bad = true
	}
	return ""
}

// isSFToken reports whether c may be in a Token after its first byte (section 3.3.4).
func isSFToken(c byte) bool {
	return isTokenByte(c) || c != 0 && strings.IndexByte("!#$%&'*+.^`|~:/", c) >= 0
}

// quoted reads a String, or a Display String, whose escapes are percent signs (sections 4.2.5, 4.2.10).
func (p *sfParser) quoted(display bool) {
	p.expect('"')
	for !p.bad {
		switch c := p.peek(); {
		case p.s == "" || c < ' ' || c >= 0x7f:
			p.bad = true
		case c == '"':
			p.s = p.s[1:]
			return
		case c == '\\' && !display:
			p.escaped()
		case c == '%' && display:
			if _, ok := unhex(p.s); !ok || strings.ToLower(p.s[:3]) != p.s[:3] {
				p.bad = true
				return
			}
			p.s = p.s[3:]
		default:
			p.s = p.s[1:]
		}
	}
}

func (p *sfParser) escaped() {
	if len(p.s) < 2 || p.s[1] != '"' && p.s[1] != '\\' {
		p.bad = true
		return
	}
	p.s = p.s[2:]
}

// bytes reads a Byte Sequence (section 4.2.7).
func (p *sfParser) bytes() {
	p.expect(':')
	p.take(func(c byte) bool {
		return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
	})
	p.expect(':')
}

// number reads an Integer of up to 15 digits, or a Decimal of up to 12 and 3 (section 4.2.4).
func (p *sfParser) number(decimal bool) {
	p.accept('-')
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	n := len(p.take(isDigit))
	if n == 0 || n > 15 {
		p.bad = true
		return
	}
	if decimal && p.accept('.') {
		if f := len(p.take(isDigit)); n > 12 || f < 1 || f > 3 {
			p.bad = true
		}
	}
}
