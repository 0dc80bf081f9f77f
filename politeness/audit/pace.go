package audit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// identity holds every request to the configured User-Agent (P11).
func (a *auditor) identity(rs []*request) {
	for _, r := range rs {
		switch {
		case r.start.Agent != a.config.UserAgent:
			a.violation("P11", r, nil, "User-Agent is %q, not the configured %q", r.start.Agent, a.config.UserAgent)
		case !strings.Contains(r.start.Agent, a.config.Contact):
			a.violation("P11", r, nil, "User-Agent %q has no contact", r.start.Agent)
		}
	}
}

// admission holds every request to have been allowed before it was written, and every clause to have
// passed before it was allowed (P10).
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

// host holds the requests to one host to P3, P4, P5, P7 and P12.
func (a *auditor) host(name string, rs []*request) {
	h := Host{Host: name, Requests: len(rs), Least: -1}
	own := a.config.OwnHosts[name]
	var last *request // that was over last
	var flying, pauses []*request
	for i, r := range rs {
		flying = a.inFlight(flying, r, max(1, own))
		a.retryAfter(pauses, r)
		if _, _, ok := pauseAsked(r); ok {
			pauses = append(pauses, r)
		}
		if last != nil && own <= 1 && !last.over().After(r.start.Written) {
			a.gap(&h, last, r, own, i == 1)
		}
		last = later(last, r)
	}
	a.rep.Hosts = append(a.rep.Hosts, h)
}

// gap holds r to the pause that was due after the request before.
func (a *auditor) gap(h *Host, last, r *request, own int, first bool) {
	gap, due := r.start.Written.Sub(last.over()), max(a.due(last, own), a.asked(r, own))
	if gap < due-Tolerance {
		a.violation(paceInvariant(due, a.config.delay()), r, last, "%v after the end of the request before, %v is due", gap, due)
	}
	if h.Least < 0 || gap < h.Least {
		h.Least, h.Required = gap, due
	}
	if first || gap-due < h.Slack {
		h.Slack = gap - due
	}
}

// later is the one of two requests that was over last; a may be nil.
func later(a, b *request) *request {
	if a == nil || b.over().After(a.over()) {
		return b
	}
	return a
}

// paceInvariant is P4 for the operator's delay and P5 for one that something else made longer.
func paceInvariant(due, delay time.Duration) string {
	if due > delay {
		return "P5"
	}
	return "P4"
}

func (c *Config) delay() time.Duration { return secs(c.Delay) }

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// due is the pause due after a request: the operator's delay, what its own duration asks for, and
// what robots.txt asked for by then.
func (a *auditor) due(last *request, own int) time.Duration {
	d := a.config.delay()
	if own > 0 {
		return d
	}
	if last.end != nil && last.end.Status != 0 {
		took := last.end.Ended.Sub(last.start.Written)
		d = max(d, min(time.Duration(a.config.DelayFactor*float64(took)), secs(a.config.MaxDelay)))
	}
	return max(d, last.asked[true])
}

// asked is the pause that robots.txt asks for by the time r starts.
func (a *auditor) asked(r *request, own int) time.Duration {
	if own > 0 {
		return 0
	}
	return r.asked[false]
}

// inFlight holds r to the number of requests allowed at once (P3, P12), and returns those in flight
// after it has started.
func (a *auditor) inFlight(before []*request, r *request, most int) []*request {
	flying := before[:0]
	for _, b := range before {
		if b.end == nil || !b.end.Ended.After(r.start.Written.Add(Tolerance)) {
			continue
		}
		flying = append(flying, b)
		if b.start.Run != r.start.Run {
			a.violation("P12", r, b, "two processes hold the host at once")
		}
	}
	if n := len(flying) + 1; n > most {
		a.violation("P3", r, flying[0], "%d requests in flight, %d allowed", n, most)
	}
	return append(flying, r)
}

// retryAfter holds r to every Retry-After the host sent before (P7).
func (a *auditor) retryAfter(before []*request, r *request) {
	for _, b := range before {
		until, asked, ok := pauseAsked(b)
		if !ok {
			continue
		}
		if r.start.Written.Before(until.Add(-Tolerance)) {
			a.violation("P7", r, b, "the host asked not to be asked before %s", stamp(until))
		}
		if most := secs(a.config.MaxRetryAfter); most > 0 && asked > most {
			a.violation("P7", r, b, "the host asked for %v, longer than the %v granted: it was to be given up", asked, most)
		}
	}
}

// pauseAsked is the Retry-After of an answer: until when, and how long that is.
func pauseAsked(r *request) (until time.Time, asked time.Duration, ok bool) {
	if r.end == nil || r.end.RetryAfter == "" || r.end.Status != 429 && r.end.Status != 503 {
		return time.Time{}, 0, false
	}
	if s, err := strconv.ParseInt(strings.TrimSpace(r.end.RetryAfter), 10, 32); err == nil && s >= 0 {
		d := time.Duration(s) * time.Second
		return r.end.Ended.Add(d), d, true
	}
	t, err := http.ParseTime(r.end.RetryAfter)
	return t, t.Sub(r.end.Ended), err == nil
}

// address is the key of a request's server address; own hosts have none, they share no clock.
func (a *auditor) address(r *request) string {
	if a.config.OwnHosts[r.start.Host] > 0 {
		return ""
	}
	return r.start.Addr
}

// shared holds hosts on one address to one clock: one request at a time, the operator's delay
// between them, whichever host they are for (P6).
func (a *auditor) shared(addr string, rs []*request, inv string) {
	var last *request
	for _, r := range rs {
		before := last
		last = later(last, r)
		if before == nil || before.start.Host == r.start.Host {
			continue
		}
		if gap := r.start.Written.Sub(before.over()); gap < a.config.delay()-Tolerance {
			a.violation(inv, r, before, "%v after a request to another host on %s, %v is due", gap, addr, a.config.delay())
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
