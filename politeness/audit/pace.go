package audit

import (
	"net/http"
	"slices"
	"time"
)

// host checks the requests to one host against P3, P4, P5, P7 and P12.
func (a *auditor) host(name string, rs []*request, redirects []led) {
	h := Host{Host: name, Requests: len(rs), Least: -1}
	own := a.config.OwnHosts[name]
	c := hostClock{led: redirects}
	for _, r := range rs {
		if g, ok := a.begins(&c, r, own); ok {
			h.add(g)
		}
		a.over(&c, r)
	}
	a.rep.Hosts = append(a.rep.Hosts, h)
}

// hostClock holds the constraints that a host's earlier requests put on the next one.
type hostClock struct {
	epoch     int
	last      *request // the request that ended last
	flying    []*request
	requested waits
	led       []led // redirects with a Retry-After to the host, in the order in which they became known
	backoff   backoff
	walls     walls
	begun     time.Time // the start of the last request
}

// begins checks a request that begins, and returns the pause before it, if there was one.
func (a *auditor) begins(c *hostClock, r *request, own int) (Pause, bool) {
	if r.epoch != c.epoch {
		*c = hostClock{epoch: r.epoch, led: c.led}
	}
	c.flying = a.inFlight(c.flying, r, max(1, own))
	if a.forgiven(c.begun, r.start.Written) {
		c.requested.longest, c.requested.requested, c.walls = nil, 0, walls{}
	}
	c.begun = r.start.Written
	a.retryAfter(&c.requested, r, own)
	a.redirected(c, r)
	a.left(c, r, own)
	c.backoff.begin(r, secs(a.config.MaxBackoff))
	if c.last == nil || own > 1 || c.last.over().After(r.start.Written) {
		return Pause{}, false
	}
	return a.gap(c.last, r, own, c.backoff.pause), true
}

// over records the end of a request, or that the request has no end.
func (a *auditor) over(c *hostClock, r *request) {
	c.requested.note(r)
	c.backoff.note(r, secs(a.config.MaxBackoff))
	c.walls.note(r)
	c.last = later(c.last, r)
}

// gap checks the pause between the requests last and r.
func (a *auditor) gap(last, r *request, own int, backoff time.Duration) Pause {
	p := Pause{r.start.Written.Sub(last.over()), a.due(last, own)}
	if own == 0 {
		p.Due = max(p.Due, r.before, backoff)
	}
	if p.Observed < p.Due-Tolerance {
		if unknowable(r, last) && p.Observed >= a.config.delay(&last.start)-Tolerance {
			a.rep.Unknown++
			return p
		}
		a.missed(p.Due-Tolerance-p.Observed, paceInvariant(p.Due, a.config.delay(&last.start)), r, last, "%v after the end of the request before, %v is due", p.Observed, p.Due)
	}
	return p
}

// add adds a pause to the summary.
func (h *Host) add(p Pause) {
	if h.Least < 0 || p.Observed-p.Due < h.Slack {
		h.Slack = p.Observed - p.Due
	}
	if h.Least < 0 || p.Observed < h.Least {
		h.Least, h.Required = p.Observed, p.Due
	}
}

// paceInvariant returns P4 for the operator's delay and P5 for a longer one.
func paceInvariant(due, delay time.Duration) string {
	if due > delay {
		return "P5"
	}
	return "P4"
}

// due returns the pause due after a request: the longest of the operator's delay, the delay for its response time, and the delay that
// robots.txt had requested by then.
func (a *auditor) due(last *request, own int) time.Duration {
	d := a.config.delay(&last.start)
	if own > 0 {
		return d
	}
	if last.end != nil && last.end.Status != 0 && !last.late {
		took := last.end.Ended.Sub(last.start.Written)
		d = max(d, min(time.Duration(a.config.DelayFactor*float64(took)), secs(a.config.MaxDelay)))
	}
	return max(d, last.after)
}

// inFlight checks the number of requests in flight when r starts (P3, P12), and returns these requests and r. A request without an end
// is in flight as long as its process runs.
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
		a.missed(flying[n-1].over().Sub(r.start.Written)-Tolerance, "P12", r, flying[n-1], "two processes hold the host at once")
	}
	if n := len(flying) + 1; n > most {
		a.missed(flying[0].over().Sub(r.start.Written)-Tolerance, "P3", r, flying[0], "%d requests in flight, %d allowed", n, most)
		if keep := most + 8; n > keep { // drop the oldest requests, already reported, so that the check takes linear time
			flying = append(flying[:0], flying[n-keep:]...)
		}
	}
	return append(flying, r)
}

