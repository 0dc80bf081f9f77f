package politeness

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// begin writes the start line. Its error keeps the request from being sent: what cannot be recorded
// does not happen (P10).
func (g *Gate) begin(p *permit, now time.Time) error {
	if g.ledger.Discards() {
		return nil
	}
	e := g.entry(ledger.Start, p)
	e.Attempt, e.Agent, e.Queued, e.Written, e.Clauses = p.attempt, g.userAgent, p.queued, now, p.clauses
	if v := g.override(now, p.url); v != nil {
		e.Override = v.Reason
	}
	if err := g.ledger.Write(&e); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlined--
	return nil
}

// through is the ID up to which every Permit has a line, as far as is known at this moment; 0 when that is not known.
func (g *Gate) through() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unlined > 0 {
		return 0
	}
	return g.lastID
}

// entry says what p is for.
func (g *Gate) entry(event string, p *permit) ledger.Entry {
	e := ledger.Entry{
		Event: event, Run: g.run, ID: p.id, URL: p.url.String(), Host: p.url.Host(), Addr: p.addr.String(),
		Purpose: p.purpose.String(), Allowed: p.allowed, Behind: ledger.Duration(g.skew.behind),
	}
	if p.url != p.wanted {
		e.For = p.wanted.String()
	}
	if g.cfg.PerDomain && p.clocks.domain != nil {
		e.Domain = p.url.Domain()
	}
	return e
}

// end writes the line of what is over, "end" or "unsent". A failure to write ends the Gate's requests: what
// is not recorded would be forgotten in a restart, and a host asked too early (P9).
func (g *Gate) end(now time.Time, p *permit, r Reply, a answer) error {
	if g.ledger.Discards() {
		return nil
	}
	e := ledger.Entry{Event: ledger.End, Run: g.run, ID: p.id, Through: g.through()}
	sent := p.started.Load()
	if !sent {
		e = g.entry(ledger.Unsent, p)
	}
	e.FirstByte, e.Ended, e.Aborted = r.FirstByte, orTime(r.Ended, now), r.Aborted
	e.Status, e.Bytes, e.Truncated, e.Location = r.Status, r.WireBytes, r.Truncated, location(p, r)
	if now.After(e.Ended) {
		e.Reported = now
	}
	if p.started.Load() {
		e.Took = ledger.Duration(max(0, e.Ended.Sub(p.began)))
	}
	if e.RetryAfter = longest(r, now); e.RetryAfter != "" {
		e.Date = r.Header.Get("Date")
	}
	if p.purpose == Robots && r.Err == nil {
		if a.hash == ([sha256.Size]byte{}) {
			a.hash = sha256.Sum256(r.Body)
		}
		e.SHA256 = hex.EncodeToString(a.hash[:])
		if a.policy != robots.Unreachable {
			e.Expires = a.expires.time()
		}
	}
	if r.Err != nil {
		e.Err, e.Timeout = r.Err.Error(), isTimeout(r.Err)
	}
	if err := g.ledger.Write(&e); err != nil || sent {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlined--
	return nil
}

// location is where the answer leads. User information is masked: what has it is not followed, and a replay that
// reads the masked one does not follow it either.
func location(p *permit, r Reply) string {
	to := r.Header.Get("Location")
	if to == "" {
		return ""
	}
	if _, err := p.url.Resolve(to); err != nil {
		return weburl.Redact(to)
	}
	return to
}

// unresolved writes the line of a name without an address.
func (g *Gate) unresolved(now time.Time, u, next weburl.URL, err error) {
	if g.ledger.Discards() {
		return
	}
	e := ledger.Entry{Event: ledger.Unsent, Run: g.run, URL: next.String(), Host: next.Host(), Purpose: Page.String(), Ended: now, Behind: ledger.Duration(g.skew.behind)}
	if next != u {
		e.For, e.Purpose = u.String(), Robots.String()
	}
	if err != nil {
		e.Err = err.Error()
	}
	_ = g.ledger.Write(&e)
}
