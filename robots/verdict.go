package robots

import "strings"

// Reason is the reason for a verdict.
type Reason uint8

// The reasons of verdicts.
const (
	NotJudged  Reason = iota // the zero Verdict: nothing was decided
	ByRule                   // a rule matched and decided
	NoMatch                  // the group has no rule that matches: allowed
	NoGroup                  // the file has no group for the robot: allowed
	RobotsFile               // the URL is /robots.txt, which may always be fetched (RFC 9309 section 2.2.2)
	NoFile                   // there is no file, by the response's status: allowed
	NoAnswer                 // unknown whether the file exists: the URL is not forbidden, but must wait
	Forbidden                // the file itself is forbidden, which [StatusPolicy] may treat as a refusal
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

// Rule is an Allow or Disallow rule of a file, with its place and text.
type Rule struct {
	Allow  bool
	Line   int    // 1-based; 0 in the zero Rule, which stands for no rule
	Column int    // position of Path in the line: 1-based, in bytes
	Text   string // the line, without comment and surrounding spaces
	Path   string // the path as written; the line may have several
}

// Verdict is the decision of a group's rules about one path, with its reason. The zero Verdict means that nothing was decided.
//
// Its strings are parts of the file, so a Verdict keeps the whole file in memory. The result of [Verdict.Clone] does not.
type Verdict struct {
	Allowed bool
	// Line is the 1-based line of the deciding rule. It is 0 if no rule matched, so that the URL is allowed by default.
	Line   int
	Column int    // position of the rule's path in the line: 1-based, in bytes; 0 without a rule
	Rule   string // the line, without comment and surrounding spaces; "" without a rule
	Path   string // the rule's path as written
	Reason Reason
	// Agent is the value of the group's User-agent line, as written: a name of the robot, or "*". It is "" without a group.
	Agent string
	// GroupLine is the line number of the User-agent line above the deciding rule or, if no rule decided, of the first one of the
	// group. It is 0 without a group. [Group.Lines] returns all of them.
	GroupLine int
	// RunnerUp is the rule that also matched and would have decided otherwise: the strongest matching rule of the other kind. Its Line is
	// 0 if there is none.
	RunnerUp Rule
	// Dialect is the dialect that decided. With [Strictest], it is the first dialect that refuses the URL.
	Dialect Dialect
}

// Clone returns a copy of v that shares no memory with the file.
func (v Verdict) Clone() Verdict {
	for _, s := range [...]*string{&v.Rule, &v.Path, &v.Agent, &v.RunnerUp.Text, &v.RunnerUp.Path} {
		*s = strings.Clone(*s)
	}
	return v
}
