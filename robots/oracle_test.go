package robots

import (
	"flag"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
)

// The oracle is github.com/temoto/robotstxt v1.1.2, on generated files. It deviates from RFC 9309 in the ways listed
// here. A model of RFC 9309 can simulate any set of these quirks. Without quirks it must agree with this package, with
// all of them it must agree with temoto. Every disagreement is explained by a minimal set of quirks, and every quirk
// must be needed for some disagreement.

var oracleN = flag.Int("oracle.n", 3000, "files to compare with the oracle")

// quirk is a set of deviations of temoto from RFC 9309.
type quirk uint32

const (
	qTie quirk = 1 << iota
	qEscapes
	qAgentPrefix
	qAgentVersion
	qUnanchored
	qDollar
	qTrailingStar
	qRegexpLength
	qEmptyGroup
	qRobotsFile
	qBadDelay
	qEarlyRule
	qBlankColon
	qGluedComment
	qDelayEndsAgents
	qFragment
	qFirstWord
	qSlashAdded
	qProse
	qEnd
	qAll = qEnd - 1
)

// quirks is the list of accepted disagreements, in the order of the constants.
var quirks = [...]struct{ section, what string }{
	{"2.2.2", "of equal rules the first decides, not Allow"},
	{"2.2.2", "escapes are not decoded, nor anything encoded, before comparing"},
	{"2.2.1", "a group's name need only be the beginning of the robot's"},
	{"2.2.1", "the version stays part of a group's name"},
	{"2.2.2", "a rule with * or $ matches anywhere in the path"},
	{"2.2.3", "a $ inside a rule is an end of the URL"},
	{"2.2.3", "stars at the end of a rule are taken off: Disallow: * is nothing, and they count for nothing"},
	{"2.2.2", "a rule with * or $ counts the bytes of a regular expression"},
	{"2.2.1", "a group of its own without rules does not hide that of all robots"},
	{"2.2.2", "/robots.txt itself can be disallowed"},
	{"2.2.4", "an unreadable Crawl-delay rejects the file"},
	{"2.2", "a rule before any group rejects the file"},
	{"2.2", "blanks before the colon lose the line"},
	{"2.2", "a # without a blank before it begins no comment"},
	{"2.2.4", "a Crawl-delay ends the list of robots"},
	{"2.2.2", "the fragment is compared, too"},
	{"2.2", "of a value with blanks only the first word counts (here a Disallow line has several paths)"},
	{"2.2", "an Allow without leading slash gets one, and so does a URL"},
	{"2.2", "prose that begins with a field's name is a rule"},
}

// answer is a parser's verdict on a path.
type answer uint8

const (
	refuses answer = iota
	allows
	rejects // rejects the whole file
)

func answerOf(allowed bool) answer {
	if allowed {
		return allows
	}
	return refuses
}

func TestOracle(t *testing.T) {
	n := *oracleN
	if testing.Short() {
		n = min(n, 500)
	}
	seen := make([]int, len(quirks))
	asked, differ := 0, 0
	for seed := range n {
		g := newGen(uint64(seed) + 1<<32)
		body, agent := g.file(), g.agent()
		for range 4 {
			path := g.question(body)
			if path == "" || path[0] != '/' {
				continue
			}
			asked++
			if why := explainDifference(t, body, agent, path); why != 0 {
				differ++
				for q := why; q != 0; q &= q - 1 {
					seen[bits.TrailingZeros32(uint32(q))]++
				}
			}
		}
	}
	t.Logf("%d questions, %d disagreements", asked, differ)
	for i, q := range quirks {
		t.Logf("%7d  section %-6s %s", seen[i], q.section, q.what)
		if seen[i] == 0 && n >= 2000 {
			t.Errorf("no longer occurs: section %s, %s", q.section, q.what)
		}
	}
}

