package politeness

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// errSnapshot is wrapped by NewGate's error if Config.Snapshot is not a complete snapshot of a supported version.
var errSnapshot = errors.New("politeness: bad snapshot")

// snapshotMagic begins every snapshot; the version of its format follows. Versions from 2 on are still read.
const (
	snapshotMagic   = "amble-gate"
	snapshotVersion = 6
)

// Snapshot returns the state of the Gate that must survive the process (P9): the clocks of hosts, addresses and domains,
// back-off and failures, hosts given up, robots.txt files with their age and retry state. A Gate made with it in
// Config.Snapshot admits nothing earlier than this one would have; the pauses of its own Config apply in addition.
//
// An outstanding Permit is stored as if its request ended when the snapshot is restored. [Gate.Replay] takes later events from
// the ledger, from the offset in the snapshot. Snapshot waits for lines that are being written, and blocks writing meanwhile.
// Times are those of the wall clock. The format is binary, has a version, and may change; a Gate rejects a snapshot that it
// cannot read.
func (g *Gate) Snapshot() []byte {
	now := time.Now()
	g.recording.Lock()
	defer g.recording.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &writer{b: g.head(now)}
	w.clocks(g.pacer)
	files := 0
	w.uint(uint64(len(g.hosts)))
	for key, h := range g.hosts {
		w.string(key)
		w.host(h)
		if h.hasFiles() {
			files++
		}
	}
	w.uint(uint64(files))
	for key, h := range g.hosts {
		if h.hasFiles() {
			w.string(key)
			w.files(h)
		}
	}
	return w.b
}

// clocks writes the clocks of addresses and domains.
func (w *writer) clocks(c *pacer) {
	w.uint(uint64(len(c.addrs)))
	for a, p := range c.addrs {
		w.string(string(a.AsSlice()))
		w.pace(&p.pace)
	}
	w.uint(uint64(len(c.domains)))
	for d, p := range c.domains {
		w.string(d)
		w.pace(&p.pace)
	}
}

// head returns the fixed beginning of a snapshot.
func (g *Gate) head(now time.Time) []byte {
	w := &writer{b: append([]byte(snapshotMagic), snapshotVersion)}
	w.string(g.journal.run)
	w.uint(uint64(g.journal.ledger.Size()))
	w.time(g.pacer.opening)
	w.time(g.pacer.rateUntil(now))
	return w.b
}

func (w *writer) host(h *host) {
	w.uint(uint64(1 + len(h.others())))
	for p := range h.slots {
		w.pace(p)
		if p.holder != nil {
			w.permit(p.holder)
		}
	}
	w.bool(h.local)
	var ranged []byte
	if h.ranged != nil {
		ranged = h.ranged.AsSlice()
	}
	w.string(string(ranged))
	w.duration(h.latency)
	w.instant(h.failing)
	w.duration(h.backoff)
	w.uint(uint64(h.failures))
	w.uint(uint64(h.walls))
	w.bool(h.givenUp != nil)
	if h.givenUp != nil {
		w.string(h.givenUp.reason)
		w.string(h.givenUp.detail)
	}
	for _, o := range h.origins {
		w.bool(o != nil)
		if o != nil {
			w.origin(o)
		}
	}
}

// pace writes a clock. For a busy one it also writes the pause that will be due.
func (w *writer) pace(p *pace) {
	w.time(p.notBefore)
	w.instant(p.ended)
	w.duration(p.delay)
	w.string(p.clause.String())
	w.bool(p.holder != nil)
	if p.holder != nil {
		d, clause := p.holder.pause()
		w.duration(d)
		w.string(clause)
	}
}

// permit writes an outstanding Permit, with the data that a replay of its end needs.
func (w *writer) permit(p *permit) {
	w.uint(p.id)
	w.string(p.url.String())
	w.string(p.wanted.String())
	w.string(string(p.addr.AsSlice()))
	w.uint(uint64(p.purpose))
	w.uint(uint64(p.attempt))
	began := time.Time{}
	if p.started.Load() {
		began = p.began
	}
	w.time(began)
	var c *redirectChain
	if p.purpose == Robots {
		c = p.wantedHost.origin(p.wanted).chain
	}
	w.chain(c)
}

