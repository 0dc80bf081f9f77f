package politeness

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// ErrReplay is wrapped by the errors of [Gate.Replay] about the ledger's contents: it is shorter than the snapshot says, or a
// line is not valid.
var ErrReplay = errors.New("politeness: ledger cannot be replayed")

// restored holds the part of a snapshot that Replay needs.
type restored struct {
	run    string
	mark   int64                     // size of the ledger that the snapshot covers, in bytes
	out    map[uint64]*permit        // Permits of run that have no end so far, begun or not
	chains map[uint64]*redirectChain // redirects followed by the Permits for robots.txt
}

func (s *restored) add(p *permit, c *redirectChain) {
	s.out[p.id] = p
	if c != nil {
		if s.chains == nil {
			s.chains = make(map[uint64]*redirectChain)
		}
		s.chains[p.id] = c
	}
}

// Replay applies to a new Gate the lines that the ledger received after the Gate's snapshot; without a snapshot, all lines.
// The Gate then admits nothing earlier than the Gate of the killed process would have (P9). It has the same clocks of hosts,
// addresses and domains, and the same rate, latency, back-off, failures, Retry-After and robots.txt files. A request without
// an end counts as ended now: its pause begins now. A connection without a line may have been open, so nothing is admitted
// before the operator's delay has passed: Replay is for a crawl that resumes, not for one that begins.
//
// Call it once, before the first Admit; lines is the whole file to which Config.Ledger appends, with a length of
// Config.LedgerSize. The function robots returns the body of a robots.txt with this SHA-256, in hexadecimal; without its
// body, a robots.txt counts as not requested yet. An incomplete last line is ignored. The memory of Replay does not depend on
// the ledger's length.
//
// The error wraps [ErrReplay], or is the reader's. The Gate must not be used after an error.
func (g *Gate) Replay(lines io.ReadSeeker, robots func(sha256 string) ([]byte, error)) error {
	g.recording.Lock()
	defer g.recording.Unlock()
	if g.restored == nil || g.journal.lastID > 0 {
		return fmt.Errorf("%w: the gate has been used already", ErrReplay)
	}
	mark := g.restored.mark
	size, err := lines.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("politeness: ledger: %w", err)
	}
	if size < mark {
		return fmt.Errorf("%w: it has %d bytes, the snapshot includes %d", ErrReplay, size, mark)
	}
	chain, err := ledger.ReadChain(lines)
	if err != nil {
		return fmt.Errorf("politeness: %w", err)
	}
	g.journal.ledger.Continue(chain)
	if err := seekLine(lines, mark); err != nil {
		return err
	}
	r := &replay{gate: g, restored: g.restored, robots: robots}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := r.read(ledger.NewReader(lines, mark)); err != nil {
		return err
	}
	g.restored = nil
	g.touched.everything()
	g.journal.lastID, g.journal.unlined = 0, 0 // IDs count from 1 in each run, and the ledger's belong to earlier runs
	now := ledger.Ceil(time.Now())
	r.settle(now)
	g.correct(now, r.latest)
	g.pacer.opening = now.Add(g.cfg.usualDelay())
	g.sharePauses(now)
	return nil
}

// seekLine seeks to mark, which must be just after the end of a line.
func seekLine(lines io.ReadSeeker, mark int64) error {
	_, err := lines.Seek(max(0, mark-1), io.SeekStart)
	if err == nil && mark > 0 {
		var end [1]byte
		if _, err = io.ReadFull(lines, end[:]); err == nil && end[0] != '\n' {
			return fmt.Errorf("%w: no line ends at byte %d, up to which the snapshot includes the ledger", ErrReplay, mark)
		}
	}
	if err != nil {
		return fmt.Errorf("politeness: ledger: %w", err)
	}
	return nil
}

// replay is a Replay in progress.
type replay struct {
	*restored
	gate   *Gate
	robots func(sha256 string) ([]byte, error)
	line   line
	latest time.Time // the latest time of all lines
}

// read applies the remaining lines.
func (r *replay) read(lines *ledger.Reader) error {
	for {
		e, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, ledger.ErrLine):
			return fmt.Errorf("%w: %w", ErrReplay, err)
		case err != nil:
			return fmt.Errorf("politeness: %w", err)
		}
		if err := r.apply(line{e}); err != nil {
			return fmt.Errorf("%w: the line at byte %d: %w", ErrReplay, lines.Offset(), err)
		}
	}
}

// apply repeats the effect of a line's event on the Gate.
func (r *replay) apply(e line) error {
	if e.Event == ledger.Head {
		return nil
	}
	r.line = e
	if e.Run != r.run {
		r.newRun()
	}
	r.latest = later(r.latest, e.time())
	switch e.Event {
	case ledger.Start:
		return r.start()
	case ledger.End:
		p := r.out[e.ID]
		if p == nil {
			return errors.New("the end of a request that has no start")
		}
		return r.end(p)
	case ledger.Unsent:
		return r.unsent()
	case ledger.Copied:
		return r.copied()
	}
	return fmt.Errorf("event %q is not known", e.Event)
}

