// Package audit checks afterwards that a crawl was polite. From the ledger of all requests, the crawler's configuration and the robots.txt
// bodies as they were received, it checks every request against the invariants P1 to P12.
//
// It shares no code with the Gate that admitted the requests, nor with the parser and matcher that the Gate uses, so that a mistake there
// is not repeated here. It reads robots.txt by RFC 9309 in the plainest form, slow and short.
//
// A ledger cannot show that every request on the wire has a line (P10). The transport ensures P10, and only a server can check it.
//
//	report, err := audit.Check(lines, audit.Config{Product: "examplebot", Contact: contact, Delay: 1}, body) // body finds a robots.txt by its hash
//	for _, v := range report.Violations {
//		fmt.Println(v)
//	}
package audit

import (
	"fmt"
	"io"
	"slices"
)

// Check reads a ledger and checks it against the invariants. Without body, the rules of robots.txt are not checked. An error
// means that the ledger cannot be read; violations are in the Report, in the order of the ledger. It takes the time of
// sorting the ledger's lines, and a few hundred bytes of memory per request.
func Check(ledger io.Reader, c Config, body Body) (*Report, error) {
	l, err := read(ledger, processesOf(&c))
	if err != nil {
		return nil, err
	}
	a := &auditor{config: c, processes: processesOf(&c), body: body, files: map[string]*file{}, changed: map[string]bool{}, rep: &Report{
		Requests: len(l.requests), Torn: l.torn, Runs: l.runs,
		Hosts: []Host{}, Violations: []Violation{}, Overrides: []Override{}, Notes: []string{},
	}}
	a.entries(l)
	a.rules(l) // first, because the required pauses depend on Crawl-delay
	a.identity(l.requests)
	a.admission(l.requests)
	a.optOut(l.requests)
	a.resources(l.requests)
	a.hours(l.requests)
	a.rate(l.requests)
	a.handovers(l.requests)
	led := a.allLed(l.requests)
	for host, rs := range group(l.requests, func(r *request) string { return r.start.Host }) {
		a.host(host, rs, led[host])
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
	config    Config
	processes processes
	body      Body
	files     map[string]*file // files that were read, by SHA-256; nil if one is missing or has another hash
	rep       *Report

	changed map[string]bool // bodies whose hash is wrong, keyed by the SHA-256 in the ledger
}

// plain reports whether the crawler read robots.txt as this check does.
func (a *auditor) plain() bool { return a.config.Dialect == "" || a.config.Dialect == "RFC9309" }

// notes adds the skipped checks to the report.
func (a *auditor) notes(l *ledger) {
	rs := l.requests
	note := func(when bool, text string) {
		if when {
			a.rep.Notes = append(a.rep.Notes, text)
		}
	}
	note(a.body == nil, "P2 was not checked, nor the delays that robots.txt requests (P5): there are no robots.txt bodies")
	note(!a.plain(), "P2 was not checked, nor the delays that robots.txt requests (P5): files were read as "+a.config.Dialect+", this check reads RFC 9309 only")
	note(a.config.MaxBackoff == 0, "back-off after failures (P5) was not checked: its maximum is not given")
	note(a.config.PerDomain, "registrable domains (P6) are those that the ledger names")
	note(a.rep.Unproven > 0, fmt.Sprintf("%d times a request of one process began after one of another earlier than is due, but by less than their clocks may have differed: whether the pause was kept is not proven", a.rep.Unproven))
	note(a.rep.Unknown > 0, fmt.Sprintf("%d times a pause that a host requires could not be known: the process that heard the answer was lost before it could store it", a.rep.Unknown))
	note(a.rep.Unfinished > 0, "after requests without an end, pauses are counted from the last line of their process")
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

// mandated checks that the override used by a request is in the configuration.
func (a *auditor) mandated(r *request, origin string) {
	if a.config.Overrides == nil {
		return
	}
	for _, m := range a.config.Overrides {
		if m.Origin == origin && m.Reason == r.start.Override && (m.Until.IsZero() || r.start.Allowed.Before(m.Until.Add(Tolerance))) {
			return
		}
	}
	a.violation("P2", r, nil, "%s was let through by an override (%s) that was not given, or had ended", r.start.URL, r.start.Override)
}
