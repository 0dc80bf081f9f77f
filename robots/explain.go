package robots

import (
	"strconv"
	"strings"
	"time"
)

// Source describes where the rules behind a verdict come from.
type Source struct {
	RobotsURL string    // first URL that was requested: the origin's /robots.txt
	Status    int       // status of the last response; 0 if there was none
	Wall      string    // name of the bot wall whose challenge the last response is; "" if the response is no challenge
	FetchedAt time.Time // when the response or the failure was recorded
	Redirects []string  // targets of redirects, in order
	SHA256    [32]byte  // SHA-256 of the body as received; zero if there is no body
	Stale     bool      // the rules are from an old copy, because no newer one could be fetched
}

// Explain returns one sentence about a verdict: the decision, the line and file that decided, and the line that would have decided
// otherwise.
//
//	refused: line 12 "Disallow: /*?sid=" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9
//
// For a zero Verdict, the sentence explains the meaning of the Source's status. The sentence is one line of printable text, whatever the
// file contains; long lines are cut.
func Explain(v Verdict, s Source) string {
	if v.Reason == NotJudged {
		v = ForStatus(s.Status).Verdict()
	}
	var b strings.Builder
	switch v.Reason {
	case ByRule:
		explainRule(&b, v, s)
	case NoMatch:
		b.WriteString("allowed: no rule matches in " + s.String())
		explainGroup(&b, v)
	default:
		b.WriteString(explanation(v.Reason, s.String()))
		return b.String()
	}
	if v.Dialect != RFC9309 {
		b.WriteString(", read as " + v.Dialect.String())
	}
	return b.String()
}

// explanation returns the sentence for a verdict that no group's rule decided.
func explanation(r Reason, source string) string {
	switch r {
	case NoGroup:
		return "allowed: no group for this robot in " + source
	case RobotsFile:
		return "allowed: robots.txt itself may always be fetched"
	case NoFile:
		return "allowed: no rules, because of " + source
	case NoAnswer:
		return "deferred: nothing may be fetched for now, because of " + source
	case Forbidden:
		return "refused: everything, because of " + source
	}
	return "not judged: " + source
}

func explainRule(b *strings.Builder, v Verdict, s Source) {
	word := "refused: "
	if v.Allowed {
		word = "allowed: "
	}
	b.WriteString(word)
	writeLine(b, v.Line, v.Rule)
	b.WriteString(" of " + s.String())
	explainGroup(b, v)
	if v.RunnerUp.Line > 0 {
		b.WriteString(", over ")
		writeLine(b, v.RunnerUp.Line, v.RunnerUp.Text)
	}
}

func explainGroup(b *strings.Builder, v Verdict) {
	b.WriteString(", group " + quote(v.Agent) + " line " + strconv.Itoa(v.GroupLine))
}

func writeLine(b *strings.Builder, line int, text string) {
	b.WriteString("line " + strconv.Itoa(line) + " " + quote(text))
}

// longestQuote limits the bytes of a line that a sentence quotes.
const longestQuote = 200

// quote returns s in quotation marks, without unprintable characters.
func quote(s string) string {
	if len(s) > longestQuote {
		s = s[:longestQuote] + "…"
	}
	return strconv.Quote(s)
}

// String returns the URL and the known facts about its response: "URL (200, fetched TIME)".
func (s Source) String() string {
	var b strings.Builder
	if s.RobotsURL == "" {
		b.WriteString("robots.txt")
	} else {
		b.WriteString(s.RobotsURL)
	}
	var notes []string
	if s.Status != 0 {
		notes = append(notes, strconv.Itoa(s.Status))
	} else if !s.FetchedAt.IsZero() {
		notes = append(notes, "no answer")
	}
	if s.Wall != "" {
		notes = append(notes, "a challenge of "+s.Wall)
	}
	if !s.FetchedAt.IsZero() {
		notes = append(notes, s.when())
	}
	if n := len(s.Redirects); n > 0 {
		notes = append(notes, "redirected to "+s.Redirects[n-1])
	}
	if s.Stale {
		notes = append(notes, "stale")
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

func (s Source) when() string {
	verb := "fetched "
	if s.Status == 0 {
		verb = "tried "
	}
	return verb + s.FetchedAt.UTC().Format(time.RFC3339)
}
