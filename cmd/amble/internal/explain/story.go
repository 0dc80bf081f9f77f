package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// storyText writes the story as readable text.
func storyText(s *job.Story, line func(name, value string)) {
	line("job", fmt.Sprintf("%s: %s", s.Dir, s.State))
	line("", s.Note)
	name := "found"
	for i := range s.Chain {
		line(name, foundText(&s.Chain[i]))
		name = ""
	}
	name = "requests"
	for i := range s.Requests {
		line(name, requestText(&s.Requests[i]))
		name = ""
	}
	name = "loads"
	for i := range s.Loads {
		line(name, s.Loads[i].Start.URL+": "+requestText(&s.Loads[i]))
		name = ""
	}
	if s.Visit != nil && s.Visit.Rendered != nil {
		line("rendered", renderedText(s.Visit.Rendered))
	}
	if s.Static != "" {
		line("rendered", "no: "+s.Static)
	}
	if s.Visit != nil && s.Visit.Terms != nil {
		termsText(s.Visit.Terms, line)
	}
	if s.Visit != nil {
		line("result", resultText(s.Visit, s.Line))
	}
}

func foundText(f *job.Found) string {
	text := fmt.Sprintf("%s (%s, depth %d", f.URL, f.How, f.Depth)
	if f.Outcome != "" {
		text += ", " + f.Outcome
	}
	if f.Line > 0 {
		text += fmt.Sprintf(", line %d of %s", f.Line, job.VisitsName)
	}
	return text + ")"
}

func requestText(r *job.Request) string {
	e := &r.Start
	if e.Event == ledger.Copied {
		return copiedText(r)
	}
	text := fmt.Sprintf("%s %s", begun(r).Format(time.RFC3339Nano), e.Purpose)
	if e.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", e.Attempt+1)
	}
	var waits []string
	for _, c := range e.Clauses {
		waits = append(waits, clauseText(c))
	}
	if len(waits) > 0 {
		text += ", waited for " + strings.Join(waits, " and ")
	}
	if e.Override != "" {
		text += ", by other rules than robots.txt (" + e.Override + ")"
	}
	text += ": " + endText(r, "the")
	if r.End.Event != "" && r.End.Err == "" {
		text += fmt.Sprintf(", after %s", r.End.Ended.Sub(e.Written).Round(time.Microsecond))
	}
	return fmt.Sprintf("%s (line %d of %s)", text, r.Line, job.LedgerName)
}

// copiedText describes the other crawl whose robots.txt was used, and the response that it got.
func copiedText(r *job.Request) string {
	e := &r.End
	text := e.Ended.Format(time.RFC3339Nano) + " robots, requested by " + otherCrawl(e.By) + ": "
	switch {
	case e.Err != "":
		text += e.Err
	default:
		text += fmt.Sprintf("status %d", e.Status)
	}
	if e.Wall != "" {
		text += ", a challenge of " + e.Wall
	}
	return fmt.Sprintf("%s, valid until %s (line %d of %s)", text, e.Expires.Format(time.RFC3339), r.Line, job.LedgerName)
}

// otherCrawl describes a crawl that shares hosts with this one.
func otherCrawl(name string) string {
	if name == "" {
		return "another of your crawls"
	}
	return "another of your crawls, job " + cli.Printable(name)
}

// begun returns the time at which a request was made or, if it was not sent, given up.
func begun(r *job.Request) time.Time {
	if r.Start.Written.IsZero() {
		return r.End.Ended
	}
	return r.Start.Written
}

// endText describes how a request ended. whose names the process, in case the request was cut off.
func endText(r *job.Request, whose string) string {
	switch {
	case r.End.Event == "":
		return "cut off by the end of " + whose + " process"
	case r.End.Err != "":
		return r.End.Err
	}
	text := fmt.Sprintf("status %d, %s", r.End.Status, cli.Bytes(r.End.Bytes))
	if r.End.Wall != "" {
		text += ", a challenge of " + r.End.Wall
	}
	return text
}

func clauseText(c ledger.Clause) string {
	text := c.Name
	if c.Name == ledger.ClauseShared {
		if text = otherCrawl(c.By); c.By != "" {
			text += ","
		}
	} else if c.Delay > 0 {
		text += " " + time.Duration(c.Delay).String()
	}
	if c.Name != ledger.ClauseShared && c.By != "" {
		text += " with " + otherCrawl(c.By)
	}
	if !c.Until.IsZero() {
		text += " until " + c.Until.Format("15:04:05.000")
	}
	return text
}

// renderedText describes why a page was rendered, and the result of rendering.
func renderedText(r *sink.Rendered) string {
	refused := map[string]int{}
	answered := 0
	for i := range r.Requests {
		switch q := &r.Requests[i]; {
		case q.Refused != "":
			refused[q.Refused]++
		case q.Status > 0:
			answered++
		}
	}
	var text strings.Builder
	if r.Rounds == 0 {
		return fmt.Sprintf("no, in spite of %s: %s", r.Why, cmp.Or(r.Cut, "no round"))
	}
	fmt.Fprintf(&text, "because of %s, in %s", r.Why, cli.Plural(r.Rounds, "round"))
	if r.Bytes == 0 {
		fmt.Fprintf(&text, ", without a document (%s): the page counts as it was fetched", r.Cut)
	} else if r.Cut != "" {
		fmt.Fprintf(&text, ", cut short (%s)", r.Cut)
	}
	fmt.Fprintf(&text, "; it wanted %s, %d answered", cli.Plural(len(r.Requests)+r.Dropped, "URL"), answered)
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(&text, ", %d refused (%s)", refused[reason], reason)
	}
	return text.String()
}

func resultText(v *sink.Record, line int) string {
	told := slices.DeleteFunc([]string{v.Outcome, v.Reason, v.Rule, v.Detail, v.Error}, func(s string) bool { return s == "" })
	text := strings.Join(told, ", ")
	if v.Status > 0 {
		text += fmt.Sprintf(", status %d", v.Status)
	}
	if v.Type != "" {
		text += fmt.Sprintf(", %s of %s", v.Type, cli.Bytes(int64(v.Bytes)))
	}
	if v.Final != "" {
		text += ", leads to " + v.Final
	}
	if v.Links != nil {
		text += fmt.Sprintf(", %s of which %d were followed", cli.Plural(v.Links.Found, "link"), v.Links.Follow)
	}
	if v.WARC != nil {
		text += fmt.Sprintf(", archived in %s at %d", v.WARC.File, v.WARC.Offset)
	}
	return fmt.Sprintf("%s (line %d of %s)", text, line, job.VisitsName)
}
