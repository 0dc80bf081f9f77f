package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/audit"
)

// Verification returns the result of a verification as readable text.
func Verification(v *job.Verification) string {
	var b strings.Builder
	if v.Report != nil {
		b.WriteString(auditText(v.Report))
	}
	if v.Chain != nil {
		b.WriteString(chainText(v.Chain))
	}
	b.WriteString(filesText(v))
	if v.FilesNote != "" {
		fmt.Fprintf(&b, "note: %s\n", v.FilesNote)
	}
	if v.Terms != nil {
		b.WriteString(termsText(v.Terms))
	}
	if v.Matching != nil {
		b.WriteString(matchingText(v.Matching))
	}
	return b.String()
}

// Together returns the result of a check of several jobs as readable text. It names at most 20 violations.
func Together(j *audit.Joint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "together: %s of %s; hosts, addresses and domains that several requested: %d\n", cli.Plural(j.Requests, "request"), cli.Plural(len(j.Parts), "job"), j.Shared)
	for _, v := range j.Violations[:min(20, len(j.Violations))] {
		fmt.Fprintf(&b, "violation: %s\n", cli.Printable(v.String()))
	}
	if more := len(j.Violations) - 20; more > 0 {
		fmt.Fprintf(&b, "violation: %d more\n", more)
	}
	brokenRules(&b, slices.Values(j.Violations), func(v audit.JointViolation) string { return v.Invariant })
	for _, n := range j.Notes {
		fmt.Fprintf(&b, "note: %s\n", cli.Printable(n))
	}
	if len(j.Violations) == 0 {
		b.WriteString("no violation between them\n")
	}
	return b.String()
}

// brokenRules lists the rules that violations break, each once, in words.
func brokenRules[V any](b *strings.Builder, violations iter.Seq[V], invariant func(V) string) {
	said := map[string]bool{}
	for v := range violations {
		if inv := invariant(v); !said[inv] {
			said[inv] = true
			fmt.Fprintln(b, ruleText(inv))
		}
	}
}

// chainText returns the result for the chain of the ledger as readable text.
func chainText(c *job.ChainCheck) string {
	var b strings.Builder
	switch {
	case c.Fault != "":
		fmt.Fprintf(&b, "changed: %s, line %d: %s\n", job.LedgerName, c.Line, cli.Printable(c.Fault))
	case c.Lines > c.Before:
		fmt.Fprintf(&b, "%s of the ledger in one chain", cli.Plural(int(c.Lines-c.Before), "line"))
		if c.Heads > 0 {
			fmt.Fprintf(&b, ", up to line %d under %s", c.Signed, cli.Plural(c.Heads, "signed head"))
		}
		b.WriteByte('\n')
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", cli.Printable(n))
	}
	return b.String()
}

// termsText returns the result for the verdicts about uses as readable text.
func termsText(t *job.TermsCheck) string {
	var b strings.Builder
	for _, d := range t.Differ[:min(20, len(t.Differ))] {
		fmt.Fprintf(&b, "wrong verdict: %s, line %d of %s: %s\n", cli.Printable(d.URL), d.Line, job.VisitsName, cli.Printable(d.Why))
	}
	if more := len(t.Differ) + t.More - 20; more > 0 {
		fmt.Fprintf(&b, "wrong verdict: %d more\n", more)
	}
	if t.Visits > 0 && len(t.Differ) == 0 {
		fmt.Fprintf(&b, "%s about uses computed again from the files that were kept: all the same\n", cli.Plural(t.Visits, "verdict"))
	}
	for _, d := range t.Unread[:min(20, len(t.Unread))] {
		fmt.Fprintf(&b, "not checked: %s, line %d of %s: %s\n", cli.Printable(d.URL), d.Line, job.VisitsName, cli.Printable(d.Why))
	}
	if t.FromVisits > 0 {
		fmt.Fprintf(&b, "note: what header and META elements of %s say was read from %s, because no archive has the answers as they were\n", cli.Plural(t.FromVisits, "page"), job.VisitsName)
	}
	return b.String()
}

// filesText returns the result for the files as readable text.
func filesText(v *job.Verification) string {
	var b strings.Builder
	bytes := int64(0)
	for _, c := range v.Files {
		bytes += c.Bytes
		if c.Damage != "" {
			fmt.Fprintf(&b, "damaged: %s: %s\n", cli.Printable(c.File), c.Damage)
		}
	}
	if n := v.Damaged(); n == 0 && len(v.Files) > 0 {
		fmt.Fprintf(&b, "%s of %s as they were committed\n", cli.Plural(len(v.Files), "file"), cli.Bytes(bytes))
	}
	if v.Sums > 0 && v.Damaged() == 0 {
		fmt.Fprintf(&b, "%s as in %s\n", cli.Plural(v.Sums, "file"), job.SumsName)
	}
	return b.String()
}

// matchingText returns the result for visits and requests as readable text.
func matchingText(m *job.Matching) string {
	if fault := m.Fault(); fault != "" {
		return fmt.Sprintf("damaged: %s and %s do not go together: %s\n", job.VisitsName, job.LedgerName, fault)
	}
	text := cli.Plural(m.Visits, "answered visit") + ", each with its request\n"
	if m.Cached > 0 {
		text += cli.Plural(m.Cached, "visit") + " answered by a cache, without a request: by what they say themselves\n"
	}
	return text
}

// auditText returns the result for the ledger as readable text.
func auditText(rep *audit.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s, by %s", cli.Plural(rep.Requests, "request"), cli.Plural(len(rep.Hosts), "host"), processes(rep.Runs))
	if rep.Unfinished > 0 {
		fmt.Fprintf(&b, ", %d cut off", rep.Unfinished)
	}
	b.WriteByte('\n')
	hosts := cli.NewTable("", "host", ">requests", ">least pause", ">due there")
	for _, h := range rep.Hosts {
		if h.Least < 0 {
			hosts.Row(h.Host, h.Requests, "-", "-")
			continue
		}
		hosts.Row(h.Host, h.Requests, h.Least.Round(time.Millisecond), h.Required.Round(time.Millisecond))
	}
	b.WriteString(hosts.String())
	for _, v := range rep.Violations {
		fmt.Fprintf(&b, "violation: %s\n", cli.Printable(v.String()))
	}
	brokenRules(&b, slices.Values(rep.Violations), func(v audit.Violation) string { return v.Invariant })
	for _, o := range rep.Overrides {
		fmt.Fprintf(&b, "override: %s by other rules than %s/robots.txt: %s\n", cli.Plural(o.Requests, "request"), cli.Printable(o.Origin), cli.Printable(o.Reason))
	}
	for _, n := range rep.Notes {
		fmt.Fprintf(&b, "note: %s\n", cli.Printable(n))
	}
	if len(rep.Violations) == 0 {
		b.WriteString("no violation\n")
	}
	return b.String()
}
