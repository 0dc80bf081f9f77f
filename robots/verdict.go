package robots

import "strings"

// Reason is why a verdict is what it is.
type Reason uint8

// The reasons.
const (
	NotJudged  Reason = iota // the zero Verdict: no file was read
	ByRule                   // a rule matched and decided
	NoMatch                  // the group has no rule that matches: allowed
	NoGroup                  // the file has no group for the robot: allowed
	RobotsFile               // the URL is /robots.txt, which may always be fetched (RFC 9309 section 2.2.2)
	NoFile                   // there is no file, by the answer's status: allowed
	NoAnswer                 // whether there is a file is not known yet: deferred, which is not disallowed
	Forbidden                // the file itself may not be read, and [StatusPolicy] takes that for a refusal
)

var reasonNames = [...]string{
	"not_judged", "rule", "no_match", "no_group", "robots_file", "no_file", "no_answer", "forbidden",
}

// String is a stable word for r.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Rule is an Allow or Disallow of a file, where it stands and how it is written.
type Rule struct {
	Allow  bool
	Line   int    // 1-based; 0 in the zero Rule, which is none
	Column int    // of Path in the line, 1-based, in octets
	Text   string // the line, without its comment and the blanks around it
	Path   string // as written; one of several when the line holds more
}

// Verdict is what a group's rules say of one path, and why.
// The zero Verdict names nothing and has judged nothing.
//
// Its strings are parts of the file: a Verdict keeps the whole file in memory. [Verdict.Clone] does
// not.
type Verdict struct {
	Allowed bool
	// Line is the 1-based line of the deciding rule, 0 when no rule matched and the URL is allowed
	// by default.
	Line   int
	Column int    // of the rule's path in that line, 1-based, in octets; 0 without a rule
	Rule   string // that line, without its comment and the blanks around it; "" without a rule
	Path   string // the rule's path as written
	Reason Reason
	// Agent is what the group's User-agent line says, as written: the name by which the robot was
	// meant, or "*"; "" without a group.
	Agent string
	// GroupLine is the line of that User-agent line: the one above the deciding rule, or the
	// group's first when no rule decided. 0 without a group. [Group.Lines] has them all.
	GroupLine int
	// RunnerUp is the rule that also matched and would have decided otherwise: the strongest of the
	// other kind. Its Line is 0 when there is none.
	RunnerUp Rule
	// Dialect is the reading that decided; with [Strictest], that of the first dialect that refuses.
	Dialect Dialect
}

// Clone is v with strings of its own, so that it does not keep the file in memory.
func (v Verdict) Clone() Verdict {
	for _, s := range [...]*string{&v.Rule, &v.Path, &v.Agent, &v.RunnerUp.Text, &v.RunnerUp.Path} {
		*s = strings.Clone(*s)
	}
	return v
}
