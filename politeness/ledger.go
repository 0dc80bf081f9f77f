package politeness

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"
)

// Entry is one line of the ledger. A request has two: "start", written before its first byte leaves,
// and "end". A start without an end is a request that was cut off by the end of the process.
type Entry struct {
	Event     string    `json:"event"` // "start" or "end"
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
	FirstByte time.Time `json:"first_byte,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Status    int       `json:"status,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	Err       string    `json:"error,omitempty"`
	Truncated string    `json:"truncated,omitempty"`

	// What a check needs of the answer's header, and of a robots.txt's body.
	RetryAfter string `json:"retry_after,omitempty"` // on 429 and 503; of several the longest
	Date       string `json:"date,omitempty"`        // the answer's own clock, with RetryAfter
	Location   string `json:"location,omitempty"`
	SHA256     string `json:"sha256,omitempty"`
}

// ledger writes entries, one line each, in one Write each. It makes each line in a buffer that it
// keeps.
type ledger struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func newLedger(w io.Writer) *ledger { return &ledger{w: w} }

// maxSpare is the longest buffer that is kept for the next line.
const maxSpare = 1 << 16

func (l *ledger) write(e *Entry) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(e.append(l.buf[:0]), '\n')
	if cap(b) <= maxSpare {
		l.buf = b
	}
	_, err := l.w.Write(b)
	return err
}

// begin writes the start line. Its error keeps the request from being sent: what cannot be recorded
// does not happen (P10).
func (g *Gate) begin(p *permit, now time.Time) error {
	if g.ledger.w == nil {
		return nil
	}
	e := Entry{
		Event: "start", Run: g.run, ID: p.id, URL: p.url.String(), Host: p.url.Host(), Addr: p.addr.String(),
		Purpose: p.purpose.String(), Attempt: p.attempt, Agent: g.userAgent,
		Queued: p.queued, Allowed: p.allowed, Written: now, Clauses: p.clauses,
	}
	if p.url != p.wanted {
		e.For = p.wanted.String()
	}
	if g.cfg.PerDomain && p.clocks.domain != nil {
		e.Domain = p.url.Domain()
	}
	if v := g.override(now, p.url); v != nil {
		e.Override = v.Reason
	}
	return g.ledger.write(&e)
}

// end writes the end line. A failure to write is not lost: the next begin meets the same writer.
func (l *ledger) end(now time.Time, p *permit, r Reply, a answer) {
	if l.w == nil {
		return
	}
	e := Entry{
		Event: "end", Run: p.gate.run, ID: p.id, FirstByte: r.FirstByte, Ended: orTime(r.Ended, now),
		Status: r.Status, Bytes: r.WireBytes, Truncated: r.Truncated, Location: r.Header.Get("Location"),
	}
	if e.RetryAfter = longest(r, now); e.RetryAfter != "" {
		e.Date = r.Header.Get("Date")
	}
	if p.purpose == Robots && r.Err == nil {
		if a.hash == ([sha256.Size]byte{}) {
			a.hash = sha256.Sum256(r.Body)
		}
		e.SHA256 = hex.EncodeToString(a.hash[:])
	}
	if r.Err != nil {
		e.Err = r.Err.Error()
	}
	_ = l.write(&e)
}
