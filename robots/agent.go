package robots

import "strings"

// ProductToken returns the name that selects a robot's group in a robots.txt, taken from its User-Agent header: the first
// product without its version, up to the last of its leading letters, digits, "_" and "-" (RFC 9309 section 2.2.1, which
// leaves digits out). In a header that begins like a browser's, it is the first product after "compatible;". A bare token is
// its own product token. The result is "" when there is none.
func ProductToken(userAgent string) string { return token(product(userAgent)) }

// product returns the first product of a User-Agent header, or the one after "compatible;", without
// version and uncut.
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

// indexFold returns where substr, in lower case, occurs in s without regard to ASCII case, or -1.
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

// robot is the crawler for which a file is read.
type robot struct {
	token string // for whole comparison
	name  string // for substring comparison: may contain more than a token
}

func newRobot(agent string) robot {
	name := product(agent)
	return robot{token: token(name), name: name}
}

// matchAgent reports whether the value of a User-agent line names the robot, and whether it names all robots. Both can be
// true where a line may list several names.
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

// matchToken compares whole tokens without regard to case. What follows the token in the value, a
// version for example, is not part of it.
func matchToken(value, tok string) (own, star bool) {
	if value == "*" || strings.HasPrefix(value, "*") && isBlankByte(value[1]) {
		return false, true
	}
	return tok != "" && foldEqual(token(value), tok), false
}

// matchName reports whether the name in the record, without its version, occurs in ours.
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
