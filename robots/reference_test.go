package robots

import (
	"regexp"
	"sort"
	"strings"
)

// A slow but simple parser of the five dialects, with which the tests compare the package. It shares no code with the
// package: it splits lines after replacing line ends, tries rules one by one, and matches patterns byte by byte with a table.

type refRule struct {
	allow   bool
	pattern string
	line    int
}

type refRecord struct {
	agents []string
	rules  []refRule
}

var refToken = regexp.MustCompile(`^[A-Za-z0-9_-]+`)

// refLines splits a file at CR, LF and CRLF.
func refLines(body string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), "\n")
}

func refTrim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == 0xa0 || r == 0x200b || r == 0xfeff
	})
}

// refLine returns the field and the value of a line; field is "" for fields other than User-agent, Allow and Disallow.
func refLine(text string) (field, value string) {
	known := func(s string) bool { return s == "user-agent" || s == "allow" || s == "disallow" }
	if before, after, ok := strings.Cut(text, ":"); ok && known(refLower(refTrim(before))) {
		return refLower(refTrim(before)), refTrim(after)
	}
	words := refWords(text)
	if len(words) < 2 || !known(refLower(words[0])) {
		return "", ""
	}
	field = refLower(words[0])
	value = refTrim(text[len(words[0]):])
	if field != "disallow" {
		if strings.ContainsAny(value, " \t") {
			return "", ""
		}
		return field, value
	}
	for _, w := range refWords(value) {
		if w[0] != '/' && w[0] != '*' {
			return "", ""
		}
	}
	return field, value
}

func refWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' })
}

// refRecords parses a file of correctly spelt lines into records.
func refRecords(d Dialect, body string) (recs []refRecord) {
	open, closed := false, false
	body = strings.TrimPrefix(body, "\ufeff")
	for i, raw := range refLines(body) {
		text, _, comment := strings.Cut(raw, "#")
		text = refTrim(text)
		if text == "" && !comment && d != RFC9309 {
			open = false
		}
		field, value := refLine(text)
		switch {
		case field == "user-agent":
			if !open || closed {
				recs = append(recs, refRecord{})
				open, closed = true, false
			}
			last := &recs[len(recs)-1]
			last.agents = append(last.agents, value)
		case field == "allow" && (d == Original1994 || d == Revisited1996):
		case field != "" && open:
			closed = true
			last := &recs[len(recs)-1]
			last.rules = append(last.rules, refRules(d, field == "allow", value, i+1)...)
		}
	}
	return recs
}

// refRules returns the rules on one line.
func refRules(d Dialect, allow bool, value string, line int) (out []refRule) {
	if value == "" {
		if d == Draft1997 && allow {
			return []refRule{{true, "", line}}
		}
		return nil
	}
	paths := []string{value}
	if !allow && (d == RFC9309 || d == Revisited1996) {
		paths = refWords(value)
	}
	for _, p := range paths {
		low := strings.ToLower(p)
		switch {
		case p[0] == '/', p[0] == '*' && d == RFC9309:
		case allow:
			continue
		case len(p) > 7 && strings.HasPrefix(low, "http://"), len(p) > 8 && strings.HasPrefix(low, "https://"):
			_, p, _ = strings.Cut(p, "://")
			if i := strings.IndexAny(p, "/?*$"); i < 0 {
				p = "/"
			} else if p = p[i:]; p[0] != '/' {
				p = "/" + p
			}
		default:
			p = "/" + p
		}
		out = append(out, refRule{allow, refCanon(d, p, false), line})
	}
	return out
}