// address returns the key of a request's server address; own hosts have none, since they share no clock.
func (a *auditor) address(r *request) string {
	if a.config.OwnHosts[r.start.Host] > 0 {
		return ""
	}
	return r.start.Addr
}

// domain returns the key of a request's registrable domain, as the ledger names it.
func (a *auditor) domain(r *request) string {
	if a.config.OwnHosts[r.start.Host] > 0 {
		return ""
	}
	return r.start.Domain
}

// shared checks hosts at one address, or of one domain, against the clock that they share: one request at a time, and
// after each request the pause due for its host, whichever host is next (P6).
func (a *auditor) shared(name string, rs []*request) {
	var last *request
	for _, r := range rs {
		if last != nil && last.epoch != r.epoch {
			last = nil
		}
		a.after(name, last, r)
		last = later(last, r)
	}
}

// after checks a request against the one before it at the same address, or of the same domain. before may be nil.
func (a *auditor) after(name string, before, r *request) {
	if before == nil || before.start.Host == r.start.Host {
		return
	}
	gap, due := r.start.Written.Sub(before.over()), a.due(before, 0)
	if gap < due-Tolerance {
		if unknowable(r, before) && gap >= a.config.delay(&before.start)-Tolerance {
			a.rep.Unknown++
			return
		}
		a.missed(due-Tolerance-gap, "P6", r, before, "%v after a request to another host of %s, %v is due", gap, name, due)
	}
}

// backoff is the minimum pause that a host's failures require. Failures double it, good responses halve it. Requests that
// the crawler itself may have broken off do not change it. Another process continues with the stored back-off, unless the
// longest possible pause has passed before its first request.
type backoff struct {
	run    string
	over   time.Time
	pause  time.Duration
	stored time.Duration // the part of pause that processes started later know
}

// begin records the start of r.
func (b *backoff) begin(r *request, most time.Duration) {
	if b.run != r.run {
		b.pause = b.stored
		if r.start.Written.Sub(b.over) >= most {
			b.pause = 0
		}
	}
	b.run = r.run
}

func (b *backoff) note(r *request, most time.Duration) {
	const first = time.Second
	b.over = r.over()
	switch e := r.end; {
	case e == nil || e.Aborted || e.Status == 0 || e.Error != "" || e.Truncated == "cut_short" || e.Truncated == "idle_timeout":
	case e.Wall != "" || e.Status >= 500 || e.Status == http.StatusTooManyRequests:
		if r.start.Purpose != "robots" {
			b.pause = min(max(first, 2*b.pause), most)
		}
	default:
		if b.pause /= 2; b.pause < first {
			b.pause = 0
		}
	}
	if !r.unstored {
		b.stored = b.pause
	}
}

// maxWalls is the number of consecutive challenges after which a host is given up, as docs/politeness.md says.
const maxWalls = 5

// walls counts the consecutive challenges of a bot wall that a host has sent, without those for its robots.txt.
type walls struct {
	run    string
	n      int
	stored int      // the part of n that processes started later know
	last   *request // the last of these challenges
}

// note counts a response. A request that the crawler itself may have broken off, or a failure without a challenge,
// does not change the count.
func (w *walls) note(r *request) {
	e := r.end
	if e == nil || e.Aborted || r.late || r.start.Purpose == "robots" {
		return
	}
	switch {
	case e.Wall != "":
		w.n, w.last = w.n+1, r
	case e.Error == "" && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Truncated != "cut_short" && e.Truncated != "idle_timeout":
		w.n = 0
	}
	if !r.unstored {
		w.stored = w.n
	}
}

// left checks that a host gets no request after maxWalls consecutive challenges (P5). Hosts with several requests in flight are
// left out: a ledger does not show in which order the crawler received their responses.
func (a *auditor) left(c *hostClock, r *request, own int) {
	w := &c.walls
	if w.run != r.run {
		w.run, w.n = r.run, w.stored
	}
	if own <= 1 && w.n >= maxWalls && w.last != nil && !r.start.Written.Before(w.last.end.Ended) {
		a.violation("P5", r, w.last, "the host has answered with %d challenges of a bot wall in a row, the last one of %s: it should have been left", w.n, w.last.end.Wall)
	}
}

// forgiven reports whether the operator made the crawl retry hosts that it had given up, at a time
// after the first time and not after the second.
func (a *auditor) forgiven(after, until time.Time) bool {
	return slices.ContainsFunc(a.config.Forgiven, func(t time.Time) bool { return t.After(after) && !t.After(until) })
}
