package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Question configures the reading of robots.txt.
type Question struct {
	Agent   string // the crawler's name in robots.txt
	Dialect robots.Dialect
	Policy  consent.Policy // which statements about uses the crawl obeys
}

// Judgement holds the verdict of robots.txt about one URL. It is a line of "amble explain --robots --json".
type Judgement struct {
	URL         string         `json:"url"`
	Agent       string         `json:"agent"`
	Dialect     robots.Dialect `json:"dialect"`
	Allowed     bool           `json:"allowed"`
	Reason      string         `json:"reason"`
	Rule        string         `json:"rule"`
	Line        int            `json:"line"`
	GroupLine   int            `json:"group_line"`
	CrawlDelay  *float64       `json:"crawl_delay_s"`
	RequestRate *float64       `json:"request_rate_s"` // required seconds per request
	Sitemaps    []string       `json:"sitemaps"`
	Lints       []Lint         `json:"lints"`
	Disagree    []string       `json:"disagree"` // dialects of robots.txt with a different decision
	Explain     string         `json:"explain"`

	Uses     []sink.Statement `json:"uses,omitempty"`     // the file's statements about uses of the page
	Licenses []string         `json:"licenses,omitempty"` // RSL documents that the file names
	Purposes []string         `json:"purposes,omitempty"` // purposes asked about; set if there are Uses or Licenses
	Refused  []Refusal        `json:"refused,omitempty"`  // purposes that the file forbids

	group *robots.Group // the group of the file that applies
}

// Refusal is a purpose for which a page must not be collected although it may be requested, and the reason.
type Refusal struct {
	Purpose string `json:"purpose"`
	Why     string `json:"why"`
}

// ByFile judges u by the robots.txt in a file.
func (q Question) ByFile(u weburl.URL, path string, body []byte) *Judgement {
	src := robots.Source{RobotsURL: path, Status: 200}
	return q.judge(u, robots.Parse(body, robots.WithDialect(q.Dialect), robots.WithOrigin(u.Origin())), src, robots.Obey)
}

// ByAnswer judges u by the known robots.txt of its origin.
func (q Question) ByAnswer(u weburl.URL, info politeness.OriginInfo) *Judgement {
	if !info.Known {
		info.Source.RobotsURL = u.RobotsURL().String()
		return &Judgement{
			URL: u.String(), Agent: q.Agent, Dialect: q.Dialect, Reason: politeness.ReasonRobotsUnreachable,
			Sitemaps: []string{}, Lints: []Lint{}, Disagree: []string{},
			Explain: robots.Explain(robots.Unreachable.Verdict(), info.Source),
		}
	}
	if policy := info.Statuses.ForStatus(info.Source.Status); policy != robots.Obey { // only the status counts, and the body has no effect
		j := q.judge(u, robots.Parse(nil), info.Source, policy)
		j.Lints = lints(info.Lints())
		return j
	}
	return q.judge(u, info.Rules.In(q.Dialect), info.Source, robots.Obey)
}

// judge judges u by the rules. If rules is nil, it judges by the meaning of the response's status.
func (q Question) judge(u weburl.URL, rules *robots.Rules, src robots.Source, policy robots.Policy) *Judgement {
	group := rules.For(q.Agent)
	v := group.Test(u.PathQuery())
	if policy != robots.Obey && v.Reason != robots.RobotsFile {
		v = policy.Verdict()
	}
	j := &Judgement{
		URL: u.String(), Agent: q.Agent, Dialect: q.Dialect, Allowed: v.Allowed, Reason: v.Reason.String(),
		Rule: v.Rule, Line: v.Line, GroupLine: v.GroupLine, Explain: robots.Explain(v, src),
		Sitemaps: weburl.Shown(rules.Sitemaps()), Lints: lints(rules.Lints()), Disagree: []string{}, group: group,
	}
	if d, ok := group.CrawlDelay(); ok {
		s := d.Seconds()
		j.CrawlDelay = &s
	}
	if d, ok := group.RequestRate(); ok {
		s := d.Seconds()
		j.RequestRate = &s
	}
	if policy == robots.Obey {
		q.uses(j, u, group)
	}
	for _, d := range rules.Disagree(q.Agent, u.PathQuery()) {
		j.Disagree = append(j.Disagree, d.String())
	}
	return j
}

// Print writes the judgement. If more is set, another one precedes it, and an empty line separates them.
func (j *Judgement) Print(w io.Writer, asJSON, more bool) error {
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

// text returns the judgement as lines that begin with indent.
func (j *Judgement) text(indent string) string {
	lines := []string{j.Explain}
	if j.CrawlDelay != nil {
		lines = append(lines, fmt.Sprintf("crawl-delay: %gs", *j.CrawlDelay))
	}
	if j.RequestRate != nil {
		lines = append(lines, fmt.Sprintf("request-rate: one in %gs", *j.RequestRate))
	}
	lines = append(lines, j.usesText()...)
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

// Lint is a remark about a robots.txt.
type Lint struct {
	Line     int    `json:"line"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

func lints(ls []robots.Lint) []Lint {
	res := make([]Lint, len(ls))
	for i, l := range ls {
		res[i] = Lint{l.Line, string(l.Code), l.Severity.String(), l.Text}
	}
	return res
}

// String returns the lint as readable text.
func (l Lint) String() string {
	if l.Line == 0 {
		return fmt.Sprintf("%s: %s (%s)", l.Severity, l.Text, l.Code)
	}
	return fmt.Sprintf("line %d: %s: %s (%s)", l.Line, l.Severity, l.Text, l.Code)
}
