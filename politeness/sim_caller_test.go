package politeness_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// caller is a process that uses a Gate carelessly. It uses Permits twice, late or not at all; it reports requests never, twice or much
// later; it mistakes old responses for new ones; and it may stop for hours at any moment.
type caller struct {
	*history
	gate *politeness.Gate
	dead bool
	old  politeness.Request // an earlier request
}

// after calls do after the time d, unless the process is dead by then.
func (c *caller) after(d time.Duration, do func()) {
	c.plan(d, func() {
		if !c.dead {
			do()
		}
	})
}

// once returns true in about one of n calls, or more rarely if the caller is careful. If so, the caller does something careless.
func (c *caller) once(n int) bool { return c.rng.IntN(n*c.care) == 0 }

func (c *caller) upTo(d time.Duration) time.Duration {
	return time.Duration(c.rng.Int64N(max(0, int64(d)) + 1))
}

// while returns a random duration: usually zero, sometimes short, rarely long.
func (c *caller) while() time.Duration {
	switch c.rng.IntN(10) {
	case 0:
		return c.upTo(2 * c.law.PermitTTL)
	case 1, 2, 3:
		return c.upTo(time.Second)
	}
	return 0
}

// want asks for a page until the outcome is known, and then for another page.
func (c *caller) want(u weburl.URL) {
	next := c.gate.Next(u)
	if c.once(25) {
		c.nameless(u, next)
		return
	}
	a := c.ask(u, next)
	u = a.URL
	p, err := c.gate.Admit(a)
	var wait *politeness.NotYet
	var denied *politeness.Denied
	switch {
	case errors.As(err, &wait):
		c.judge.told(u, wait)
		c.again(u, wait.Until)
	case errors.As(err, &denied):
		c.judge.note("%s: %s", u, denied.Reason)
		c.after(c.upTo(time.Second), func() { c.want(c.web.page()) })
	case err != nil:
		c.judge.wrong("%s: %v", u, err)
	default:
		c.carry(p, a)
	}
}

// again asks for u again, usually at the time that the Gate has named.
func (c *caller) again(u weburl.URL, at time.Time) {
	d := time.Until(at)
	switch {
	case d > 2*time.Hour:
		u, d = c.web.page(), c.upTo(time.Minute)
	case d < 50*time.Millisecond && c.once(2):
		d += c.upTo(2 * time.Second)
	case c.once(6):
		d = c.upTo(d)
	case c.once(12):
		d += c.upTo(time.Second)
	}
	c.after(d, func() { c.want(u) })
}

// ask returns a Request for u, of which next is to be requested first. Sometimes it returns an outdated Request, or one with an address of
// another host.
func (c *caller) ask(u, next weburl.URL) politeness.Request {
	a := politeness.Request{URL: u, Next: next, Addr: c.addr(next), Attempt: c.odd.IntN(3)}
	switch c.rng.IntN(14) {
	case 0:
		a.Next, a.Addr = weburl.URL{}, c.addr(u)
	case 1:
		if !c.old.URL.IsZero() {
			a.URL, a.Next, a.Addr = c.old.URL, c.old.Next, c.old.Addr
		}
	case 2:
		a.Purpose = politeness.Robots
	case 3:
		a.Purpose = politeness.Sitemap
	case 4, 5:
		a.Deadline = time.Now().Add(c.upTo(c.law.PermitTTL))
	}
	if c.once(4) {
		c.old = a
	}
	return a
}

// addr returns one of the addresses of u's host, written in a random way.
func (c *caller) addr(u weburl.URL) netip.Addr {
	a := pick(c.rng, c.web.byHost[u.Host()].addrs...)
	if a.Is4() && c.once(5) {
		return netip.AddrFrom16(a.As16())
	}
	return a
}

func (c *caller) nameless(u, next weburl.URL) {
	before := c.disk.lines
	ready := c.gate.Failed(u, next, errors.New("no such host"))
	c.judge.nameless(u, next, c.recorded(before))
	c.disk.save(c.judge, false)
	c.again(u, ready)
}

// recorded reports whether the ledger has more lines than before. If there is no ledger, it returns true.
func (c *caller) recorded(before int) bool { return c.disk.none || c.disk.lines > before }

// carry simulates what happens with a Permit from its grant to the report.
func (c *caller) carry(p politeness.Permit, a politeness.Request) {
	f := &flight{caller: c, permit: p, use: c.judge.allow(a, p.URL())}
	switch {
	case c.law.Rate > 0 && c.law.Rate < 0.2 && c.odd.IntN(20) == 0:
		c.after(time.Duration(float64(time.Second)/c.law.Rate)+time.Duration(c.odd.IntN(10))*time.Second, f.handBack)
	case c.once(40): // the caller forgets the Permit
		c.after(c.upTo(time.Second), func() { c.want(c.web.page()) })
	case c.once(20):
		c.after(c.while(), func() { f.report(politeness.Reply{Aborted: true}, nil) })
	default:
		c.after(c.while(), f.redeem)
	}
}

