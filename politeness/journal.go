package politeness

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// journal numbers the Permits of a Gate and writes their requests and outcomes to the ledger.
type journal struct {
	cfg    *Config
	run    string // names the Gate in the ledger
	agent  string
	ledger *ledger.Writer
	behind time.Duration // see Gate.Skew

	mu      sync.Mutex
	lastID  uint64
	unlined int       // Permits without a line in the ledger
	head    time.Time // time at which the next signed head is due; zero before the first line
}

// number returns the ID for a new Permit.
func (j *journal) number() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unlined++
	j.lastID++
	return j.lastID
}

// lined records that one more Permit has a line in the ledger.
func (j *journal) lined() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unlined--
}

// through returns the last ID if every Permit issued so far has a line in the ledger; otherwise 0.
func (j *journal) through() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unlined > 0 {
		return 0
	}
	return j.lastID
}

// begin writes the start line. If it fails, the request is not sent: nothing happens that cannot be recorded (P10). v is the
// override, if any, that replaces the rules for p's URL.
func (j *journal) begin(now time.Time, p *permit, v *override) error {
	if j.ledger.Discards() {
		return nil
	}
	e := j.entry(ledger.Start, p)
	e.Attempt, e.Agent, e.Queued, e.Written, e.Clauses = p.attempt, j.agent, p.queued, now, p.clauses
	e.Signed, e.Shares = p.keyID, p.sharesRobots() && j.cfg.robotsKey(p.wanted).Account == ""
	if e.Shares && !p.dropped.IsZero() {
		e.Dropped = ledger.Ceil(p.dropped)
	}
	if v != nil {
		e.Override = v.Reason
	}
	err := j.write(now, &e)
	if err == nil {
		j.lined()
	}
	return err
}

// entry returns an entry with the fields that identify p.
func (j *journal) entry(event string, p *permit) ledger.Entry {
	e := ledger.Entry{
		Event: event, Run: j.run, ID: p.id, URL: p.url.String(), Host: p.url.Host(), Addr: p.addr.String(),
		Purpose: p.purpose.String(), Allowed: p.allowed, Slot: p.slot, Behind: ledger.Duration(j.behind),
	}
	if p.url != p.wanted {
		e.For = p.wanted.String()
	} else if p.purpose == Resource {
		e.For = p.page.String()
	}
	if j.cfg.PerDomain && p.clocks.domain != nil {
		e.Domain = p.url.Domain()
	}
	return e
}

// end writes the final line of a request, "end" or "unsent". If that fails, the Gate stops making requests: after a restart
// the unrecorded request would be unknown, and its host requested too early (P9).
func (j *journal) end(now time.Time, p *permit, r Reply, a answer) error {
	if j.ledger.Discards() {
		return nil
	}
	e := ledger.Entry{Event: ledger.End, Run: j.run, ID: p.id, Slot: p.slot, Through: j.through()}
	sent := p.started.Load()
	if !sent {
		e = j.entry(ledger.Unsent, p)
	}
	e.FirstByte, e.Ended, e.Aborted = r.FirstByte, orTime(r.Ended, now), r.Aborted
	e.Status, e.Bytes, e.Truncated, e.Location = r.Status, r.WireBytes, r.Truncated, location(p, r)
	if now.After(e.Ended) {
		e.Reported = now
	}
	if sent {
		e.Took = ledger.Duration(max(0, e.Ended.Sub(p.began)))
	}
	if e.RetryAfter = longestRetryAfter(r, now); e.RetryAfter != "" {
		e.Date = r.Header.Get("Date")
	}
	_, e.RateLimit = usedUp(r.Header)
	e.Challenged, e.Wall = r.Challenged, r.Wall
	if p.purpose == Robots && r.Err == nil && !r.Challenged {
		e.SHA256, e.Expires = evidence(r, a)
	} else if p.purpose == Terms && r.Err == nil && !r.Challenged {
		sum := sha256.Sum256(r.Body)
		e.SHA256 = hex.EncodeToString(sum[:])
	}
	if r.Err != nil {
		e.Err, e.Timeout = r.Err.Error(), isTimeout(r.Err)
	}
	err := j.write(now, &e)
	if err == nil && !sent {
		j.lined()
	}
	return err
}

// evidence returns the facts about a response for a robots.txt that a check needs.
func evidence(r Reply, a answer) (hash string, expires time.Time) {
	if a.hash == ([sha256.Size]byte{}) {
		a.hash = sha256.Sum256(r.Body)
	}
	if a.policy != robots.Unreachable {
		expires = a.expires.time()
	}
	return hex.EncodeToString(a.hash[:]), expires
}

// location returns the redirect target of a response. User information is masked: a redirect that has it is not followed, and
// a replay that reads the masked form does not follow it either.
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

// unresolved writes the line for a host name without an address.
func (j *journal) unresolved(now time.Time, u, next weburl.URL, err error) {
	if j.ledger.Discards() {
		return
	}
	e := ledger.Entry{
		Event: ledger.Unsent, Run: j.run, URL: next.String(), Host: next.Host(), Purpose: Page.String(), Ended: now, Behind: ledger.Duration(j.behind),
	}
	if next != u {
		e.For, e.Purpose = u.String(), Robots.String()
	}
	if err != nil {
		e.Err = err.Error()
	}
	_ = j.write(now, &e)
}

// headInterval limits how long a line remains unsigned while others follow it.
const headInterval = 5 * time.Minute

// write writes a line, and a signed head when one is due. If a head cannot be written, the next one covers its lines.
func (j *journal) write(now time.Time, e *ledger.Entry) error {
	err := j.ledger.Write(e)
	if err == nil && j.headDue(now) {
		_ = j.signHead(now)
	}
	return err
}

func (j *journal) headDue(now time.Time) bool {
	if j.cfg.SignHead == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.head.IsZero()
	due := !first && !now.Before(j.head)
	if first || due {
		j.head = now.Add(headInterval)
	}
	return due
}

// signHead writes a head.
func (j *journal) signHead(now time.Time) error {
	if j.cfg.SignHead == nil {
		return nil
	}
	return j.ledger.Sign(j.run, func(c ledger.Chain) (string, error) { return j.cfg.SignHead(c.Sum, c.Lines, now) })
}