// refCanon returns the canonical form of a rule or URL.
func refCanon(d Dialect, s string, url bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped := s[i], false
		if c == '%' && i+2 < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+1]) >= 0 && strings.IndexByte("0123456789abcdefABCDEF", s[i+2]) >= 0 {
			c = byte(strings.IndexByte("0123456789abcdef", s[i+1]|0x20)<<4 | strings.IndexByte("0123456789abcdef", s[i+2]|0x20))
			if s[i+1] < 'A' {
				c = c&0x0f | (s[i+1]-'0')<<4
			}
			if s[i+2] < 'A' {
				c = c&0xf0 | (s[i+2] - '0')
			}
			escaped = true
			i += 2
		}
		unreserved := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", c) >= 0
		write := func() {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])))
		}
		switch {
		case d == Draft1997:
			if c == '%' || escaped && c == '/' {
				write()
			} else {
				b.WriteByte(c)
			}
		case unreserved:
			b.WriteByte(c)
		case escaped, c <= ' ', c >= 0x7f, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			write()
		case c == '*' && (url || d != RFC9309), c == '$' && (url || d != RFC9309):
			write()
		case c == '$' && i < len(s)-1:
			write()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// refMatch reports whether a pattern matches a prefix of s. It fills a table of which prefixes of the pattern match
// which prefixes of s.
func refMatch(d Dialect, pattern, s string) bool {
	if d != RFC9309 {
		return strings.HasPrefix(s, pattern)
	}
	anchored := strings.HasSuffix(pattern, "$")
	pattern = strings.TrimSuffix(pattern, "$")
	if !strings.Contains(pattern, "*") {
		return s == pattern || !anchored && strings.HasPrefix(s, pattern)
	}
	row := make([]bool, len(s)+1)
	row[0] = true
	for i := range len(pattern) {
		next := make([]bool, len(s)+1)
		for j := range next {
			if pattern[i] == '*' {
				next[j] = row[j] || j > 0 && next[j-1]
			} else {
				next[j] = j > 0 && row[j-1] && s[j-1] == pattern[i]
			}
		}
		row = next
	}
	if anchored {
		return row[len(s)]
	}
	for _, ok := range row {
		if ok {
			return true
		}
	}
	return false
}

func refLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// refNames reports whether a record names the robot, and whether it has the name "*".
func refNames(d Dialect, rec refRecord, agent string) (own, star bool) {
	for _, value := range rec.agents {
		names := []string{value}
		if d == Revisited1996 {
			names = refWords(value)
		}
		for _, n := range names {
			switch {
			case n == "*", d == RFC9309 && (strings.HasPrefix(n, "* ") || strings.HasPrefix(n, "*\t")):
				star = true
			case d == RFC9309:
				tok := refToken.FindString(n)
				own = own || tok != "" && refLower(tok) == refLower(agent)
			default:
				n, _, _ = strings.Cut(n, "/")
				n = strings.TrimRight(n, " \t")
				own = own || n != "" && strings.Contains(refLower(agent), refLower(n))
			}
		}
	}
	return own, star
}

// refGroup returns the rules for a robot.
func refGroup(d Dialect, body, agent string) (rules []refRule) {
	var owns, stars []refRecord
	for _, rec := range refRecords(d, body) {
		own, star := refNames(d, rec, agent)
		if own {
			owns = append(owns, rec)
		}
		if star {
			stars = append(stars, rec)
		}
	}
	if owns == nil {
		owns = stars
	}
	for i, rec := range owns {
		if i == 0 || d != Draft1997 {
			rules = append(rules, rec.rules...)
		}
	}
	return rules
}

// refJudge returns a function that judges paths by a robot's group in a dialect.
func refJudge(d Dialect, body, agent string) func(path string) refVerdict {
	if d == Strictest {
		var all []func(string) refVerdict
		for sub := range Strictest {
			all = append(all, refJudge(sub, body, agent))
		}
		return func(path string) refVerdict {
			for _, judge := range all {
				if v := judge(path); !v.allowed {
					return v
				}
			}
			return all[0](path)
		}
	}
	rules := refGroup(d, body, agent)
	return func(path string) refVerdict { return refTest(d, rules, path) }
}

// refVerdict is a verdict with the line that decided and the strongest line against it.
type refVerdict struct {
	allowed        bool
	line, runnerUp int
}

// refTest tries every rule. In Draft1997 the first match decides. Otherwise the longest match decides, then Allow
// before Disallow, then the first one.
func refTest(d Dialect, rules []refRule, path string) refVerdict {
	path, _, _ = strings.Cut(path, "#")
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	path = refCanon(d, path, true)
	if path == "/robots.txt" {
		return refVerdict{allowed: true}
	}
	var match []refRule
	for _, r := range rules {
		if refMatch(d, r.pattern, path) {
			match = append(match, r)
		}
	}
	if d != Draft1997 {
		sort.SliceStable(match, func(i, j int) bool {
			a, b := match[i], match[j]
			if len(a.pattern) != len(b.pattern) {
				return len(a.pattern) > len(b.pattern)
			}
			return a.allow && !b.allow
		})
	}
	if len(match) == 0 {
		return refVerdict{allowed: true}
	}
	v := refVerdict{allowed: match[0].allow, line: match[0].line}
	for _, r := range match {
		if r.allow != v.allowed {
			v.runnerUp = r.line
			break
		}
	}
	return v
}
