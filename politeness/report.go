package politeness

import (
	"net/http"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// begin marks the moment at which p's request is sent and writes its start line.
func (g *Gate) begin(now time.Time, p *permit) error {
	g.recording.RLock()
	defer g.recording.RUnlock()
	v, overtaken := g.atBegin(now, p)
	if p.state.Load() == redeemed && overtaken {
		return ErrExpired
	}
	if err := g.cfg.fenced(); err != nil {
		return err
	}
	if err := p.advance(now, redeemed, begun); err != nil {
		return err
	}
	if err := g.journal.begin(now, p, v); err != nil {
		return err
	}
	p.began = now
	p.started.Store(true)
	return nil
}

// atBegin returns the override for p's request, if any. It also reports whether, since p was granted, p's host was given up or
// has requested a pause that is not over. An own host can do that in its response to another request.
func (g *Gate) atBegin(now time.Time, p *permit) (v *override, overtaken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.clocks.host.meet(&g.cfg, p.addr)
	g.touch(p)
	return g.rules.override(now, p.url), p.clocks.slot.notBefore.After(now) || p.clocks.host.givenUp != nil
}

// Report tells the Gate the outcome of a Permit's request, or that it was not used, and frees the host. It returns the time
// from which the URL that needed the Permit may be requested: for a robots.txt, the page. Only the first Report of a Permit
// counts; a later Report, or a Report to another Gate, changes nothing.
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
	if before == minted && r.Unused && p.p.purpose != Robots {
		return g.giveBack(clock, p.p)
	}
	first := before != reported && before != lapsed
	if first { // the line gets the time of the hold: with an earlier one, requests that were allowed until then would seem too early
		if held := g.holdTarget(p.p, r); !held.IsZero() {
			now = held
			if p.p.purpose == Robots {
				a = g.cfg.read(now, p.p, r)
			}
		}
	}
	if first {
		g.announce(now, p.p, r, a)
	}
	switch { // the line must precede the lines of requests that waited for this outcome
	case first:
		p.p.unrecorded = g.journal.end(now, p.p, r, a)
	case before == lapsed:
		p.p.unrecorded = g.journal.end(now, p.p, Reply{Aborted: true}, answer{}) // a check of the ledger counts the pause from this line
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case first:
		p.p.clocks.host.meet(&g.cfg, p.p.addr)
		g.report(now, p.p, r, a)
		if p.p.unrecorded != nil && p.p.purpose == Robots {
			g.rules.unrecord(p.p.wantedHost.origin(p.p.wanted))
		}
	case before == lapsed: // the Permit expired, and its clocks were freed: hold them again
		p.p.clocks = g.clocksAnew(now, p.p)
		g.touch(p.p)
		d, clause := p.p.pause()
		p.p.clocks.hold(now.Add(d), d, clause)
		g.endTurn(now, p.p)
	}
	return g.ready(clock, p.p)
}

// giveBack frees the clocks of a Permit that was not used: nothing was connected or sent. They return to their earlier state.
func (g *Gate) giveBack(now time.Time, p *permit) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.touch(p)
	p.clocks.release(p)
	if p.turn.Gate != "" {
		g.cfg.Shared.Done(&p.turn, Owed{})
	}
	return g.ready(now, p)
}

// clocksAnew looks up the clocks of a Permit that was taken back: since the Permit was issued, the Gate may have dropped them.
func (g *Gate) clocksAnew(now time.Time, p *permit) clocks {
	c := g.clocks(now, g.host(p.url), p.url, p.addr)
	if c.host == p.clocks.host {
		c.slot = p.clocks.slot
	}
	return c
}

// ready returns when the URL that needed p may be requested. For a host that was given up it returns now, so that its URLs
// are denied at once.
func (g *Gate) ready(now time.Time, p *permit) time.Time {
	if p.wantedHost.givenUp != nil {
		return now
	}
	ready := p.wantedHost.ready(now)
	if o := p.wantedHost.origin(p.wanted); !o.givenUp && !o.usable(now) && o.retryAt().after(ready) {
		return o.retryAt().time()
	}
	return ready
}

