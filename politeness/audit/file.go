package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is a robots.txt as RFC 9309 section 2.2 defines it, and nothing more: the gate may read a file more strictly, but never
// less.
type file struct {
	groups  []*section
	binding section // section that applies to our robot
}

type section struct {
	agents []string // the names of the robots in lower case
	rules  []rule
	pauses []pause
	pause  time.Duration // delay for our robot
}

// pause holds the Crawl-delay of a section for the robots that it has named so far.
type pause struct {
	agents int
	d      time.Duration
}

type rule struct {
	allow bool
	path  string // the path in canonical form
	line  int
}

// parse parses a file for a robot. A run of User-agent lines begins a group, and the first rule ends the run; nothing else
// begins or ends a group. A delay applies to the robots named before it.
func parse(b []byte, product string) *file {
	const limit = 512_000 // bytes; RFC 9309 section 2.5 requires at least 500 KiB
	text := string(b)
	if len(text) >= limit {
		text = text[:strings.LastIndexAny(text[:limit], "\r\n")+1]
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	f := &file{}
	var cur *section
	inRun := false
	for i, line := range strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		field, value = strings.ToLower(strings.Trim(field, " \t")), strings.Trim(value, " \t")
		switch field {
		case "user-agent":
			if !inRun {
				cur = &section{}
				f.groups = append(f.groups, cur)
			}
			inRun = true
			cur.agents = append(cur.agents, agentToken(value))
		case "allow", "disallow":
			inRun = false
			if cur != nil && value != "" {
				cur.rules = append(cur.rules, rule{field == "allow", canon(value), i + 1})
			}
		case "crawl-delay", "request-rate":
			if cur != nil {
				cur.pauses = append(cur.pauses, pause{len(cur.agents), pauseOf(field, value)})
			}
		}
	}
	f.binding = f.of(product)
	return f
}

// agentToken returns the product token with which a User-agent line begins, in lower case, or "*".
func agentToken(v string) string {
	if strings.HasPrefix(v, "*") {
		return "*"
	}
	end := strings.IndexFunc(v, func(r rune) bool {
		return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
	if end >= 0 {
		v = v[:end]
	}
	return strings.ToLower(v)
}

func pauseOf(field, value string) time.Duration {
	const most = 1 << 31
	if field == "crawl-delay" {
		s, err := strconv.ParseFloat(value, 64)
		if err != nil || !(s >= 0) || strings.ContainsAny(value, "xXpPiInN_") {
			return 0
		}
		return secs(min(s, most))
	}
	value, _, _ = strings.Cut(value, " ")
	n, per, ok := strings.Cut(value, "/")
	requests, err1 := strconv.ParseFloat(n, 64)
	seconds, err2 := strconv.ParseFloat(strings.TrimSuffix(per, "s"), 64)
	if !ok || err1 != nil || err2 != nil || !(requests > 0) || !(seconds > 0) {
		return 0
	}
	return secs(min(seconds/requests, most))
}

// of returns the group that applies to a robot: all groups that name it, merged, otherwise all that name "*".
func (f *file) of(product string) section {
	for _, name := range []string{strings.ToLower(product), "*"} {
		var all section
		found := false
		for _, g := range f.groups {
			named := slices.Index(g.agents, name)
			if named < 0 {
				continue
			}
			found = true
			all.rules = append(all.rules, g.rules...)
			for _, p := range g.pauses {
				if named < p.agents {
					all.pause = max(all.pause, p.d)
				}
			}
		}
		if found {
			return all
		}
	}
	return section{}
}

// special escapes the characters that have a meaning in rules but not in URLs.
var special = strings.NewReplacer("*", "%2A", "$", "%24")

// allows judges a path with its query: the longest rule decides, and an allowing rule among equally long rules (RFC 9309 section
// 2.2.2). The line is that of the deciding rule, 0 when none matches.
func (f *file) allows(target string) (ok bool, line int) {
	target = special.Replace(canon(target))
	best := rule{allow: true}
	for _, r := range f.binding.rules {
		if !matches(r.path, target) {
			continue
		}
		if best.line == 0 || len(r.path) > len(best.path) || len(r.path) == len(best.path) && r.allow {
			best = r
		}
	}
	return best.allow, best.line
}

// matches implements the patterns of RFC 9309 section 2.2.3: "*" is any run of bytes, "$" at the end is the end.
func matches(pattern, target string) bool {
	if p, ok := strings.CutSuffix(pattern, "$"); ok {
		pattern = p
	} else {
		pattern += "*"
	}
	at := make([]bool, len(target)+1) // at[i]: the part of the pattern read so far can match target[:i]
	at[0] = true
	next := make([]bool, len(target)+1)
	for _, c := range []byte(pattern) {
		clear(next)
		reached := false
		for i, ok := range at {
			reached = reached || ok
			if c == '*' {
				next[i] = reached
			} else if ok && i < len(target) && target[i] == c {
				next[i+1] = true
			}
		}
		at, next = next, at
	}
	return at[len(target)]
}