// flight is the use of one Permit.
type flight struct {
	*caller
	permit politeness.Permit
	use    *use
	done   bool
}

// handBack returns a Permit unused after other Permits were granted, right after a snapshot and right before the process ends. The next
// process must still know when the last Permit was granted.
func (f *flight) handBack() {
	f.disk.save(f.judge, true)
	f.report(politeness.Reply{Aborted: true}, nil)
	f.plan(0, f.restart)
}

func (f *flight) redeem() {
	g, err := f.permit.Redeem()
	if err != nil {
		f.report(politeness.Reply{Aborted: true}, nil)
		return
	}
	f.judge.dial(f.use, g)
	if f.once(6) {
		f.after(f.while(), func() {
			if g, err := f.permit.Redeem(); err == nil {
				f.begin(g)
			}
		})
	}
	f.after(f.while(), func() { f.connected(g) })
}

// connected handles the end of the connection phase.
func (f *flight) connected(g politeness.Grant) {
	switch {
	case f.once(40): // the caller forgets the Permit
		f.after(f.upTo(time.Second), func() { f.want(f.web.page()) })
	case f.once(12):
		f.report(politeness.Reply{Err: errors.New("connection refused")}, nil)
	case f.once(12):
		f.report(politeness.Reply{Aborted: true}, nil)
	default:
		if f.begin(g) {
			f.await(f.web.answer(g.URL()))
		}
		if f.once(6) {
			f.after(f.while(), func() { f.begin(g) })
		}
	}
}

// begin sends the request, if allowed.
func (f *flight) begin(g politeness.Grant) bool {
	before := f.disk.lines
	err := g.Begin()
	if err == nil {
		f.judge.start(f.use, g)
		f.sent(g, before)
	}
	f.disk.save(f.judge, false)
	if err != nil && !errors.Is(err, politeness.ErrUsed) {
		f.report(politeness.Reply{Err: err, Aborted: true}, nil)
	}
	return err == nil
}

// await waits for the response, or gives up earlier.
func (f *flight) await(a *answer) {
	switch {
	case f.once(40): // the caller never reports the end: the host stays busy as long as the process lives
		f.after(f.upTo(time.Second), func() { f.want(f.web.page()) })
	case f.once(10):
		f.after(f.upTo(a.took), func() { f.report(politeness.Reply{Aborted: true, Err: errors.New("canceled")}, nil) })
	default:
		f.after(a.took, func() {
			r := a.reply()
			if f.once(4) { // the client notices the first byte later than the ledger says
				r.Written = f.use.began.Add(f.upTo(time.Since(f.use.began)))
			}
			late := time.Duration(0)
			if f.once(5) {
				late = f.upTo(10 * time.Second)
			}
			f.after(late, func() { f.report(r, a) })
		})
	}
}

// report reports the end of the request to the Gate, once or twice.
func (f *flight) report(r politeness.Reply, a *answer) {
	before := f.disk.lines
	if r.Ended.IsZero() {
		r.Ended = time.Now()
	}
	ready := f.gate.Report(f.permit, r)
	if !f.use.over && !f.recorded(before) && !f.disk.silent {
		f.judge.wrong("P10: the end of %s has no line", f.use.target)
	}
	f.judge.end(f.use, r, a, f.recorded(before))
	f.judge.waits(f.use.wanted, ready)
	f.disk.save(f.judge, false)
	if a != nil && (a.asks || a.wall != "" || a.status >= 500 || a.file != nil && a.file.delay > 0) && f.rng.IntN(8) == 0 {
		f.plan(0, f.restart) // the next process must know the end of the request
	}
	if f.once(6) {
		f.after(f.while(), func() {
			f.gate.Report(f.permit, pick(f.rng, politeness.Reply{Status: 200}, politeness.Reply{Aborted: true}, r))
		})
	}
	if f.done {
		return
	}
	f.done = true
	u := f.use.wanted
	if !f.use.robots {
		u = f.web.page()
	}
	f.again(u, ready)
}

// sent records a request on the wire. It checks that the last line of the ledger is the request's start line.
func (f *flight) sent(g politeness.Grant, before int) {
	e := ledger.Entry{URL: g.URL().String(), Addr: g.Addr().String(), Written: time.Now()}
	f.wire = append(f.wire, e)
	if f.disk.none {
		return
	}
	if f.disk.silent {
		f.judge.wrong("P10: a request for %s after an end that was not recorded", e.URL)
	}
	var last ledger.Entry
	if err := json.Unmarshal(f.disk.last, &last); err != nil || f.disk.lines == before || last.Event != "start" || key(last) != key(e) {
		f.judge.wrong("P10: a request for %s before its line", e.URL)
	}
}
