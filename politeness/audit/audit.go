package audit

import (
	"fmt"
	"io"
	"slices"
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
	PerDomain     bool           `json:"per_domain,omitempty"`
	OwnHosts      map[string]int `json:"own_hosts,omitempty"` // host:port to requests in flight
	ForbidDenies  bool           `json:"forbidden_denies,omitempty"`
}

// Tolerance is what two readings of a wall clock may differ by while it is being adjusted.
const Tolerance = time.Millisecond

// Violation is a request that breaks an invariant.
type Violation struct {
	Invariant string // "P1" … "P12"
	Host      string
	Lines     []int // of the ledger: the request, and the one it conflicts with
	Message   string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s (ledger lines %v)", v.Invariant, v.Host, v.Message, v.Lines)
}

// Host sums one host up.
type Host struct {
	Host     string
	Requests int
	Least    time.Duration // smallest pause between two requests; -1 with fewer than two
	Required time.Duration // that was due at that place
	Slack    time.Duration // the smallest difference between a pause and what was due
}

// Report is the result of a check.
type Report struct {
	Requests   int
	Unfinished int // started and never ended: cut off by the end of the process
	Torn       bool
	Runs       int
	Hosts      []Host
	Violations []Violation
}

// Body gives the robots.txt body with a SHA-256 in hexadecimal, or an error.
type Body func(sha256 string) ([]byte, error)

// Check reads a ledger and holds it against the invariants. An error means that the ledger cannot be
// read; violations are in the Report, in the ledger's order.
func Check(ledger io.Reader, c Config, body Body) (*Report, error) {
	l, err := read(ledger)
	if err != nil {
		return nil, err
	}
	a := &auditor{config: c, body: body, rep: &Report{Requests: len(l.requests), Torn: l.torn, Runs: l.runs}}
	for _, r := range l.requests {
		if r.end == nil {
			a.rep.Unfinished++
		}
	}
	a.rules(l.requests) // first: pauses depend on it
	a.identity(l.requests)
	a.admission(l.requests)
	for host, rs := range group(l.requests, func(r *request) string { return r.start.Host }) {
		a.host(host, rs)
	}
	for addr, rs := range group(l.requests, a.address) {
		a.shared(addr, rs, "P6")
	}
	slices.SortStableFunc(a.rep.Violations, func(x, y Violation) int { return x.Lines[0] - y.Lines[0] })
	return a.rep, nil
}

type auditor struct {
	config Config
	body   Body
	rep    *Report
}

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
