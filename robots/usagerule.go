package robots

import "strings"

// preference is what one entry of a usage expression says.
type preference struct {
	use    string
	signal Signal
}

// preferences reads a usage expression. Content-Usage is a dictionary of y and n (draft-ietf-aipref-
// vocab section 6): an error in it voids all of it, other values say nothing. Content-Signal is a list
// of yes and no without such a grammar: what cannot be read is passed over.
func preferences(k kind, s string) (prefs []preference, ok bool) {
	if k == contentSignal {
		return signals(s)
	}
	members, ok := parseDictionary(s)
	for _, m := range members {
		switch m.token {
		case "y":
			prefs = append(prefs, preference{canonUse(m.key), Allowed})
		case "n":
			prefs = append(prefs, preference{canonUse(m.key), Disallowed})
		}
	}
	if !ok {
		return nil, false
	}
	return prefs, len(members) > 0
}

// signals reads "search=yes, ai-train=no".
func signals(s string) (prefs []preference, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		p := preference{use: canonUse(strings.TrimSpace(name))}
		switch value = strings.TrimSpace(value); {
		case foldEqual(value, "yes"):
			p.signal = Allowed
		case foldEqual(value, "no"):
			p.signal = Disallowed
		}
		if p.signal != Unsaid && p.use != "" {
			prefs = append(prefs, p)
		}
	}
	return prefs, len(prefs) > 0
}

// parsePreferences reads the value of a line of robots.txt: a path, which may be left out and then is
// every path, and a usage expression.
func parsePreferences(k kind, value string) (path string, prefs []preference, ok bool) {
	path = "/"
	if value != "" && (value[0] == '/' || value[0] == '*') {
		path, value, _ = cutBlank(value)
	}
	prefs, ok = preferences(k, value)
	return path, prefs, ok
}

// Usage is what the file says of the uses of the page at this path: by the Content-Usage lines of the
// group with the longest matching path, all of them when several are equally long
// (draft-ietf-aipref-attach section 3), and likewise by its Content-Signal lines and those that stand
// before any group, as many are found to. Allow and Disallow have no part in it.
func (g *Group) Usage(pathQuery string) []Statement {
	if len(g.all) > 0 {
		g = g.all[0]
	}
	if g.file == nil {
		return nil
	}
	path := RFC9309.canonURL(pathQuery)
	out := g.longestUsage(contentUsage, path, g.usageLines(contentUsage))
	return append(out, g.longestUsage(contentSignal, path, g.usageLines(contentSignal))...)
}

// usageLines are the lines of one kind that hold for the group.
func (g *Group) usageLines(k kind) (out []int) {
	if k == contentSignal {
		for i, l := range g.file.lines {
			if l.kind == userAgent {
				break
			}
			if l.kind == k {
				out = append(out, i)
			}
		}
	}
	for _, s := range g.spans {
		for i := s.from; i < s.to; i++ {
			if g.file.lines[i].kind == k {
				out = append(out, i)
			}
		}
	}
	return out
}

// longestUsage makes statements of the lines whose path matches and than which no matching one is
// longer.
func (g *Group) longestUsage(k kind, path string, lines []int) (out []Statement) {
	longest := -1
	for _, i := range lines {
		l := g.file.lines[i]
		pattern, prefs, ok := parsePreferences(k, g.file.value(l))
		if !ok {
			continue
		}
		var r rule
		r.compileWild(canonPattern(pattern))
		if r.length < longest || !r.matches(path) {
			continue
		}
		if r.length > longest {
			longest, out = r.length, nil
		}
		u := Usage{Statements: out}
		u.add(prefs, Statement{Origin: OriginRobots, Name: k.String(), Line: int(l.num), Text: g.file.value(l)})
		out = u.Statements
	}
	return out
}

// matches compares one rule with one path, wildcards and all.
func (ru *rule) matches(path string) bool {
	head := headOf(ru, RFC9309)
	if !strings.HasPrefix(path, head) {
		return false
	}
	if !ru.anchored && len(head) == len(ru.pattern) {
		return true
	}
	return glob(ru.pattern[len(head):], path[len(head):], ru.anchored)
}
