package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// entries checks the lines themselves (P10): each permit is used once, every permit has a line, and the
// host, address, domain and times of a request are consistent.
func (a *auditor) entries(l *ledger) {
	for _, r := range l.repeated {
		a.violation("P10", r, nil, "permit %s is used twice", r.run)
	}
	for _, g := range l.gaps() {
		a.rep.Violations = append(a.rep.Violations, Violation{
			Invariant: "P10", Lines: []int{g.line}, Message: fmt.Sprintf("permits %d to %d of %s have no line, although the run says that all up to there have one: lines are missing", g.from, g.to, g.run),
		})
	}
	for _, r := range l.requests {
		if r.end == nil {
			a.rep.Unfinished++
		} else if r.end.Ended.Before(r.start.Written.Add(-Tolerance)) {
			a.violation("P10", r, nil, "ended at %s, before it was written", stamp(r.end.Ended))
		}
		if h := hostOf(r.start.URL); h != r.start.Host {
			a.violation("P10", r, nil, "%s is not on the host of the line, it is on %q", r.start.URL, h)
		}
		if r.start.Addr == "" {
			a.violation("P10", r, nil, "no server address")
		}
		if d := r.start.Domain; a.config.PerDomain && a.config.OwnHosts[r.start.Host] == 0 && !within(r.start.Host, d) {
			a.violation("P10", r, nil, "%q is not a domain of the host", d)
		}
	}
}

// gaps returns the permits that have no line, although a line of their run says that every permit up to a later permit has a line.
func (l *ledger) gaps() (all []gap) {
	slices.SortFunc(l.permits, func(a, b permit) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.id, b.id))
	})
	next := map[string]uint64{} // the last ID seen, keyed by run
	for _, p := range l.permits {
		m := l.through[p.run]
		if before := next[p.run]; p.id > before+1 && before < m.id {
			all = append(all, gap{p.run, before + 1, min(p.id-1, m.id), p.line})
		}
		next[p.run] = max(next[p.run], p.id)
	}
	for run, m := range l.through {
		if next[run] < m.id {
			all = append(all, gap{run, next[run] + 1, m.id, m.line})
		}
	}
	return all
}

// gap is a range of permits without lines, and the line that reveals it.
type gap struct {
	run      string
	from, to uint64
	line     int
}

// within reports whether a host is a domain or a name under it.
func within(hostport, domain string) bool {
	name := hostname(hostport)
	return domain != "" && (name == domain || strings.HasSuffix(name, "."+domain))
}

// hostname returns the name in host:port, without brackets and a final dot.
func hostname(hostport string) string {
	name := strings.Trim(hostport[:max(0, strings.LastIndexByte(hostport, ':'))], "[]")
	return strings.TrimSuffix(name, ".")
}

// identity checks that every request has the configured User-Agent (P11).
func (a *auditor) identity(rs []*request) {
	for _, r := range rs {
		switch {
		case r.start.Agent != a.config.UserAgent:
			a.violation("P11", r, nil, "User-Agent is %q, not the configured %q", r.start.Agent, a.config.UserAgent)
		case !strings.Contains(r.start.Agent, a.config.Contact):
			a.violation("P11", r, nil, "User-Agent %q has no contact", r.start.Agent)
		}
		if r.start.Signed != "" && !strings.HasPrefix(r.start.URL, "https://") {
			a.violation("P11", r, nil, "%s was signed, by the key %q, and sent in clear text", r.start.URL, r.start.Signed)
		}
	}
}

// optOut checks that nothing was requested from a host after it was put on the opt-out list (P2).
func (a *auditor) optOut(rs []*request) {
	since := map[string]time.Time{}
	for _, o := range a.config.OptOut {
		for _, name := range o.Names {
			if at, ok := since[name]; !ok || o.Since.Before(at) {
				since[name] = o.Since
			}
		}
	}
	if len(since) == 0 {
		return
	}
	for _, r := range rs {
		for name := hostname(r.start.Host); name != ""; _, name, _ = strings.Cut(name, ".") {
			if at, ok := since[name]; ok && r.start.Allowed.After(at.Add(Tolerance)) {
				a.violation("P2", r, nil, "%s was allowed at %s, after %s was put on the opt-out list at %s", r.start.URL, stamp(r.start.Allowed), name, stamp(at))
				break
			}
		}
	}
}

// resources checks the purpose of every request, and that every resource names a page that was
// requested before (P10).
func (a *auditor) resources(rs []*request) {
	needed := map[string]bool{}
	for _, r := range rs {
		a.purpose(r)
		if r.start.Purpose == "resource" && r.start.For != "" {
			needed[r.start.For] = false
		}
	}
	if len(needed) == 0 {
		return
	}
	for _, r := range rs {
		requested, known := needed[r.start.URL]
		switch {
		case r.start.Purpose == "resource" && r.start.For != "" && !needed[r.start.For]:
			a.violation("P10", r, nil, "the page that it is for, %s, was not requested before", r.start.For)
		case r.start.Purpose == "page" && known && !requested:
			needed[r.start.URL] = true
		}
	}
}

// purpose checks that a resource names the page that needs it, and that only a resource or a robots.txt names another URL.
func (a *auditor) purpose(r *request) {
	switch {
	case r.start.Purpose == "resource" && r.start.For == "":
		a.violation("P10", r, nil, "a resource for no page")
	case r.start.Purpose != "resource" && r.start.Purpose != "robots" && r.start.For != "":
		a.violation("P10", r, nil, "a %s for another URL, %s", r.start.Purpose, r.start.For)
	}
}

// admission checks that every request was allowed before it was written, and that every clause had passed before it was
// allowed (P10).
func (a *auditor) admission(rs []*request) {
	for _, r := range rs {
		if r.start.Allowed.IsZero() || r.start.Written.Before(r.start.Allowed.Add(-Tolerance)) {
			a.violation("P10", r, nil, "written at %s without having been allowed before", stamp(r.start.Written))
		}
		for _, c := range r.start.Clauses {
			if r.start.Allowed.Before(c.Until.Add(-Tolerance)) {
				a.violation("P10", r, nil, "allowed at %s although %s held until %s", stamp(r.start.Allowed), c.Clause, stamp(c.Until))
			}
		}
	}
}
