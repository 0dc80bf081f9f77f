package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Config is what the crawler was told, as far as its ledger can be held to it.
type Config struct {
	Product       string         `json:"product"`                // the token robots.txt groups are matched by
	UserAgent     string         `json:"user_agent"`             // of every request
	Contact       string         `json:"contact,omitempty"`      // must stand in UserAgent; "": none was needed
	Delay         float64        `json:"delay_s"`                // seconds per host
	DelayFactor   float64        `json:"delay_factor,omitempty"` // × the last response time, at most MaxDelay
	MaxDelay      float64        `json:"max_delay_s,omitempty"`
	MaxRetryAfter float64        `json:"max_retry_after_s,omitempty"` // longer ones end the host; 0: none does
	MaxBackoff    float64        `json:"max_backoff_s,omitempty"`     // of the pause that failures double; 0: back-off is not checked
	PerDomain     bool           `json:"per_domain,omitempty"`
	OwnHosts      map[string]int `json:"own_hosts,omitempty"` // host:port to requests in flight
	ForbidDenies  bool           `json:"forbidden_denies,omitempty"`
	Dialect       string         `json:"dialect,omitempty"` // "" or RFC9309; by any other, robots.txt's rules are not checked

	// Overrides are the only ones that requests may have gone by. nil: any, which the Report names.
	Overrides []Mandate `json:"overrides,omitempty"`
}

// Mandate is an override of an origin's robots.txt that the crawler was given.
type Mandate struct {
	Origin string    `json:"origin"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: it had no end
}

// Tolerance is what two readings of a wall clock may differ by while it is being adjusted.
const Tolerance = time.Millisecond

// Violation is a request that breaks an invariant.
type Violation struct {
	Invariant string `json:"invariant"` // "P1" … "P12"
	Host      string `json:"host"`      // "" where no host is concerned alone
	Lines     []int  `json:"lines"`     // of the ledger: the request, and the one it conflicts with
	Message   string `json:"message"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (ledger lines %v)", strings.TrimSpace(v.Invariant+" "+v.Host), v.Message, v.Lines)
}

// Host sums one host up.
type Host struct {
	Host     string
	Requests int
	Least    time.Duration // smallest pause between two requests; -1 with fewer than two
	Required time.Duration // that was due at that place
	Slack    time.Duration // the smallest difference between a pause and what was due
}

// MarshalJSON writes the pauses in seconds, and none where there were fewer than two requests.
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

// Override is a reason that requests give for going by other rules than their origin's robots.txt.
type Override struct {
	Origin   string `json:"origin"`
	Reason   string `json:"reason"`
	Requests int    `json:"requests"`
}

// Report is the result of a check.
type Report struct {
	Requests   int         `json:"requests"`
	Unfinished int         `json:"unfinished"` // started and never ended: cut off by the end of the process
	Torn       bool        `json:"torn"`       // the last line is not whole: it was being written when the process ended
	Runs       int         `json:"runs"`
	Hosts      []Host      `json:"hosts"`
	Violations []Violation `json:"violations"` // empty: the ledger shows a polite crawl, but for Overrides and Notes
	Overrides  []Override  `json:"overrides"`  // for a person to judge: their requests are not held to robots.txt
	Notes      []string    `json:"notes"`      // what was not checked, and why
}

// Body gives the robots.txt body with a SHA-256 in hexadecimal, or an error. That it is the one is checked.
type Body func(sha256 string) ([]byte, error)

