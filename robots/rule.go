package robots

import (
	"strings"
)

// rule is one path of an Allow or Disallow line, in the form in which it is compared.
type rule struct {
	pattern  string // canonical form without the closing "$"; runs of stars are collapsed
	length   int    // bytes of the canonical form as written; the longest rule decides
	line     int32  // index of the line in Rules.lines
	head     int32  // index in Rules.lines of the User-agent line of the rule's record
	from, to int32  // extent of the path in the body
	allow    bool
	anchored bool // the path ended in "$"
}

// appendRules adds the rules of one line.
func appendRules(rules []rule, r *Rules, line, head int) []rule {
	l := r.lines[line]
	proto := rule{line: int32(line), head: int32(head), from: l.value, to: l.end, allow: l.kind == allow}
	switch {
	case l.kind == allow && !r.dialect.knowsAllow():
		return rules
	case l.value == l.end:
		if l.kind == allow && r.dialect == Draft1997 {
			rules = append(rules, proto) // an empty path is a prefix of every path, so it allows everything
		}
		return rules
	case l.kind == disallow && r.dialect.splitsPaths():
		return appendEach(rules, r, proto)
	}
	return appendRule(rules, r, proto)
}

// appendEach adds a rule for each path of a line.
func appendEach(rules []rule, r *Rules, proto rule) []rule {
	at, stop := int(proto.from), int(proto.to)
	for at < stop {
		end := at
		for end < stop && !isBlankByte(r.body[end]) {
			end++
		}
		if end > at {
			proto.from, proto.to = int32(at), int32(end)
			rules = appendRule(rules, r, proto)
		}
		at = end + 1
	}
	return rules
}

// appendRule adds the rule for the path body[proto.from:proto.to], unless the path is invalid or for another host.
func appendRule(rules []rule, r *Rules, proto rule) []rule {
	path, ok := r.rulePath(r.body[proto.from:proto.to], proto.allow)
	if !ok {
		return rules
	}
	proto.compile(path, r.dialect)
	return append(rules, proto)
}

// rulePath returns the path of a rule. A path without a leading slash, or in an absolute URL of this host, is accepted only for Disallow,
// because such an Allow could permit URLs that the standard forbids.
func (r *Rules) rulePath(path string, allow bool) (string, bool) {
	if path[0] == '/' || path[0] == '*' && r.dialect.wild() {
		return path, true
	}
	if allow {
		return "", false
	}
	host, rest, absolute := splitAbsolute(path)
	switch {
	case !absolute:
		return "/" + path, true
	case r.host != "" && host != r.host:
		return "", false
	case rest == "" || rest[0] != '/':
		return "/" + rest, true
	}
	return rest, true
}

// splitAbsolute splits an absolute http or https URL into its host and the rest.
func splitAbsolute(s string) (host, rest string, ok bool) {
	var at int
	switch {
	case len(s) > 7 && foldEqual(s[:7], "http://"):
		at = 7
	case len(s) > 8 && foldEqual(s[:8], "https://"):
		at = 8
	default:
		return "", "", false
	}
	end := len(s)
	if i := strings.IndexAny(s[at:], "/?*$"); i >= 0 {
		end = at + i
	}
	return hostOf(s[:end]), s[end:], true
}

// compile sets the rule's pattern to the canonical form of path.
func (ru *rule) compile(path string, d Dialect) {
	switch {
	case d == Draft1997:
		ru.pattern = canonDecoded(path)
		ru.length = len(ru.pattern)
	case !d.wild():
		ru.pattern = canonPath(path)
		ru.length = len(ru.pattern)
	default:
		ru.compileWild(canonPattern(path))
	}
}

// compileWild removes a final "$" from a pattern and makes every other "$" literal (RFC 9309 section 2.2.3: "$" is special only at the
// end).
func (ru *rule) compileWild(pattern string) {
	pattern, ru.anchored = strings.CutSuffix(pattern, "$")
	if strings.IndexByte(pattern, '$') >= 0 {
		pattern = strings.ReplaceAll(pattern, "$", "%24")
	}
	ru.length = len(pattern)
	if ru.anchored {
		ru.length++
	}
	ru.pattern = collapse(pattern)
}

// glob reports whether s matches tail, the part of a pattern from its first star on. Each star stands for any bytes. Unless anchored is
// set, s may continue after the match. Each piece between stars is matched at its first occurrence, because a later occurrence leaves
// less text for the remaining pieces. So the time is linear in len(tail) + len(s).
func glob(tail, s string, anchored bool) bool {
	for tail != "" {
		tail = tail[1:]
		star := strings.IndexByte(tail, '*')
		if star < 0 {
			if anchored {
				return strings.HasSuffix(s, tail)
			}
			return strings.Contains(s, tail)
		}
		at := strings.Index(s, tail[:star])
		if at < 0 {
			return false
		}
		s, tail = s[at+star:], tail[star:]
	}
	return !anchored || s == ""
}

// collapse replaces every run of stars in a pattern by one star.
func collapse(pattern string) string {
	if !strings.Contains(pattern, "**") {
		return pattern
	}
	b := make([]byte, 0, len(pattern))
	for i := range len(pattern) {
		if pattern[i] != '*' || i == 0 || pattern[i-1] != '*' {
			b = append(b, pattern[i])
		}
	}
	return string(b)
}

// Pattern is a path pattern of RFC 9309, in which "*" stands for any bytes and a final "$" for the end of the path. Other documents than
// robots.txt use such patterns, too. A Pattern is safe for concurrent use.
type Pattern struct{ rule rule }

// NewPattern makes a pattern. Every text is valid.
func NewPattern(pattern string) Pattern {
	var p Pattern
	p.rule.compileWild(canonPattern(pattern))
	return p
}

// Match reports whether the pattern matches a path with its query, as [Group.Test] compares them.
func (p Pattern) Match(pathQuery string) bool { return p.rule.matches(RFC9309.canonURL(pathQuery)) }

// Len returns the length of the pattern in bytes. Of several patterns that match, the longest decides.
func (p Pattern) Len() int { return p.rule.length }
