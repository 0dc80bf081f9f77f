package robots

import (
	"strings"
	"time"
)

// Group holds the rules of one file for one robot. It is immutable and safe for concurrent use.
// The zero Group refuses nothing.
type Group struct {
	file  *Rules
	spans []span
	rules []rule
	index index
	pace  pace
	usage []usageRule
	all   []*Group // set with Strictest: the robot's groups in all other dialects
}

// newGroup finds a robot's group as the file's dialect defines it.
func newGroup(r *Rules, agent string) *Group {
	g := &Group{file: r, spans: spans(r, newRobot(agent))}
	g.rules = make([]rule, 0, g.countRules())
	g.readEarlySignals()
	for _, s := range g.spans {
		for i := s.from; i < s.to; i++ {
			switch l := r.lines[i]; l.kind {
			case allow, disallow:
				g.rules = appendRules(g.rules, r, i, s.head)
			case crawlDelay, requestRate, visitTime:
				if i > s.head { // lines before the User-agent line belong to the robots named above it
					g.pace.read(l.kind, r.value(l))
				}
			case contentUsage, contentSignal:
				g.readUsage(l)
			}
		}
	}
	g.index = newIndex(g.rules, r.dialect)
	return g
}

// countRules counts the lines of the group that are rules.
func (g *Group) countRules() (n int) {
	for _, s := range g.spans {
		for _, l := range g.file.lines[s.from:s.to] {
			if l.kind == allow || l.kind == disallow {
				n++
			}
		}
	}
	return n
}

// strictest returns a robot's groups in every dialect.
func strictest(r *Rules, agent string) *Group {
	g := &Group{file: r}
	for d := range Strictest {
		sub := newGroup(r.In(d), agent)
		g.all = append(g.all, sub)
		g.pace.merge(sub.pace)
	}
	return g
}

// value returns the line's value.
func (r *Rules) value(l line) string { return r.body[l.value:l.end] }

// Lines returns the 1-based numbers of the User-agent lines that name the robot, or "*", one for each record that was merged into the
// group. It is empty if the group is.
func (g *Group) Lines() []int {
	if len(g.all) > 0 {
		return g.all[0].Lines()
	}
	out := make([]int, len(g.spans))
	for i, s := range g.spans {
		out[i] = int(g.file.lines[s.head].num)
	}
	return out
}

// Test returns the verdict on a path with its query, in the form of [net/url.URL.RequestURI] or weburl.URL.PathQuery. It ignores a
// fragment. It does not allocate if the path is in the usual form of URLs. Its time grows with the length of the path and with the number
// of rules with "*" or "$" whose literal beginning matches; the number of literal rules hardly matters.
func (g *Group) Test(pathQuery string) Verdict {
	for _, sub := range g.all {
		if v := sub.Test(pathQuery); !v.Allowed {
			return v
		}
	}
	switch {
	case len(g.all) > 0:
		return g.all[0].Test(pathQuery)
	case g.file == nil:
		return Verdict{Allowed: true, Reason: NoGroup}
	}
	path := g.file.dialect.canonURL(pathQuery)
	if path == "/robots.txt" {
		return Verdict{Allowed: true, Reason: RobotsFile, Dialect: g.file.dialect}
	}
	return g.verdict(g.index.find(g.rules, path))
}

// canonURL returns the form of a URL's path and query in which it is compared with rules.
func (d Dialect) canonURL(s string) string {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	if s == "" || s[0] != '/' {
		s = "/" + s
	}
	if d == Draft1997 {
		return canonDecoded(s)
	}
	return canonPath(s)
}

// verdict returns the verdict given the strongest matching Allow rule and the strongest matching Disallow rule.
func (g *Group) verdict(allow, disallow int32) Verdict {
	v := Verdict{Allowed: true, Dialect: g.file.dialect}
	switch {
	case allow == none && disallow == none:
		g.byDefault(&v)
	case disallow == none || allow != none && g.allowWins(allow, disallow):
		g.byRule(&v, allow, disallow)
	default:
		g.byRule(&v, disallow, allow)
	}
	return v
}

// allowWins implements RFC 9309 section 2.2.2: the rule with "the most octets" wins, or Allow if both are equally long. In the 1997
// draft, the first rule wins.
func (g *Group) allowWins(allow, disallow int32) bool {
	if g.file.dialect.firstWins() {
		return allow < disallow
	}
	return g.rules[allow].length >= g.rules[disallow].length
}

func (g *Group) byDefault(v *Verdict) {
	if len(g.spans) == 0 {
		v.Reason = NoGroup
		return
	}
	v.Reason = NoMatch
	g.head(v, g.spans[0].head)
}

func (g *Group) byRule(v *Verdict, won, lost int32) {
	r := &g.rules[won]
	l := &g.file.lines[r.line]
	v.Allowed = r.allow
	v.Reason = ByRule
	v.Line = int(l.num)
	v.Column = int(r.from-l.start) + 1
	v.Rule = g.file.body[l.text:l.end]
	v.Path = g.file.body[r.from:r.to]
	g.head(v, int(r.head))
	if lost != none {
		v.RunnerUp = g.rule(lost)
	}
}

// head sets the fields of v about the User-agent line.
func (g *Group) head(v *Verdict, i int) {
	l := &g.file.lines[i]
	v.Agent = g.file.body[l.value:l.end]
	v.GroupLine = int(l.num)
}

// rule returns the i-th rule as a Rule.
func (g *Group) rule(i int32) Rule {
	r := &g.rules[i]
	l := &g.file.lines[r.line]
	return Rule{
		Allow:  r.allow,
		Line:   int(l.num),
		Column: int(r.from-l.start) + 1,
		Text:   g.file.body[l.text:l.end],
		Path:   g.file.body[r.from:r.to],
	}
}

// Rules returns the group's rules in the order of the file. In a dialect without Allow there are no Allow rules. With
// [Strictest], the rules are those of the default dialect.
func (g *Group) Rules() []Rule {
	if len(g.all) > 0 {
		return g.all[0].Rules()
	}
	out := make([]Rule, len(g.rules))
	for i := range g.rules {
		out[i] = g.rule(int32(i))
	}
	return out
}

// CrawlDelay returns the group's Crawl-delay, the largest if there are several; ok is false if there is none. A Crawl-delay between two
// User-agent lines belongs to the robots named before it: unlike rules (RFC 9309 section 2.2.1), it does not apply to robots named after
// it. The same is true of Request-rate and Visit-time. d is at least 0. A number too large for a Duration gives the largest Duration,
// about 292 years: the caller decides how to treat a huge delay.
func (g *Group) CrawlDelay() (d time.Duration, ok bool) { return g.pace.delay, g.pace.hasDelay }

// RequestRate returns the group's Request-rate as the time per request. If there are several, it returns the longest, whatever their
// hours of the day. ok is false if there is none.
func (g *Group) RequestRate() (d time.Duration, ok bool) {
	for _, r := range g.pace.rates {
		d = max(d, r.Interval())
	}
	return d, len(g.pace.rates) > 0
}

// RequestRates returns the group's Request-rate lines, in order, with their hours.
func (g *Group) RequestRates() []Rate { return g.pace.rates }

// VisitTimes returns the hours of the day to which the group restricts visits, one for each Visit-time line. It is empty if
// there is none: visits are allowed at any time.
func (g *Group) VisitTimes() []Window { return g.pace.visits }
