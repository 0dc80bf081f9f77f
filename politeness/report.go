package politeness

import (
	"errors"
	"net/http"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// Reply is what became of a request.
type Reply struct {
	Status    int         // 0 without an answer
	Header    http.Header // may be nil
	Body      []byte      // needed for robots.txt only
	Truncated string      // why the body is not whole, "" when it is: CutByLength, CutShort, CutIdle or another
	Err       error       // why there is no answer
	Aborted   bool        // given back or broken off by us: says nothing about the host
	Written   time.Time   // the request's first byte, zero when none was written
	FirstByte time.Time   // the answer's first byte
	Ended     time.Time   // zero: now
	WireBytes int64       // body octets received
}

// Values of Reply.Truncated that the Gate knows. A robots.txt that is not whole counts as unreachable,
// whatever the reason, but for CutByLength: one cut at a limit of ours is read as far as it goes
// (RFC 9309 section 2.5). A page that is not whole is a failure of the host only by CutShort or CutIdle.
const (
	CutByLength = "length"       // longer than we read
	CutShort    = "cut_short"    // the connection ended before the message did
	CutIdle     = "idle_timeout" // the host stopped sending
)

// Report tells the Gate what became of a Permit's request, or that it was not used, and frees the
// host. It returns the time from which the host of the URL asked for may be asked again. Only the
// first Report of a Permit counts; a later one changes nothing, nor does one to another Gate than the
// Permit's.
func (g *Gate) Report(p Permit, r Reply) time.Time {
	clock := time.Now()
	now := ledger.Ceil(clock)
	r.Ended = ledger.Ceil(r.Ended)
	if p.p == nil || p.p.gate != g {
		return clock
	}
	var a answer
	if p.p.purpose == Robots && !r.Aborted {
		a = g.cfg.read(now, p.p, r)
	}
	g.recording.RLock()
	defer g.recording.RUnlock()
	before := p.p.state.Swap(reported)
	first := before != reported && before != lapsed
	switch { // before it takes effect: in the ledger, a request that had to wait for this end comes after it
	case first:
		p.p.unrecorded = g.end(now, p.p, r, a) != nil
	case before == lapsed:
		_ = g.end(now, p.p, Reply{Aborted: true}, answer{}) // for the pause
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case first:
		g.report(now, p.p, r, a)
		if p.p.unrecorded && p.p.purpose == Robots {
			g.drop(p.p.wantedHost.origin(p.p.wanted))
		}
	case before == lapsed: // and yet somebody was at it until now
		p.p.clocks = g.found(now, p.p)
		d, clause := g.pause(p.p)
		p.p.clocks.hold(now.Add(d), d, clause)
	}
	return g.ready(clock, p.p)
}

// drop forgets the rules of an answer that the ledger does not have: no page is asked for by them. Its pause stays.
func (g *Gate) drop(o *origin) {
	g.dropRules(o)
	o.chase = nil
}

// found is the clocks of a Permit that was taken back: since then they may have been forgotten.
func (g *Gate) found(now time.Time, p *permit) clocks {
	c := g.clocks(now, g.host(p.url), p.url, p.addr)
	if c.host == p.clocks.host {
		c.slot = p.clocks.slot
	}
	return c
}

// ready is when what p was wanted for may be asked for again. Of a host that was given up nothing may: its URLs
// need not wait to be told.
func (g *Gate) ready(now time.Time, p *permit) time.Time {
	if p.wantedHost.gone != nil {
		return now
	}
	ready := p.wantedHost.ready(now)
	if o := p.wantedHost.origin(p.wanted); !o.gone && !o.usable(now) && o.retryAt().after(ready) {
		return o.retryAt().time()
	}
	return ready
}

func (g *Gate) report(now time.Time, p *permit, r Reply, a answer) {
	g.learn(now, p.clocks.host, p, r)
	if p.purpose == Robots {
		g.learnRobots(now, p, r, a)
	}
	d, clause := g.pause(p)
	p.clocks.rest(now, d, clause)
}

// pause is what is due after p's request.
func (g *Gate) pause(p *permit) (time.Duration, string) {
	return g.delay(p.clocks.host, p.addr.IsLoopback())
}

// learn notes how the host answered.
func (g *Gate) learn(now time.Time, h *host, p *permit, r Reply) {
	begun := p.started.Load()
	if begun && r.Err == nil && r.Status != 0 {
		h.latency = max(0, orTime(r.Ended, now).Sub(p.began)) // as the ledger has it: not from Written, which is later
	}
	switch {
	case r.Aborted, !begun && r.Err == nil:
		// Says nothing about the host.
	case p.unrecorded && !failed(r):
		// Shortens no pause: nobody who reads the ledger could tell why.
	case failed(r):
		if p.purpose != Robots { // robots.txt has pauses and an end of its own
			g.fail(h, now, p.fault(r))
		}
	default:
		h.succeed()
	}
	g.obeyRetryAfter(now, h, r)
}

// fault is what p's failure says against its host: that it cannot be reached, does not answer in time or wants no more
// requests, or that a page of it fails.
func (p *permit) fault(r Reply) fault {
	switch {
	case !p.started.Load(), r.Status == http.StatusTooManyRequests, r.Truncated == CutIdle, isTimeout(r.Err):
		return wholeFault
	case p.attempt == 0:
		return pageFault
	}
	return noFault
}

func isTimeout(err error) bool {
	var e interface{ Timeout() bool }
	return errors.As(err, &e) && e.Timeout()
}

// failed reports whether a reply shows the host in trouble.
func failed(r Reply) bool {
	return r.Err != nil || r.Status >= 500 || r.Status == http.StatusTooManyRequests ||
		r.Truncated == CutShort || r.Truncated == CutIdle
}

func orTime(t, def time.Time) time.Time {
	if t.IsZero() {
		return def
	}
	return t
}

// takeBack ends a Permit that ran out before its request was begun and that nobody has reported: it
// can never be begun any more, so its clocks need not wait for a Report that may never come. One whose
// request was begun is never taken back, since the request may still be on its way (P3).
func (g *Gate) takeBack(now time.Time, p *permit) {
	if p == nil || !p.abandoned(now) {
		return
	}
	if p.state.CompareAndSwap(minted, lapsed) || p.state.CompareAndSwap(redeemed, lapsed) {
		g.report(now, p, Reply{Aborted: true}, answer{})
	}
}

// Failed tells the Gate that next, the URL that [Gate.Next] named for u, could not be asked for at
// all because its host's name has no address for now. It counts like a failed request and returns
// the time to try again.
func (g *Gate) Failed(u, next weburl.URL, err error) time.Time {
	now := ledger.Ceil(time.Now())
	if u.IsZero() {
		return now
	}
	g.recording.RLock()
	defer g.recording.RUnlock()
	if g.concerns(now, u, next) {
		g.unresolved(now, u, next, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed(now, u, next, err)
}

// concerns reports whether a failure to resolve next tells anything: not of a robots.txt that somebody is
// asking for or has just failed to have.
func (g *Gate) concerns(now time.Time, u, next weburl.URL) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.host(u).origin(u)
	return next == u || o.asking == nil && !o.retryAt().after(now)
}

func (g *Gate) failed(now time.Time, u, next weburl.URL, err error) time.Time {
	h := g.host(u)
	if next != u {
		o := h.origin(u)
		if o.asking == nil && !o.retryAt().after(now) {
			g.robotsFailed(now, o, Reply{Err: err})
		}
		if o.retryAt().after(now) {
			return o.retryAt().time()
		}
		return now
	}
	g.fail(h, now, wholeFault)
	d, clause := g.delay(h, h.local)
	h.hold(now.Add(d), d, clause)
	if h.gone != nil {
		return now
	}
	return h.ready(now)
}
