package robots

import "strings"

// preference is one entry of a usage expression.
type preference struct {
	use    string
	signal Signal
	value  string // the value as written, if it is not a Signal
}

// preferences parses a usage expression. Content-Usage is a dictionary with the values y and n (draft-ietf-aipref-vocab section 6): an
// error invalidates all of it. Content-Signal is a list with yes and no and has no such grammar: entries that cannot be read are skipped.
// Other values, such as that of use=reference, are kept as written, without a Signal.
func preferences(k kind, s string) (prefs []preference, ok bool) {
	if k == contentSignal {
		return signals(s)
	}
	members, ok := parseDictionary(s)
	for _, m := range members {
		switch m.token {
		case "y":
			prefs = append(prefs, preference{canonUse(m.key), Allowed, ""})
		case "n":
			prefs = append(prefs, preference{canonUse(m.key), Disallowed, ""})
		case "":
		default:
			prefs = append(prefs, preference{canonUse(m.key), Unsaid, m.token})
		}
	}
	if !ok {
		return nil, false
	}
	return prefs, len(members) > 0
}

// signals reads "search=yes, ai-train=no, use=reference".
func signals(s string) (prefs []preference, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		p := preference{use: canonUse(strings.TrimSpace(name))}
		switch value = strings.TrimSpace(value); {
		case foldEqual(value, "yes"):
			p.signal = Allowed
		case foldEqual(value, "no"):
			p.signal = Disallowed
		default:
			p.value = value
		}
		if isUse(p.use) && (p.signal != Unsaid || p.value != "") {
			prefs = append(prefs, p)
		}
	}
	return prefs, len(prefs) > 0
}

// isUse reports whether s may be the name of a use: letters, digits, and some punctuation between them.
func isUse(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// parsePreferences parses the value of a line of robots.txt: a path, which may be missing and then means every path, and a usage
// expression.
func parsePreferences(k kind, value string) (path string, prefs []preference, ok bool) {
	path = "/"
	if value != "" && (value[0] == '/' || value[0] == '*') {
		path, value, _ = cutBlank(value)
	}
	prefs, ok = preferences(k, value)
	return path, prefs, ok
}

// maxUsage limits the preferences of a file that a group keeps.
const maxUsage = 1024

// usageRule is one preference of a file, and the rule that selects the paths to which it applies.
type usageRule struct {
	rule      rule
	statement Statement
}

// readUsage reads a Content-Usage or Content-Signal line.
func (g *Group) readUsage(l line) {
	value := g.file.value(l)
	path, prefs, _ := parsePreferences(l.kind, value)
	var r rule
	r.compileWild(canonPattern(path))
	for _, p := range prefs {
		if len(g.usage) == maxUsage {
			return
		}
		g.usage = append(g.usage, usageRule{r, Statement{
			Use: p.use, Signal: p.signal, Origin: originRobots, Name: l.kind.String(), Line: int(l.num), Text: value, Value: p.value,
		}})
	}
}

// readEarlySignals reads the Content-Signal lines before the first group, where some authors put them.
func (g *Group) readEarlySignals() {
	for _, l := range g.file.lines {
		switch l.kind {
		case userAgent:
			return
		case contentSignal:
			g.readUsage(l)
		}
	}
}

// Usage returns the file's preferences about the uses of the page at this path. They are those of the group's Content-Usage lines with
// the longest matching path (draft-ietf-aipref-attach section 3.1), and those of the Content-Signal lines, of the group and before any
// group, with the longest matching path. Several paths may be equally long. Allow, Disallow and the dialect do not matter. At most 1,024
// preferences of a file are considered.
func (g *Group) Usage(pathQuery string) []Statement {
	if len(g.all) > 0 {
		g = g.all[0]
	}
	if len(g.usage) == 0 {
		return nil
	}
	path := RFC9309.canonURL(pathQuery)
	out := g.longestUsage(nil, contentUsage.String(), path)
	return g.longestUsage(out, contentSignal.String(), path)
}

// longestUsage appends the statements of the field name whose matching path is the longest.
func (g *Group) longestUsage(out []Statement, name, path string) []Statement {
	longest, start := -1, len(out)
	for i := range g.usage {
		u := &g.usage[i]
		if u.statement.Name != name || u.rule.length < longest || !u.rule.matches(path) {
			continue
		}
		if u.rule.length > longest {
			longest, out = u.rule.length, out[:start]
		}
		out = append(out, u.statement)
	}
	return out
}

// matches reports whether the rule matches a path.
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

// License is a License line (RSL 1.0). It names a document with the terms of a site.
type License struct {
	URL  string // URL as written; the standard requires an absolute URL
	Line int    // 1-based
}

// Licenses returns the License lines of the whole file, in order. Empty values are left out. Nothing in this package uses them.
func (g *Group) Licenses() (out []License) {
	if len(g.all) > 0 {
		g = g.all[0]
	}
	if g.file == nil || !g.file.licensed {
		return nil
	}
	for _, l := range g.file.lines {
		if l.kind == license && l.value < l.end {
			out = append(out, License{g.file.value(l), int(l.num)})
		}
	}
	return out
}