// explainDifference compares both parsers with the model and returns the quirks that explain the difference.
func explainDifference(t *testing.T, body, agent, path string) quirk {
	t.Helper()
	v := Parse([]byte(body)).For(agent).Test(path)
	ours, theirs := answerOf(v.Allowed), rejects
	if r, err := robotstxt.FromString(body); err == nil {
		theirs = answerOf(r.TestAgent(path, agent))
	}
	if got := model(0, body, agent, path); got != ours {
		t.Fatalf("%s asks for %q: %s; RFC 9309 says %v\n%q", agent, path, Explain(v, Source{}), got, body)
	}
	if got := model(qAll, body, agent, path); got != theirs {
		t.Fatalf("%s requests %q: %s; temoto says %v, which the listed quirks do not explain (they give %v)\n%q", agent, path, Explain(v, Source{}), theirs, got, body)
	}
	if ours == theirs {
		return 0
	}
	return fewest(body, agent, path, theirs)
}

// fewest returns a single quirk that explains the answer, or else a minimal set of quirks.
func fewest(body, agent, path string, theirs answer) quirk {
	for q := quirk(1); q < qEnd; q <<= 1 {
		if model(q, body, agent, path) == theirs {
			return q
		}
	}
	set := qAll
	for q := quirk(1); q < qEnd; q <<= 1 {
		if model(set&^q, body, agent, path) == theirs {
			set &^= q
		}
	}
	return set
}

// modelRule is a rule in the model; raw is its path as written.
type modelRule struct {
	allow bool
	raw   string
}

// modelGroup is a group of rules, which temoto may overlook.
type modelGroup struct {
	agents []string
	rules  []modelRule
	kept   bool // false if temoto overlooks the group
}

// model returns the verdict of RFC 9309 with this package's extensions and the given quirks.
func model(q quirk, body, agent, path string) answer {
	groups, ok := modelGroups(q, body)
	if !ok {
		return rejects
	}
	if q&qFragment == 0 {
		path, _, _ = strings.Cut(path, "#")
	}
	path = modelCanon(q, path, true)
	if q&qRobotsFile == 0 && path == "/robots.txt" {
		return allows
	}
	best, allowed := 0, true
	for _, r := range modelRules(q, groups, agent) {
		re, length := modelPattern(q, r)
		if re == nil || !re.MatchString(path) {
			continue
		}
		if length > best || length == best && r.allow && q&qTie == 0 {
			best, allowed = length, r.allow
		}
	}
	return answerOf(allowed)
}

// modelGroups parses the groups of a file; ok is false if the file is rejected.
func modelGroups(q quirk, body string) (groups []modelGroup, ok bool) {
	closed := true
	for _, raw := range refLines(strings.TrimPrefix(body, "\ufeff")) {
		field, value := modelLine(q, raw)
		if field == "" {
			continue
		}
		if field == "user-agent" {
			if closed {
				groups = append(groups, modelGroup{})
				closed = false
			}
			last := &groups[len(groups)-1]
			last.agents = append(last.agents, modelAgent(q, value))
			continue
		}
		if len(groups) == 0 {
			if q&qEarlyRule != 0 {
				return nil, false
			}
			continue
		}
		last := &groups[len(groups)-1]
		last.kept = true
		if field == "crawl-delay" {
			if _, err := strconv.ParseFloat(value, 64); err != nil && q&qBadDelay != 0 {
				return nil, false
			}
			closed = closed || q&qDelayEndsAgents != 0
			continue
		}
		closed = true
		for _, path := range modelPaths(q, field, value) {
			last.rules = append(last.rules, modelRule{field == "allow", path})
		}
	}
	return groups, true
}

// modelLine returns the field and the value of a line.
func modelLine(q quirk, raw string) (field, value string) {
	text := strings.Trim(modelComment(q, raw), " \t")
	i := strings.IndexAny(text, ": \t")
	if i < 0 {
		return "", ""
	}
	switch field = strings.ToLower(text[:i]); field {
	case "user-agent", "allow", "disallow", "crawl-delay":
	default:
		return "", ""
	}
	rest := strings.TrimLeft(text[i:], " \t")
	words := refWords(rest)
	switch {
	case text[i] == ':', rest[0] == ':' && q&qBlankColon == 0:
		return field, strings.TrimLeft(rest[1:], " \t")
	case rest[0] == ':', q&qProse != 0 && q&qFirstWord != 0:
		return field, words[0]
	case q&qProse != 0, len(words) == 1:
		return field, rest
	case field == "disallow" && allPaths(words):
		return field, rest
	}
	return "", ""
}

