package robots

import "strings"

// ProductToken returns the name that selects a robot's group in a robots.txt, taken from its User-Agent header: the first product without
// its version, up to the last of its leading letters, digits, "_" and "-" (RFC 9309 section 2.2.1, which does not allow digits). If the
// header begins like that of a browser, it is the first product after "compatible;". A product token alone is returned unchanged. The
// result is "" if there is no product.
func ProductToken(userAgent string) string { return token(product(userAgent)) }

// product returns the first product of a User-Agent header, or the first after "compatible;", without its version. It is not reduced to a
// token.
func product(userAgent string) string {
	if i := indexFold(userAgent, "compatible;"); i >= 0 {
		if p := firstProduct(userAgent[i+len("compatible;"):]); token(p) != "" {
			return p
		}
	}
	return firstProduct(userAgent)
}

func firstProduct(s string) string {
	s = strings.Trim(s, " \t")
	if i := strings.IndexAny(s, "/ \t;,"); i >= 0 {
		s = s[:i]
	}
	return s
}

// token returns the leading letters, digits, "_" and "-" of s.
func token(s string) string {
	i := 0
	for i < len(s) && isTokenByte(s[i]) {
		i++
	}
	return s[:i]
}

func isTokenByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// indexFold returns the index of the first occurrence in s of substr, which is in lower case, or -1. ASCII case is ignored.
func indexFold(s, substr string) int {
	for i := 0; i+len(substr) <= len(s); i++ {
		if foldEqual(s[i:i+len(substr)], substr) {
			return i
		}
	}
	return -1
}

// foldEqual reports whether a and b differ at most in ASCII case.
func foldEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// robot is the crawler for which a robots.txt is read.
type robot struct {
	token string // compared as a whole
	name  string // compared as a substring; may contain more than a token
}

func newRobot(agent string) robot {
	name := product(agent)
	return robot{token: token(name), name: name}
}

// matchAgent reports whether the value of a User-agent line names the robot, and whether it names all robots. Both can be true if a line
// may list several names.
func (d Dialect) matchAgent(value string, bot robot) (own, star bool) {
	if d == RFC9309 {
		return matchToken(value, bot.token)
	}
	if !d.splitsAgents() {
		return matchName(value, bot.name)
	}
	for name := range strings.FieldsSeq(value) {
		o, s := matchName(name, bot.name)
		own, star = own || o, star || s
	}
	return own, star
}

// matchToken compares whole tokens. Case is ignored, and so is text after the token in value, such as a version.
func matchToken(value, tok string) (own, star bool) {
	if value == "*" || strings.HasPrefix(value, "*") && isBlankByte(value[1]) {
		return false, true
	}
	return tok != "" && foldEqual(token(value), tok), false
}

// matchName reports whether the name in value, without its version, occurs in the robot's name.
func matchName(value, name string) (own, star bool) {
	if value == "*" {
		return false, true
	}
	value, _, _ = strings.Cut(value, "/")
	value = strings.TrimRight(value, " \t")
	if value == "" || len(value) > len(name) {
		return false, false
	}
	for i := 0; i+len(value) <= len(name); i++ {
		if foldEqual(name[i:i+len(value)], value) {
			return true, false
		}
	}
	return false, false
}