// Check reads a ledger and holds it against the invariants. Without body, rules of robots.txt are not checked. An error means that the ledger cannot be
// read; violations are in the Report, in the ledger's order. Its time is that of sorting the ledger's
// lines, its memory some hundred octets a request.
func Check(ledger io.Reader, c Config, body Body) (*Report, error) {
	l, err := read(ledger)
	if err != nil {
		return nil, err
	}
	a := &auditor{config: c, body: body, files: map[string]*file{}, changed: map[string]bool{}, rep: &Report{
		Requests: len(l.requests), Torn: l.torn, Runs: l.runs,
		Hosts: []Host{}, Violations: []Violation{}, Overrides: []Override{}, Notes: []string{},
	}}
	a.entries(l)
	a.rules(l) // before the pauses, which depend on it
	a.identity(l.requests)
	a.admission(l.requests)
	for host, rs := range group(l.requests, func(r *request) string { return r.start.Host }) {
		a.host(host, rs)
	}
	for addr, rs := range group(l.requests, a.address) {
		a.shared(addr, rs)
	}
	if c.PerDomain {
		for domain, rs := range group(l.requests, a.domain) {
			a.shared(domain, rs)
		}
	}
	a.notes(l)
	slices.SortStableFunc(a.rep.Violations, func(x, y Violation) int { return x.Lines[0] - y.Lines[0] })
	return a.rep, nil
}

type auditor struct {
	config Config
	body   Body
	files  map[string]*file // read, by SHA-256; nil for one that is not there, or is another
	rep    *Report

	changed map[string]bool // bodies that are others, by SHA-256
}

// notes says what the ledger was not held to.
func (a *auditor) notes(l *ledger) {
	rs := l.requests
	note := func(when bool, text string) {
		if when {
			a.rep.Notes = append(a.rep.Notes, text)
		}
	}
	note(a.body == nil, "P2 was not checked, nor pauses that robots.txt asks for (P5): there are no robots.txt bodies")
	note(!a.plain(), "P2 was not checked, nor pauses that robots.txt asks for (P5): files were read as "+a.config.Dialect+", this check reads RFC 9309 alone")
	note(a.config.MaxBackoff == 0, "back-off after failures (P5) was not checked: its maximum is not given")
	note(a.config.PerDomain, "registrable domains (P6) are those the ledger names")
	note(a.rep.Unfinished > 0, "of requests without an end, pauses are counted from the last line of their process")
	for _, s := range l.steps {
		note(true, fmt.Sprintf("the clock of the process that begins in line %d was %v behind the lines before: pauses (P4 to P7) and the age of robots.txt (P1, P8) were not checked from there to here", s.line, s.behind))
	}
	seen := map[Override]int{}
	for _, r := range rs {
		if r.start.Override != "" {
			key := Override{Origin: originOf(r.start.URL), Reason: r.start.Override}
			if _, ok := seen[key]; !ok {
				seen[key] = len(a.rep.Overrides)
				a.rep.Overrides = append(a.rep.Overrides, key)
			}
			a.rep.Overrides[seen[key]].Requests++
			a.mandated(r, key.Origin)
		}
	}
	note(len(seen) > 0, "P1, P2 and P8 were not checked for requests under an override")
}

// mandated holds a request under an override to those that were given.
func (a *auditor) mandated(r *request, origin string) {
	if a.config.Overrides == nil {
		return
	}
	for _, m := range a.config.Overrides {
		if m.Origin == origin && m.Reason == r.start.Override && (m.Until.IsZero() || r.start.Allowed.Before(m.Until.Add(Tolerance))) {
			return
		}
	}
	a.violation("P2", r, nil, "%s goes by an override (%s) that was not given, or has ended", r.start.URL, r.start.Override)
}

// plain reports whether the crawler read robots.txt as this check does.
func (a *auditor) plain() bool { return a.config.Dialect == "" || a.config.Dialect == "RFC9309" }

func (a *auditor) violation(inv string, r *request, other *request, format string, args ...any) {
	v := Violation{Invariant: inv, Host: r.start.Host, Lines: []int{r.line}, Message: fmt.Sprintf(format, args...)}
	if other != nil {
		v.Lines = append(v.Lines, other.line)
	}
	a.rep.Violations = append(a.rep.Violations, v)
}

// group goes through requests by a key, in the order the keys first appear; "" is left out.
func group(rs []*request, key func(*request) string) func(func(string, []*request) bool) {
	var order []string
	by := map[string][]*request{}
	for _, r := range rs {
		k := key(r)
		if k == "" {
			continue
		}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], r)
	}
	return func(yield func(string, []*request) bool) {
		for _, k := range order {
			if !yield(k, by[k]) {
				return
			}
		}
	}
}
