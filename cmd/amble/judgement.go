package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/robots"
)

// judgement is what robots.txt says about one URL: a line of "amble robots --json".
type judgement struct {
	URL         string         `json:"url"`
	Agent       string         `json:"agent"`
	Dialect     robots.Dialect `json:"dialect"`
	Allowed     bool           `json:"allowed"`
	Reason      string         `json:"reason"`
	Rule        string         `json:"rule"`
	Line        int            `json:"line"`
	GroupLine   int            `json:"group_line"`
	CrawlDelay  *float64       `json:"crawl_delay_s"`
	RequestRate *float64       `json:"request_rate_s"` // seconds per request
	Sitemaps    []string       `json:"sitemaps"`
	Lints       []lint         `json:"lints"`
	Disagree    []string       `json:"disagree"` // dialects with another decision
	Explain     string         `json:"explain"`

	group *robots.Group // the group that applies
}

// lint is a remark about a robots.txt.
type lint struct {
	Line     int    `json:"line"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

func lints(ls []robots.Lint) []lint {
	res := make([]lint, len(ls))
	for i, l := range ls {
		res[i] = lint{l.Line, string(l.Code), l.Severity.String(), l.Text}
	}
	return res
}

// String returns the lint as text for users.
func (l lint) String() string {
	if l.Line == 0 {
		return fmt.Sprintf("%s: %s (%s)", l.Severity, l.Text, l.Code)
	}
	return fmt.Sprintf("line %d: %s: %s (%s)", l.Line, l.Severity, l.Text, l.Code)
}

// print writes the judgement, preceded by an empty line unless it is the first.
func (j *judgement) print(w io.Writer, asJSON, more bool) error {
	if asJSON {
		return cli.PrintJSON(w, j)
	}
	var b strings.Builder
	if more {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s\n%s", j.URL, j.text("  "))
	_, err := io.WriteString(w, b.String())
	return err
}

// text returns the judgement in lines that begin with indent.
func (j *judgement) text(indent string) string {
	lines := []string{j.Explain}
	if j.CrawlDelay != nil {
		lines = append(lines, fmt.Sprintf("crawl-delay: %gs", *j.CrawlDelay))
	}
	if j.RequestRate != nil {
		lines = append(lines, fmt.Sprintf("request-rate: one in %gs", *j.RequestRate))
	}
	for _, s := range j.Sitemaps {
		lines = append(lines, "sitemap: "+s)
	}
	for _, l := range j.Lints {
		lines = append(lines, "lint: "+l.String())
	}
	if len(j.Disagree) > 0 {
		lines = append(lines, "decided otherwise by: "+strings.Join(j.Disagree, ", "))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s%s\n", indent, cli.Printable(l))
	}
	return b.String()
}
