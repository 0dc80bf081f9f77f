package robots

import "strings"

// Reason is the reason of a verdict.
type Reason uint8

// The reasons.
const (
	NotJudged  Reason = iota // the zero Verdict: no file was read
	ByRule                   // a rule matched and decided
	NoMatch                  // the group has no rule that matches: allowed
	NoGroup                  // the file has no group for the robot: allowed
	RobotsFile               // the URL is /robots.txt, which may always be fetched (RFC 9309 section 2.2.2)
	NoFile                   // there is no file, by the response's status: allowed
	NoAnswer                 // whether there is a file is not known yet: deferred, which is not disallowed
	Forbidden                // the file itself may not be read, which [StatusPolicy] treats as a refusal
)

var reasonNames = [...]string{
	"not_judged", "rule", "no_match", "no_group", "robots_file", "no_file", "no_answer", "forbidden",
}

// String returns the stable name of r.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Rule is an Allow or Disallow of a file, with its place and its text.
type Rule struct {
	Allow  bool
	Line   int    // 1-based; 0 in the zero Rule, which means no rule
	Column int    // of Path in the line, 1-based, in bytes
	Text   string // the line, without its comment and the spaces around it
	Path   string // as written; one of several when the line has more
}

// Verdict is the judgement of a group's rules on one path, with its reason. The zero Verdict means that nothing was
// judged.
//
// Its strings are parts of the file: a Verdict keeps the whole file in memory. [Verdict.Clone] does not.
type Verdict struct {
	Allowed bool
	// Line is the 1-based line of the deciding rule, 0 when no rule matched and the URL is allowed
	// by default.
	Line   int
	Column int    // of the rule's path in that line, 1-based, in bytes; 0 without a rule
	Rule   string // that line, without its comment and the spaces around it; "" without a rule
	Path   string // the rule's path as written
	Reason Reason
	// Agent is the value of the group's User-agent line, as written: a name of the robot, or "*"; "" without a group.
	Agent string
	// GroupLine is the line of that User-agent line: the one above the deciding rule, or the
	// group's first when no rule decided. 0 without a group. [Group.Lines] has them all.
	GroupLine int
	// RunnerUp is the rule that also matched and would have decided otherwise: the strongest of the other kind. Its Line is 0
	// when there is none.
	RunnerUp Rule
	// Dialect is the dialect that decided; with [Strictest], the first dialect that refuses.
	Dialect Dialect
}

// Clone returns a copy of v that does not keep the file in memory.
func (v Verdict) Clone() Verdict {
	for _, s := range [...]*string{&v.Rule, &v.Path, &v.Agent, &v.RunnerUp.Text, &v.RunnerUp.Path} {
		*s = strings.Clone(*s)
	}
	return v
}