// report applies the outcome of p's request.
func (g *Gate) report(now time.Time, p *permit, r Reply, a answer) {
	g.touch(p)
	p.clocks.host.learn(&g.cfg, now, p, r)
	if p.purpose == Robots {
		g.rules.learn(now, p, r, a)
		g.shareRobots(p, r, a)
	}
	d, clause := p.pause()
	p.clocks.rest(now, d, clause)
	g.endTurn(now, p)
}

// takeBack ends a Permit that expired before its request was begun and has not been reported. It can no longer be begun, so
// its clocks need not wait for a Report that may never come. If the request was begun, the Permit is never taken back, because
// the request may still be under way (P3).
func (g *Gate) takeBack(now time.Time, p *permit) {
	if p == nil || !p.abandoned(now) {
		return
	}
	if p.state.CompareAndSwap(minted, lapsed) || p.state.CompareAndSwap(redeemed, lapsed) {
		g.report(now, p, Reply{Aborted: true}, answer{})
	}
}

// Failed tells the Gate that next, the URL that [Gate.Next] returned for u, could not be requested because its host's
// name has no address now. It counts like a failed request and returns the time to try again.
func (g *Gate) Failed(u, next weburl.URL, err error) time.Time {
	now := ledger.Ceil(time.Now())
	if u.IsZero() {
		return now
	}
	g.recording.RLock()
	defer g.recording.RUnlock()
	g.naming.Lock()
	defer g.naming.Unlock()
	if g.concerns(now, u, next) {
		g.journal.unresolved(now, u, next, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed(now, u, next, err)
}

// concerns reports whether a failure to resolve next counts: it does not if the robots.txt is being requested or has just
// failed.
func (g *Gate) concerns(now time.Time, u, next weburl.URL) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.host(u).origin(u)
	return next == u || o.fetching == nil && !o.retryAt().after(now)
}

func (g *Gate) failed(now time.Time, u, next weburl.URL, err error) time.Time {
	h := g.host(u)
	g.touchHost(u, 0)
	if next != u {
		o := h.origin(u)
		if o.fetching == nil && !o.retryAt().after(now) {
			o.failed(&g.cfg, now, now, Reply{Err: err})
		}
		if o.retryAt().after(now) {
			return o.retryAt().time()
		}
		return now
	}
	h.fail(&g.cfg, now, wholeFault)
	d, clause := g.cfg.delayFor(h.state(&g.cfg, h.local))
	h.hold(now.Add(d), d, clause)
	if h.givenUp != nil {
		return now
	}
	return h.ready(now)
}

// Reply is the outcome of a request.
type Reply struct {
	Status    int         // 0 without a response
	Header    http.Header // may be nil
	Body      []byte      // needed only for the purposes Robots and Terms
	Truncated string      // why the body is not whole, "" when it is: CutByLength, CutShort, CutIdle or another
	Err       error       // why there is no response
	Aborted   bool        // given back or aborted by the crawler: says nothing about the host
	// Unused: the Permit was not used, because the response came from elsewhere. The Gate releases the host without a pause and
	// without a line in the ledger. It has an effect only for a Permit that was never redeemed and is not for a robots.txt.
	Unused bool
	// Challenged: the response requests a signature, and the request will be repeated with one. A robots.txt then counts as
	// not requested; its host is held as after any response.
	Challenged bool
	// Wall names the bot wall whose challenge the response is; "" for any other response. With a challenge, a robots.txt
	// counts as unreachable, and any other URL as a failure of its host, whatever the status.
	Wall      string
	Written   time.Time // the time of the request's first byte; zero if none was written
	FirstByte time.Time // the time of the response's first byte
	Ended     time.Time // zero: now
	WireBytes int64     // body bytes received
}

// Values of Reply.Truncated that the Gate knows. A truncated robots.txt counts as unreachable, whatever the reason, except
// for CutByLength: up to the crawler's limit it is read (RFC 9309 section 2.5). A truncated page is a failure of the host
// only with CutShort or CutIdle.
const (
	CutByLength = "length"       // longer than the crawler's limit
	CutShort    = "cut_short"    // the connection ended before the message did
	CutIdle     = "idle_timeout" // the host stopped sending
)