func allPaths(words []string) bool {
	for _, w := range words {
		if w[0] != '/' && w[0] != '*' {
			return false
		}
	}
	return true
}

// modelComment returns the line without its comment.
func modelComment(q quirk, raw string) string {
	colon := strings.IndexByte(raw, ':')
	for i := range len(raw) {
		if raw[i] == '#' && (q&qGluedComment == 0 || i == 0 || raw[i-1] == ' ' || raw[i-1] == '\t' || i-1 == colon) {
			return raw[:i]
		}
	}
	return raw
}

// modelAgent returns the name on a User-agent line, in lower case.
func modelAgent(q quirk, value string) string {
	words := refWords(value)
	if len(words) == 0 {
		return ""
	}
	if q&qAgentVersion != 0 || words[0] == "*" {
		return strings.ToLower(words[0])
	}
	return strings.ToLower(refToken.FindString(value))
}

// modelPaths returns the paths of a rule.
func modelPaths(q quirk, field, value string) []string {
	words := refWords(value)
	switch {
	case len(words) == 0:
		return nil
	case q&qFirstWord != 0:
		return words[:1]
	case field == "allow":
		return []string{value}
	}
	return words
}

// modelRules returns the rules that apply to a robot.
func modelRules(q quirk, groups []modelGroup, agent string) (rules []modelRule) {
	agent = strings.ToLower(agent)
	best := ""
	for _, g := range groups {
		for _, name := range g.agents {
			named := name == agent || q&qAgentPrefix != 0 && name != "" && strings.HasPrefix(agent, name)
			if named && len(name) > len(best) && (g.kept || q&qEmptyGroup == 0) {
				best = name
			}
		}
	}
	if best == "" {
		best = "*"
	}
	for _, g := range groups {
		for _, name := range g.agents {
			if name == best {
				rules = append(rules, g.rules...)
				break
			}
		}
	}
	return rules
}

// modelCanon returns the canonical form in which rules and URLs are compared.
func modelCanon(q quirk, s string, url bool) string {
	switch {
	case q&qEscapes != 0:
		return s
	case url || q&qDollar == 0:
		return refCanon(RFC9309, s, url)
	}
	parts := strings.Split(s, "$")
	for i := range parts {
		parts[i] = refCanon(RFC9309, parts[i], false)
	}
	return strings.Join(parts, "$")
}

var modelPatterns = map[string]*regexp.Regexp{}

// modelPattern returns a rule as a regular expression, and its length; nil if it is not a rule.
func modelPattern(q quirk, r modelRule) (*regexp.Regexp, int) {
	path := r.raw
	if path[0] != '/' && path[0] != '*' {
		if q&qSlashAdded == 0 {
			if r.allow {
				return nil, 0
			}
			path = refRules(RFC9309, false, path, 0)[0].pattern
		} else {
			path = "/" + path
		}
	}
	path = modelCanon(q, path, false)
	if q&qTrailingStar != 0 {
		path = strings.TrimRight(path, "*")
	}
	special := strings.ContainsAny(path, "*$")
	body, end := path, ""
	if q&qDollar == 0 && strings.HasSuffix(path, "$") {
		body, end = path[:len(path)-1], "$"
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(body), `\*`, `.*`)
	if q&qDollar != 0 {
		expr = strings.ReplaceAll(expr, `\$`, `$`)
	}
	expr += end
	length := len(path)
	if q&qRegexpLength != 0 && special {
		length = len(expr)
	}
	if q&qUnanchored == 0 || !special {
		expr = "^" + expr
	}
	re := modelPatterns[expr]
	if re == nil {
		if len(modelPatterns) > 1<<16 {
			clear(modelPatterns)
		}
		re = regexp.MustCompile(expr)
		modelPatterns[expr] = re
	}
	return re, length
}
