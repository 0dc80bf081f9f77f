package politeness

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Reply is what became of a request.
type Reply struct {
	Status    int         // 0 without an answer
	Header    http.Header // may be nil
	Body      []byte      // needed for robots.txt only
	Truncated string      // why the body is not whole, "" when it is; CutByLength is no failure
	Err       error       // why there is no answer
	Aborted   bool        // given back or broken off by us: says nothing about the host
	Written   time.Time   // the request's first byte, zero when none was written
	FirstByte time.Time   // the answer's first byte
	Ended     time.Time   // zero: now
	WireBytes int64       // body octets received
}

// CutByLength is the Truncated of a body that was cut at a limit of ours. A robots.txt cut so is read
// as far as it goes (RFC 9309 section 2.5); one cut by anything else counts as unreachable.
const CutByLength = "length"

// Report tells the Gate what became of a Permit's request, or that it was not used, and frees the
// host. It returns the time from which the host of the URL asked for may be asked again. Only the
// first Report of a Permit counts; a later one changes nothing.
func (g *Gate) Report(p Permit, r Reply) time.Time {
	now := time.Now()
	if p.p == nil || p.p.gate != g {
		return now
	}
	var a answer
	if p.p.purpose == Robots {
		a = g.cfg.read(p.p, r)
	}
	g.mu.Lock()
	h := g.host(p.p.wanted.Host())
	first := p.p.state.Swap(reported) != reported
	if first {
		g.report(now, p.p, r, a)
	}
	ready := h.ready(now)
	if o := h.origin(p.p.wanted); !o.usable(now) && o.retryAt.After(ready) {
		ready = o.retryAt
	}
	g.mu.Unlock()
	if first && p.p.started.Load() != 0 {
		g.ledger.end(now, p.p, r)
	}
	return ready
}

func (g *Gate) report(now time.Time, p *permit, r Reply, a answer) {
	h := p.clocks.host
	g.learn(now, h, p, r)
	if p.purpose == Robots {
		g.learnRobots(now, p, r, a)
	}
	d, clause := g.delay(h)
	if !h.own && !p.addr.IsLoopback() {
		d = max(d, MinDelay)
	}
	p.clocks.rest(now, d, clause)
}

// learn notes how the host answered.
func (g *Gate) learn(now time.Time, h *host, p *permit, r Reply) {
	if !r.Written.IsZero() && r.Err == nil {
		h.latency = max(0, orTime(r.Ended, now).Sub(r.Written))
	}
	switch {
	case r.Aborted, p.started.Load() == 0 && r.Err == nil:
		// Says nothing about the host.
	case r.Err != nil || r.Status >= 500 || r.Status == http.StatusTooManyRequests:
		if p.purpose != Robots { // robots.txt has pauses and an end of its own
			g.fail(h, now)
		}
	default:
		h.succeed()
	}
	g.obeyRetryAfter(now, h, r)
}

// obeyRetryAfter holds the host as long as it asks, in full, or gives it up (P7).
func (g *Gate) obeyRetryAfter(now time.Time, h *host, r Reply) {
	t, ok := retryAfter(r, now)
	if !ok {
		return
	}
	h.hold(t, t.Sub(now), ClauseRetryAfter)
	if t.Sub(now) > g.cfg.MaxRetryAfter {
		h.giveUp(ReasonRetryAfter, "the host asks for a pause until "+t.UTC().Format(time.RFC3339)+", longer than this crawl waits")
	}
}

// retryAfter is the instant a 429 or 503 answer names (RFC 9110 section 10.2.3).
func retryAfter(r Reply, now time.Time) (time.Time, bool) {
	if r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
		return time.Time{}, false
	}
	v := strings.TrimSpace(r.Header.Get("Retry-After"))
	if s, err := strconv.ParseUint(v, 10, 64); err == nil {
		return now.Add(seconds(s)), true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return time.Time{}, false
	}
	t = t.Add(clockSkew(r, now))
	return t, t.After(now)
}

// clockSkew corrects a date for a server whose clock is behind ours: its Date header is what it
// believed the time to be. A server ahead of us is taken at its word, which only lengthens the wait.
func clockSkew(r Reply, now time.Time) time.Duration {
	d, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, now.Sub(d)), 24*time.Hour)
}

// seconds is s seconds without overflow.
func seconds(s uint64) time.Duration {
	const most = 1 << 32 // 136 years
	return time.Duration(min(s, most)) * time.Second
}

func orTime(t, def time.Time) time.Time {
	if t.IsZero() {
		return def
	}
	return t
}

// rest ends a request on every clock. The shared ones rest for the same delay: the slowest wish of
// hosts on one address is kept by whoever made it.
func (c *clocks) rest(end time.Time, d time.Duration, clause string) {
	c.slot.rest(end, d, clause)
	if c.addr != nil {
		c.addr.rest(end, d, clause)
	}
	if c.domain != nil {
		c.domain.rest(end, d, clause)
	}
}

// Failed tells the Gate that next, the URL that [Gate.Next] named for u, could not be asked for at
// all because its host's name has no address for now. It counts like a failed request and returns
// the time to try again.
func (g *Gate) Failed(u, next weburl.URL, err error) time.Time {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.host(u.Host())
	if next != u {
		o := h.origin(u)
		if !o.fetching && !now.Before(o.retryAt) {
			g.robotsFailed(now, o, Reply{Err: err})
		}
		return o.retryAt
	}
	g.fail(h, now)
	d, clause := g.delay(h)
	h.hold(now.Add(d), d, clause)
	return h.ready(now)
}
