package politeness

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/weburl"
)

// ErrSnapshot is wrapped by NewGate's error when Config.Snapshot is not a whole snapshot that this
// version reads.
var ErrSnapshot = errors.New("politeness: bad snapshot")

// snapshotMagic begins every snapshot; its last octet is the version of the format.
const snapshotMagic = "amble-gate\x01"

// Snapshot is everything the Gate knows that outlives a process (P9): the clocks of hosts, addresses
// and domains, back-off and failures, hosts given up, robots.txt files with their age and retry state.
// A Gate made with it in Config.Snapshot admits nothing earlier than this one would have; the pauses
// of its own Config come on top.
//
// A Permit that is out is noted as if its request ended when the snapshot is restored. What happens
// after the snapshot is not in it: take it when the crawl has stopped, and at intervals if that may
// be prevented. Times are those of the wall clock. The format is binary, with a version, and subject to
// change; a Gate refuses one that it cannot read with [ErrSnapshot].
func (g *Gate) Snapshot() []byte {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &writer{b: []byte(snapshotMagic)}
	w.time(g.rateUntil(now))
	w.uint(uint64(len(g.addrs)))
	for a, p := range g.addrs {
		w.string(string(a.AsSlice()))
		w.pace(g, &p.pace)
	}
	w.uint(uint64(len(g.domains)))
	for d, p := range g.domains {
		w.string(d)
		w.pace(g, &p.pace)
	}
	w.uint(uint64(len(g.hosts)))
	for key, h := range g.hosts {
		w.string(key)
		w.host(g, h)
	}
	return w.b
}

// rateUntil is when the global bucket has its next whole token.
func (g *Gate) rateUntil(now time.Time) time.Time {
	if g.total == nil {
		return time.Time{}
	}
	missing := (1 - g.total.TokensAt(now)) / g.cfg.Rate
	return now.Add(time.Duration(max(0, missing)*float64(time.Second)) + slack)
}

func (w *writer) host(g *Gate, h *host) {
	w.uint(uint64(1 + len(h.more)))
	for p := range h.slots {
		w.pace(g, p)
	}
	w.duration(h.latency)
	w.instant(h.failing)
	w.duration(h.backoff)
	w.uint(uint64(h.failures))
	w.bool(h.gone != nil)
	if h.gone != nil {
		w.string(h.gone.reason)
		w.string(h.gone.detail)
	}
	for _, o := range h.origins {
		w.bool(o != nil)
		if o != nil {
			w.origin(o)
		}
	}
}

// pace writes a clock. Of one that is busy the pause that will be due is written, too.
func (w *writer) pace(g *Gate, p *pace) {
	w.time(p.notBefore)
	w.instant(p.ended)
	w.duration(p.delay)
	w.string(p.clause)
	w.bool(p.holder != nil)
	if p.holder != nil {
		d, clause := g.pause(p.holder)
		w.duration(d)
		w.string(clause)
	}
}

func (w *writer) origin(o *origin) {
	w.bool(o.known)
	w.bool(o.gone)
	w.uint(uint64(o.status))
	w.uint(uint64(o.failures))
	for _, i := range []instant{o.fetched, o.expires, o.failing, o.retryAt} {
		w.instant(i)
	}
	w.duration(o.wish)
	w.string(o.wishClause)
	w.strings(o.redirects)
	chased := o.chase != nil && o.asking == nil // one that is being asked for begins anew
	w.bool(chased)
	if chased {
		w.string(o.chase.hop.String())
		w.strings(o.chase.hops)
	}
	w.bool(o.rules != nil)
	if o.rules != nil {
		w.string(o.rules.body)
		w.string(string(o.rules.hash[:]))
	}
}

// restore fills a new Gate from a snapshot.
func (g *Gate) restore(now time.Time, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	r := &reader{b: b}
	if r.take(len(snapshotMagic)) != snapshotMagic {
		return fmt.Errorf("%w: it is of another version, or none", ErrSnapshot)
	}
	g.restoreRate(now, r.time())
	for range r.count() {
		a, ok := netip.AddrFromSlice([]byte(r.string()))
		r.check(ok)
		r.pace(now, &clockOf(g.addrs, a).pace)
	}
	for range r.count() {
		r.pace(now, &clockOf(g.domains, r.string()).pace)
	}
	for range r.count() {
		g.restoreHost(now, r)
	}
	r.check(len(r.b) == 0)
	return r.err
}

// restoreRate empties the global bucket so that its next token comes at until.
func (g *Gate) restoreRate(now, until time.Time) {
	if g.total == nil || !until.After(now) {
		return
	}
	emptied := until.Add(-time.Duration(float64(time.Second) / g.cfg.Rate))
	g.total = rate.NewLimiter(rate.Limit(g.cfg.Rate), 1)
	g.total.ReserveN(emptied, 1)
}

func (g *Gate) restoreHost(now time.Time, r *reader) {
	key := r.string()
	u, err := weburl.Parse("https://" + key)
	r.check(err == nil)
	if r.err != nil {
		return
	}
	h := newHost(g.cfg.OwnHosts(key))
	g.hosts[key] = h
	r.slots(now, h)
	h.latency, h.failing, h.backoff, h.failures = r.duration(), r.instant(), r.duration(), int32(r.uint())
	if r.bool() {
		h.gone = &givenUp{r.string(), r.string()}
	}
	for i, scheme := range []string{"http://", "https://"} {
		if !r.bool() || r.err != nil {
			continue
		}
		h.origins[i] = r.origin(&g.cfg, scheme+u.Authority())
		g.rulesSize += h.origins[i].rules.size()
	}
	d, clause := g.delay(h)
	for p := range h.slots { // this Gate's Config may ask for more
		if p.ended != 0 {
			p.hold(p.ended.time().Add(d), d, clause)
		}
	}
}

// slots reads the clocks of a host into h, which may have another number of them: then each waits
// for the last.
func (r *reader) slots(now time.Time, h *host) {
	n := r.count()
	same := n == 1+len(h.more)
	for i := range n {
		to := &h.first
		if same && i > 0 {
			to = &h.more[i-1]
		}
		var p pace
		r.pace(now, &p)
		to.ended = max(to.ended, p.ended)
		if same {
			to.hold(p.notBefore, p.delay, p.clause)
		} else {
			h.hold(p.notBefore, p.delay, p.clause)
		}
	}
}

// pace reads a clock that is new.
func (r *reader) pace(now time.Time, p *pace) {
	t, ended := r.time(), r.instant()
	p.hold(t, r.duration(), "")
	p.clause, p.ended = r.string(), ended
	if r.bool() {
		d := r.duration()
		p.rest(now, d, r.string())
	}
}

func (r *reader) origin(c *Config, name string) *origin {
	o := &origin{known: r.bool(), gone: r.bool(), status: int16(r.uint()), failures: int32(r.uint())}
	o.fetched, o.expires, o.failing, o.retryAt = r.instant(), r.instant(), r.instant(), r.instant()
	o.wish, o.wishClause = r.duration(), r.string()
	o.redirects = r.strings()
	if r.bool() {
		hop, err := weburl.Parse(r.string())
		r.check(err == nil)
		o.chase = &chase{hop, r.strings()}
	}
	if !r.bool() {
		return o
	}
	body, hash := r.string(), r.string()
	if r.err != nil {
		return o
	}
	o.rules = c.denyAll()
	if body != "" || o.status < 300 {
		o.rules = c.ruleset(name, body)
	}
	r.check(copy(o.rules.hash[:], hash) == len(hash))
	return o
}
