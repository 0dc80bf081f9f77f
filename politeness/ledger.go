package politeness

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Entry is one line of the ledger. A request has two: "start", written before its first byte leaves,
// and "end". A start without an end is a request that was cut off by the end of the process. What came
// to nothing before a byte left has one, "unsent": no address for the name, no connection, a [Permit]
// that was not used. A Permit that its holder never reported has none.
type Entry struct {
	Event     string    `json:"event"` // "start", "end" or "unsent"
	Run       string    `json:"run"`   // names the Gate: IDs of different processes do not mix
	ID        uint64    `json:"id"`
	URL       string    `json:"url,omitempty"`
	For       string    `json:"for,omitempty"` // the page whose robots.txt this is
	Host      string    `json:"host,omitempty"`
	Domain    string    `json:"domain,omitempty"` // registrable, with Config.PerDomain
	Addr      string    `json:"addr,omitempty"`
	Purpose   string    `json:"purpose,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Queued    time.Time `json:"queued,omitzero"`
	Allowed   time.Time `json:"allowed,omitzero"`
	Written   time.Time `json:"written,omitzero"`
	Clauses   []Clause  `json:"clauses,omitempty"`  // what the request had to wait for
	Override  string    `json:"override,omitempty"` // the reason of the Override that let it through
	Behind    Duration  `json:"behind,omitempty"`   // how far this process's clock is behind the lines before it began; see [Gate.Skew]
	FirstByte time.Time `json:"first_byte,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Reported  time.Time `json:"reported,omitzero"` // when the Gate was told, and pauses began, if later than Ended
	Took      Duration  `json:"took,omitempty"`    // from the request to Ended, to the nanosecond: pauses may depend on it
	Status    int       `json:"status,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	Err       string    `json:"error,omitempty"`
	Timeout   bool      `json:"timeout,omitempty"` // the error is that something took too long
	Truncated string    `json:"truncated,omitempty"`
	Aborted   bool      `json:"aborted,omitempty"` // broken off by the crawler: says nothing about the host

	// What a check needs of the answer's header, and of a robots.txt's body.
	RetryAfter string `json:"retry_after,omitempty"` // on 429 and 503; of several the longest
	Date       string `json:"date,omitempty"`        // the answer's own clock, with RetryAfter
	Location   string `json:"location,omitempty"`    // user and password masked
	SHA256     string `json:"sha256,omitempty"`

	Expires time.Time `json:"expires,omitzero"` // of an answer for robots.txt: how long it may be gone by

	Through uint64 `json:"through,omitempty"` // every Permit of this run up to this ID has a line before this one
}

// Values of Entry.Event.
const (
	eventStart  = "start"
	eventEnd    = "end"
	eventUnsent = "unsent"
)

// ledger writes entries, one line each, in one Write each. It makes each line in a buffer that it
// keeps.
type ledger struct {
	mu     sync.Mutex
	w      io.Writer
	buf    []byte
	size   int64 // octets of whole lines so far, those of earlier processes included
	broken error // a line was written in part, and another one behind it could not be read; or an end was not
}

// maxSpare is the longest buffer that is kept for the next line.
const maxSpare = 1 << 16

func (l *ledger) write(e *Entry) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	b := append(e.append(l.buf[:0]), '\n')
	if cap(b) <= maxSpare {
		l.buf = b
	}
	n, err := l.w.Write(b)
	switch {
	case err == nil:
		l.size += int64(n)
	case n > 0, e.Event != eventStart:
		l.broken = err
	}
	return err
}

// mark is how many octets of whole lines the ledger has.
func (l *ledger) mark() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// begin writes the start line. Its error keeps the request from being sent: what cannot be recorded
// does not happen (P10).
func (g *Gate) begin(p *permit, now time.Time) error {
	if g.ledger.w == nil {
		return nil
	}
	e := g.entry(eventStart, p)
	e.Attempt, e.Agent, e.Queued, e.Written, e.Clauses = p.attempt, g.userAgent, p.queued, now, p.clauses
	if v := g.override(now, p.url); v != nil {
		e.Override = v.Reason
	}
	if err := g.ledger.write(&e); err != nil {
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
func (g *Gate) entry(event string, p *permit) Entry {
	e := Entry{
		Event: event, Run: g.run, ID: p.id, URL: p.url.String(), Host: p.url.Host(), Addr: p.addr.String(),
		Purpose: p.purpose.String(), Allowed: p.allowed, Behind: Duration(g.skew.behind),
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
	if g.ledger.w == nil {
		return nil
	}
	e := Entry{Event: eventEnd, Run: g.run, ID: p.id, Through: g.through()}
	sent := p.started.Load()
	if !sent {
		e = g.entry(eventUnsent, p)
	}
	e.FirstByte, e.Ended, e.Aborted = r.FirstByte, orTime(r.Ended, now), r.Aborted
	e.Status, e.Bytes, e.Truncated, e.Location = r.Status, r.WireBytes, r.Truncated, location(p, r)
	if now.After(e.Ended) {
		e.Reported = now
	}
	if p.started.Load() {
		e.Took = Duration(max(0, e.Ended.Sub(p.began)))
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
	if err := g.ledger.write(&e); err != nil || sent {
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
	if g.ledger.w == nil {
		return
	}
	e := Entry{Event: eventUnsent, Run: g.run, URL: next.String(), Host: next.Host(), Purpose: Page.String(), Ended: now, Behind: Duration(g.skew.behind)}
	if next != u {
		e.For, e.Purpose = u.String(), Robots.String()
	}
	if err != nil {
		e.Err = err.Error()
	}
	_ = g.ledger.write(&e)
}
