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
	var flying []*request
	var asked waits
	var b backoff
	for i, r := range rs {
		if i > 0 && r.epoch != rs[i-1].epoch {
			last, flying, asked, b = nil, nil, waits{}, backoff{}
		}
		flying = a.inFlight(flying, r, max(1, own))
		a.retryAfter(&asked, r, own)
		b.begin(r, secs(a.config.MaxBackoff))
		if last != nil && own <= 1 && !last.over().After(r.start.Written) {
			a.gap(&h, last, r, own, b.pause)
		}
		asked.note(r)
		b.note(r, secs(a.config.MaxBackoff))
		last = later(last, r)
	}
	a.rep.Hosts = append(a.rep.Hosts, h)
}

// gap holds r to the pause that was due after the request before.
func (a *auditor) gap(h *Host, last, r *request, own int, backoff time.Duration) {
	gap, due := r.start.Written.Sub(last.over()), a.due(last, own)
	if own == 0 {
		due = max(due, r.before, backoff)
	}
	if gap < due-Tolerance {
		a.violation(paceInvariant(due, a.config.delay()), r, last, "%v after the end of the request before, %v is due", gap, due)
	}
	if h.Least < 0 || gap-due < h.Slack {
		h.Slack = gap - due
	}
	if h.Least < 0 || gap < h.Least {
		h.Least, h.Required = gap, due
	}
}

// backoff is the least pause that a host's failures ask for: failures double it, good answers halve
// it. What may have been broken off by the crawler itself changes nothing. Another process goes on with
// it, unless the longest pause there is has passed before its first request.
type backoff struct {
	run   string
	over  time.Time
	pause time.Duration
}

// begin notes the start of r.
func (b *backoff) begin(r *request, most time.Duration) {
	if b.run != r.run && r.start.Written.Sub(b.over) >= most {
		b.pause = 0
	}
	b.run = r.run
}

func (b *backoff) note(r *request, most time.Duration) {
	const first = time.Second
	b.over = r.over()
	switch e := r.end; {
	case e == nil || e.Aborted || e.Status == 0 || e.Error != "" || e.Truncated == "cut_short" || e.Truncated == "idle_timeout":
	case e.Status >= 500 || e.Status == http.StatusTooManyRequests:
		if r.start.Purpose != "robots" {
			b.pause = min(max(first, 2*b.pause), most)
		}
	default:
		if b.pause /= 2; b.pause < first {
			b.pause = 0
		}
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
	return max(d, last.after)
}

// inFlight holds r to the number of requests allowed at once (P3, P12), and returns those in flight
// after it has started. One without an end is in flight as long as its process goes on.
func (a *auditor) inFlight(before []*request, r *request, most int) []*request {
	flying := before[:0]
	for _, b := range before {
		switch {
		case b.end == nil && b.run != r.run:
			continue
		case b.end != nil && !b.end.Ended.After(r.start.Written.Add(Tolerance)):
			continue
		}
		flying = append(flying, b)
	}
	if n := len(flying); n > 0 && flying[n-1].run != r.run {
		a.violation("P12", r, flying[n-1], "two processes hold the host at once")
	}
	if n := len(flying) + 1; n > most {
		a.violation("P3", r, flying[0], "%d requests in flight, %d allowed", n, most)
		if keep := most + 8; n > keep { // the rest has been said, and time stays linear
			flying = append(flying[:0], flying[n-keep:]...)
		}
	}
	return append(flying, r)
}

// waits are the Retry-Afters of a host so far: the one that ends last, and the longest.
type waits struct {
	last, longest *request
	until         time.Time     // that last asks for
	asked         time.Duration // by longest
}

// note takes an answer in.
func (w *waits) note(r *request) {
	until, asked, ok := pauseAsked(r)
	if !ok {
		return
	}
	if w.last == nil || until.After(w.until) {
		w.last, w.until = r, until
	}
	if w.longest == nil || asked > w.asked {
		w.longest, w.asked = r, asked
	}
}

// retryAfter holds r to every Retry-After the host sent before (P7). What an own host says to one request
// comes too late for another that is under way, or begins before the crawler has heard it.
func (a *auditor) retryAfter(w *waits, r *request, own int) {
	said := func(by *request) bool {
		if by == nil {
			return false
		}
		known := by.end.Ended
		if by.end.Reported.After(known) {
			known = by.end.Reported
		}
		return r.start.Written.After(known) || own <= 1 && !r.start.Written.Before(by.end.Ended)
	}
	if said(w.last) && r.start.Written.Before(w.until.Add(-Tolerance)) {
		a.violation("P7", r, w.last, "the host asked not to be asked before %s", stamp(w.until))
	}
	const rounding = time.Second // dates have no finer grain
	if most := secs(a.config.MaxRetryAfter); most > 0 && said(w.longest) && w.asked > most+rounding {
		a.violation("P7", r, w.longest, "the host asked for %v, longer than the %v granted: it was to be given up", w.asked, most)
	}
}

// pauseAsked is the Retry-After of an answer: until when, and how long that is. A date is read by the
// server's own clock where that is behind.
func pauseAsked(r *request) (until time.Time, asked time.Duration, ok bool) {
	if r.end == nil || r.end.RetryAfter == "" || r.end.Status != 429 && r.end.Status != 503 {
		return time.Time{}, 0, false
	}
	v := strings.TrimSpace(r.end.RetryAfter)
	if v != "" && strings.Trim(v, "0123456789") == "" {
		const most = 1 << 32 // seconds; 136 years
		s, err := strconv.ParseInt(v, 10, 64)
		if err != nil || s > most {
			s = most
		}
		d := time.Duration(s) * time.Second
		return r.end.Ended.Add(d), d, true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return time.Time{}, 0, false
	}
	if theirs, err := http.ParseTime(r.end.Date); err == nil && theirs.Before(r.end.Ended) {
		t = t.Add(r.end.Ended.Sub(theirs))
	}
	return t, t.Sub(r.end.Ended), true
}

// address is the key of a request's server address; own hosts have none, they share no clock.
func (a *auditor) address(r *request) string {
	if a.config.OwnHosts[r.start.Host] > 0 {
		return ""
	}
	return r.start.Addr
}

// domain is the key of a request's registrable domain, as the ledger names it.
func (a *auditor) domain(r *request) string {
	if a.config.OwnHosts[r.start.Host] > 0 {
		return ""
	}
	return r.start.Domain
}

// shared holds hosts on one address, or of one domain, to one clock: one request at a time, and after
// each the pause that its own host is due, whichever host comes next (P6).
func (a *auditor) shared(name string, rs []*request) {
	var last *request
	for _, r := range rs {
		if last != nil && last.epoch != r.epoch {
			last = nil
		}
		before := last
		last = later(last, r)
		if before == nil || before.start.Host == r.start.Host {
			continue
		}
		gap, due := r.start.Written.Sub(before.over()), a.due(before, 0)
		if gap < due-Tolerance {
			a.violation("P6", r, before, "%v after a request to another host of %s, %v is due", gap, name, due)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
