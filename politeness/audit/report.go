package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Report is the result of a check.
type Report struct {
	Requests   int  `json:"requests"`
	Unfinished int  `json:"unfinished"` // started and never ended: cut off by the end of the process
	Torn       bool `json:"torn"`       // the last line is incomplete: it was being written when the process ended
	Runs       int  `json:"runs"`
	// Unproven counts requests that may have begun too early. They were early by less than the possible difference between
	// the clocks of two processes.
	Unproven int `json:"unproven,omitempty"`
	// Unknown counts requests that began inside a pause that only the previous process knew: it received the response that
	// requests the pause, and stored nothing after that.
	Unknown    int         `json:"unknown,omitempty"`
	Hosts      []Host      `json:"hosts"`
	Violations []Violation `json:"violations"` // empty: the ledger shows a polite crawl, except for Overrides and Notes
	Overrides  []Override  `json:"overrides"`  // requests under an override are not checked against robots.txt: a person must judge them
	Notes      []string    `json:"notes"`      // skipped checks, with the reason
}

// Violation is a request that breaks an invariant.
type Violation struct {
	Invariant string `json:"invariant"` // "P1" … "P12", "hours" or "rate"
	Host      string `json:"host"`      // "" if the violation does not concern a single host
	Lines     []int  `json:"lines"`     // line numbers in the ledger: of the request, and of the request with which it conflicts
	Message   string `json:"message"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (ledger lines %v)", strings.TrimSpace(v.Invariant+" "+v.Host), v.Message, v.Lines)
}

// Rule returns the text of an invariant with a code as in [Violation], or "" for an unknown code.
func Rule(invariant string) string { return rules[invariant] }

// rules are the texts of the invariants. docs/glossary.md has the same texts.
var rules = map[string]string{
	"P1":    "robots.txt is requested first, and again when its copy is too old",
	"P2":    "nothing is requested that robots.txt or an opt-out list forbids",
	"P3":    "one request at a time to a host",
	"P4":    "the operator's delay between two requests to a host",
	"P5":    "a longer delay where the site asks for it, is slow or in trouble",
	"P6":    "the same pauses for all hosts of an address or a domain together",
	"P7":    "Retry-After and rate limits of a site are waited for",
	"P8":    "no page is requested while robots.txt cannot be fetched, which is tried again with growing pauses",
	"P9":    "what a crawl knows of a host outlives a restart",
	"P10":   "every request has its lines in the ledger",
	"P11":   "every request names the crawler and a contact",
	"P12":   "no two processes request from a host at once",
	"hours": "nothing is requested outside of the hours of a crawl",
	"rate":  "no more requests a second in all than the crawl allows itself",
}

// Host is the summary of one host.
type Host struct {
	Host     string
	Requests int
	Least    time.Duration // smallest pause between two requests; -1 if there were fewer than two
	Required time.Duration // required pause between the two requests with the smallest pause
	Slack    time.Duration // smallest margin between a pause and the required one
}

// MarshalJSON writes the pauses in seconds. It omits them if there were fewer than two requests.
func (h Host) MarshalJSON() ([]byte, error) {
	out := struct {
		Host     string   `json:"host"`
		Requests int      `json:"requests"`
		Least    *float64 `json:"least_s,omitempty"`
		Required *float64 `json:"required_s,omitempty"`
		Slack    *float64 `json:"slack_s,omitempty"`
	}{Host: h.Host, Requests: h.Requests}
	if h.Least >= 0 {
		least, required, slack := h.Least.Seconds(), h.Required.Seconds(), h.Slack.Seconds()
		out.Least, out.Required, out.Slack = &least, &required, &slack
	}
	return json.Marshal(out)
}

// Override is a reason for which requests were made under rules other than their origin's robots.txt.
type Override struct {
	Origin   string `json:"origin"`
	Reason   string `json:"reason"`
	Requests int    `json:"requests"`
}

func (a *auditor) violation(inv string, r *request, other *request, format string, args ...any) {
	v := Violation{Invariant: inv, Host: r.start.Host, Lines: []int{r.line}, Message: fmt.Sprintf(format, args...)}
	if other != nil {
		v.Lines = append(v.Lines, other.line)
	}
	a.rep.Violations = append(a.rep.Violations, v)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