func (w *writer) chain(c *redirectChain) {
	w.bool(c != nil)
	if c != nil {
		w.string(c.next.String())
		w.strings(c.hops)
	}
}

func (w *writer) origin(o *origin) {
	w.bool(o.known)
	w.bool(o.givenUp)
	w.uint(uint64(o.status))
	w.instant(o.fetched)
	w.instant(o.expires)
	w.bool(o.outage != nil)
	if o.outage != nil {
		w.instant(o.outage.since)
		w.instant(o.outage.retryAt)
		w.uint(uint64(o.outage.attempts))
	}
	w.duration(o.requestedDelay)
	w.string(o.requestedBy.String())
	w.chain(o.via)
	if o.fetching == nil {
		w.chain(o.chain)
	} else { // only the Permit in flight keeps the chain; after a restart the redirects are followed from the start
		w.chain(nil)
	}
	w.bool(o.rules != nil)
	if o.rules != nil { // the file is stored separately, because it seldom changes
		w.uint(uint64(len(o.rules.body)))
		w.string(string(o.rules.hash[:]))
	}
}

// files writes the robots.txt files of a host's origins.
func (w *writer) files(h *host) {
	for _, o := range h.origins {
		var body string
		if o != nil && o.rules != nil {
			body = o.rules.body
		}
		w.string(body)
	}
}

// restore fills a new Gate from a snapshot.
func (g *Gate) restore(now time.Time, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	r := &reader{b: b}
	if r.take(len(snapshotMagic)) == snapshotMagic {
		r.version = r.uint()
	}
	if r.version < 2 || r.version > snapshotVersion {
		return fmt.Errorf("%w: it has another version, or is not a snapshot", errSnapshot)
	}
	g.restored.run, g.restored.mark = r.string(), int64(r.uint())
	r.check(g.restored.mark >= 0)
	r.pacer(now, g.pacer)
	for range r.count() {
		r.host(now, g)
	}
	if r.version > 4 {
		for range r.count() {
			r.files(g)
		}
		r.dropAwaited(g)
	}
	r.check(len(r.b) == 0)
	g.correct(now, time.Time{})
	return r.err
}

func (r *reader) pacer(now time.Time, p *pacer) {
	p.opening = r.time()
	p.restoreRate(now, r.time())
	for range r.count() {
		a, ok := netip.AddrFromSlice([]byte(r.string()))
		r.check(ok)
		r.pace(now, &clockOf(p.addrs, a).pace)
	}
	for range r.count() {
		r.pace(now, &clockOf(p.domains, r.string()).pace)
	}
}

// host reads the state of one host and adds it to g.
func (r *reader) host(now time.Time, g *Gate) {
	key := r.string()
	u, err := weburl.Parse("https://" + key)
	r.check(err == nil)
	if r.err != nil {
		return
	}
	h := newHost(&g.cfg, key)
	g.hosts[key] = h
	r.slots(now, g, h)
	if r.version > 2 {
		h.local = r.bool()
	}
	if r.version > 3 {
		if addr, ok := netip.AddrFromSlice([]byte(r.string())); ok {
			h.meet(&g.cfg, addr)
		}
	}
	h.latency, h.failing, h.backoff, h.failures = r.duration(), r.instant(), r.duration(), int32(r.uint()&(1<<31-1))
	if r.version < 3 { // older versions counted every failure as one, not by severity
		h.failures = min(h.failures, 1<<29) * int32(wholeFault)
	}
	if r.version > 5 {
		h.walls = uint8(r.uint() & 127)
	}
	if r.bool() {
		h.givenUp = &givenUp{r.string(), r.string()}
	}
	for i, scheme := range []string{"http://", "https://"} {
		if !r.bool() || r.err != nil {
			continue
		}
		h.origins[i] = r.origin(&g.rules, scheme+u.Authority())
	}
	d, clause := g.cfg.delayFor(h.state(&g.cfg, h.local))
	for p := range h.slots { // the pause of this Gate's Config may be longer than the stored one
		if p.ended != 0 {
			p.hold(p.ended.time().Add(d), d, clause)
		}
	}
}