// newRun records that the earlier process has ended. Its open requests ended before the next process
// began, and so before that process's first line, whatever the earlier process's clock said.
func (r *replay) newRun() {
	now := r.line.time()
	r.settle(now)
	if r.latest.After(now) {
		r.gate.rewind(now, r.latest)
		r.latest = now
	}
	r.run = r.line.Run
}

// settle ends all open requests at the time now. Their outcome is unknown. At an own host it is also unknown which slot each of several
// requests held, so all slots are held.
func (r *replay) settle(now time.Time) {
	for _, p := range r.out {
		if p.started.Load() { // otherwise p was not begun, and restoring the snapshot has already held its clocks
			r.report(now, p, Reply{Aborted: true}, answer{})
			d, clause := p.pause()
			p.clocks.host.hold(now.Add(d), d, clause)
		}
	}
	clear(r.out)
	clear(r.chains)
}

func (r *replay) start() error {
	e := r.line
	p := r.out[e.ID] // nil unless the snapshot contains the Permit
	if p == nil {
		var err error
		if p, err = r.mint(); err != nil {
			return err
		}
	}
	p.slot, p.allowed = e.Slot, e.Allowed // a Permit from a snapshot has neither
	p.began = e.Written
	p.started.Store(true)
	return nil
}

// mint recreates the line's Permit and starts its clocks.
func (r *replay) mint() (*permit, error) {
	e, g := r.line, r.gate
	target, wanted, err := e.urls()
	if err != nil {
		return nil, err
	}
	addr, _ := netip.ParseAddr(e.Addr)
	if !addr.IsValid() || e.Allowed.IsZero() {
		return nil, errors.New("a request without address or time")
	}
	g.sweep(e.Allowed)
	h := g.host(wanted)
	purpose := e.purpose()
	if purpose == Page {
		h.origin(wanted).use = usedLately
	}
	clocks := r.clocks(e.Allowed, target, addr, e.Slot)
	p := g.mint(e.Allowed, Request{URL: wanted, Addr: addr, Attempt: e.Attempt}, admission{h, step{url: target, purpose: purpose}, clocks}, new(permit)).p
	p.clocks.host.meet(&g.cfg, addr)
	p.id = e.ID
	p.state.Store(begun) // a Permit in this state is never taken back
	r.out[p.id] = p
	return p, nil
}

func (r *replay) unsent() error {
	e, g := r.line, r.gate
	target, wanted, err := e.urls()
	if err != nil {
		return err
	}
	if e.ID == 0 { // Failed writes lines without an ID
		g.failed(e.time(), wanted, target, errFailed)
		return nil
	}
	o := g.host(wanted).origin(wanted)
	fetching, chain := o.fetching, o.chain
	p := r.out[e.ID]
	if p == nil {
		if p, err = r.mint(); err != nil {
			return err
		}
	}
	p.allowed = e.Allowed
	err = r.end(p)
	if target != wanted && fetching != nil && fetching != p { // p had been taken back, so the later Permit fetching stays in force
		o.fetching, o.chain = fetching, chain
	}
	return err
}

// errFailed stands for the error in a line.
var errFailed = errors.New("politeness: request failed")

// end reports the outcome of p.
func (r *replay) end(p *permit) error {
	e, g := r.line, r.gate
	delete(r.out, p.id)
	p.slot = max(p.slot, e.Slot)
	if e.Took > 0 { // exact to the nanosecond, as the Gate had it
		p.began = e.Ended.Add(-time.Duration(e.Took))
	}
	reply := e.reply()
	if p.purpose != Robots || reply.Aborted {
		r.report(e.time(), p, reply, answer{})
		return nil
	}
	missing := false
	if e.needsBody() {
		reply.Body, missing = r.body()
	}
	a := g.cfg.read(e.time(), p, reply)
	a.expires, a.missing = at(a.ended).add(e.life(a.ended)), missing
	r.report(e.time(), p, reply, a)
	return nil
}

// body returns the robots.txt of the line, if its body was kept.
func (r *replay) body() (b []byte, missing bool) {
	if r.robots == nil {
		return nil, true
	}
	b, err := r.robots(r.line.SHA256)
	if err != nil || !r.line.isHash(sha256.Sum256(b)) {
		return nil, true
	}
	return b, false
}

// clocks returns the clocks of a request; for an own host, those of the slot with the recorded number. It cannot pick the slot
// that was free first: lines are in the order of requests and ends, not of permits.
func (r *replay) clocks(now time.Time, target weburl.URL, addr netip.Addr, number int) clocks {
	c := r.gate.clocks(now, r.gate.host(target), target, addr)
	if slot := c.host.numbered(number); slot != nil {
		c.slot = slot
	}
	return c
}

// report is like Gate.report, but also handles a Permit from a snapshot, whose clocks have already been held.
func (r *replay) report(now time.Time, p *permit, reply Reply, a answer) {
	g := r.gate
	if p.clocks.host == nil {
		p.wantedHost = g.host(p.wanted)
		p.clocks = r.clocks(now, p.url, p.addr, p.slot)
		if p.purpose == Robots {
			p.wantedHost.origin(p.wanted).chain = r.chains[p.id]
		}
	}
	g.obeyRedirect(now, p, reply)
	g.report(now, p, reply, a)
}