// slots reads the clocks of a host into h. If h has a different number of clocks, each waits until the last of those
// in the snapshot is free.
func (r *reader) slots(now time.Time, g *Gate, h *host) {
	n := r.count()
	others := h.others()
	same := n == 1+len(others)
	for i := range n {
		to := &h.first
		if same && i > 0 {
			to = &others[i-1]
		}
		var p pace
		if r.pace(now, &p) {
			g.restored.add(r.permit(g))
		}
		to.ended = max(to.ended, p.ended)
		if same {
			to.hold(p.notBefore, p.delay, p.clause.String())
		} else {
			h.hold(p.notBefore, p.delay, p.clause.String())
		}
	}
}

// permit reads an outstanding Permit. Its clocks treat the request as ended.
func (r *reader) permit(g *Gate) (*permit, *redirectChain) {
	p := &permit{gate: g, id: r.uint(), url: r.url(), wanted: r.url()}
	p.addr, _ = netip.AddrFromSlice([]byte(r.string()))
	p.purpose = Purpose(r.uint())
	if r.version > 2 {
		p.attempt = int(r.uint() & (1<<31 - 1))
	}
	p.began = r.time()
	p.started.Store(!p.began.IsZero())
	r.check(p.addr.IsValid())
	return p, r.chain()
}

func (r *reader) chain() *redirectChain {
	if !r.bool() {
		return nil
	}
	return &redirectChain{r.url(), r.strings()}
}

func (r *reader) url() weburl.URL {
	u, err := weburl.Parse(r.string())
	r.check(err == nil)
	return u
}

// pace reads a clock into a new one, and reports whether a request was under way.
func (r *reader) pace(now time.Time, p *pace) (held bool) {
	t, ended := r.time(), r.instant()
	p.hold(t, r.duration(), "")
	p.clause, p.ended = ledger.ClauseIDOf(r.string()), ended
	if held = r.bool(); held {
		d := r.duration()
		p.rest(now, d, r.string())
	}
	return held
}

func (r *reader) origin(b *rulebook, name string) *origin {
	o := &origin{known: r.bool(), givenUp: r.bool(), status: int16(r.uint())}
	o.fetched, o.expires = r.instant(), r.instant()
	if r.bool() {
		o.outage = &outage{since: r.instant(), retryAt: r.instant(), attempts: int(r.uint() & (1<<31 - 1))}
	}
	o.requestedDelay, o.requestedBy = r.duration(), ledger.ClauseIDOf(r.string())
	o.via = r.chain()
	o.chain = r.chain()
	if !r.bool() {
		return o
	}
	var body string
	if r.version < 5 {
		body = r.string()
	} else if n := r.uint(); n > 0 {
		r.awaited = append(r.awaited, awaited{o, n})
	}
	hash := r.string()
	if r.err != nil {
		return o
	}
	b.put(o, b.stored(o, name, body))
	r.check(copy(o.rules.hash[:], hash) == len(hash))
	if o.status == http.StatusAccepted { // versions before 6 applied rules in the body of a 202
		b.drop(o)
	}
	return o
}

// awaited is an origin whose robots.txt follows later in the snapshot, and the length of that file.
type awaited struct {
	*origin
	size uint64
}

// dropAwaited forgets the rules of origins whose robots.txt is missing from the snapshot: it is requested again before the
// next page.
func (r *reader) dropAwaited(g *Gate) {
	for _, o := range r.awaited {
		if o.rules != nil && uint64(len(o.rules.body)) != o.size {
			g.rules.drop(o.origin)
		}
	}
}

// stored returns the rules of a robots.txt with this body and o's status.
func (b *rulebook) stored(o *origin, name, body string) *ruleset {
	if body == "" && o.status >= 300 {
		return b.cfg.denyAll()
	}
	return &ruleset{cfg: b.cfg, origin: name, body: body}
}

// files reads the robots.txt files of a host's origins.
func (r *reader) files(g *Gate) {
	key := r.string()
	u, err := weburl.Parse("https://" + key)
	r.check(err == nil)
	for i, scheme := range []string{"http://", "https://"} {
		body := r.string()
		h := g.hosts[key]
		if r.err != nil || body == "" || h == nil || h.origins[i] == nil || h.origins[i].rules == nil {
			continue
		}
		o := h.origins[i]
		hash := o.rules.hash
		g.rules.put(o, g.rules.stored(o, scheme+u.Authority(), body))
		o.rules.hash = hash
	}
}
