package frontiertest

import (
	"cmp"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// model implements the contract in as little code as possible, without regard to speed: it searches all entries for each result. Callers
// pass the current time.
type model struct {
	urls      map[weburl.Key]*entry
	all       []*entry
	hosts     map[string]*place
	arrivals  int
	bestFirst bool
	turn      bool // a new host comes next, if another host is due, too
}

type state uint8

const (
	stateQueued state = iota
	stateWaiting
	stateClaimed
	stateDone
)

type entry struct {
	req     frontier.Request
	host    *place
	state   state
	attempt int
	arrival int
	until   time.Time      // set only while the entry waits
	claim   frontier.Claim // set only while the entry is claimed
	freed   bool           // the claim was released
	kept    bool           // the claim is on hold
	back    bool           // the entry was put back
}

type place struct {
	entries []*entry
	ready   time.Time
	since   time.Time // time since which the host has had both a queued URL and no holder
	free    bool      // the host has both now
	busy    bool      // the host has a URL that is not done
	rested  bool      // the host was given a ready time since it was last idle
}

// rest delays h at least until ready.
func (h *place) rest(ready time.Time) {
	if ready.After(h.ready) {
		h.ready = ready
	}
	h.rested = h.rested || !ready.IsZero()
}

func newModel() *model {
	return &model{urls: map[weburl.Key]*entry{}, hosts: map[string]*place{}}
}

func (m *model) add(now time.Time, r frontier.Request) bool {
	if e := m.urls[r.URL.Key()]; e != nil {
		if e.state == stateQueued || e.state == stateWaiting {
			e.req.Depth = min(e.req.Depth, r.Depth)
		}
		if m.raises(e, r) {
			m.raise(now, e, r)
		}
		return false
	}
	h := m.hosts[r.URL.Host()]
	if h == nil {
		h = &place{}
		m.hosts[r.URL.Host()] = h
	}
	m.arrivals++
	e := &entry{req: r, host: h, state: stateQueued, arrival: m.arrivals}
	if e.req.Queued.IsZero() {
		e.req.Queued = now
	}
	m.urls[r.URL.Key()] = e
	m.all = append(m.all, e)
	h.entries = append(h.entries, e)
	h.update(now)
	return true
}

// raises reports whether adding r raises e.
func (m *model) raises(e *entry, r frontier.Request) bool {
	return e.state == stateQueued && !e.back && levels(&r, &e.req) > 0 && r.Plain() && e.req.Plain()
}

// levels compares priorities, then scores.
func levels(a, b *frontier.Request) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Score, b.Score))
}

func (m *model) raise(now time.Time, e *entry, r frontier.Request) {
	if r.Queued.IsZero() {
		r.Queued = now
	}
	m.arrivals++
	r.Depth = e.req.Depth
	e.req, e.arrival = r, m.arrivals
}

// update records since when the host has been due.
func (h *place) update(now time.Time) {
	busy := h.count(stateDone) < len(h.entries)
	if busy && !h.busy && !h.ready.After(now) {
		h.rested = false
	}
	h.busy = busy
	free := h.count(stateQueued) > 0 && h.holders() == 0
	if free && !h.free {
		h.since = now
	}
	h.free = free
}

func (h *place) count(s state) (n int) {
	for _, e := range h.entries {
		if e.state == s {
			n++
		}
	}
	return n
}

func (h *place) holders() (n int) {
	for _, e := range h.entries {
		if e.state == stateClaimed && !e.freed {
			n++
		}
	}
	return n
}

func (h *place) due() time.Time {
	if h.ready.After(h.since) {
		return h.ready
	}
	return h.since
}

// best returns the URL of h that is served first (F5).
func (h *place) best() *entry {
	var best *entry
	for _, e := range h.entries {
		if e.state == stateQueued && (best == nil || cmp.Or(
			levels(&e.req, &best.req), cmp.Compare(best.arrival, e.arrival)) > 0) {
			best = e
		}
	}
	return best
}

// claimable returns the URLs of which Claim must return one at the time now (F6). There are several if the contract leaves the choice open.
func (m *model) claimable(now time.Time) []*entry {
	if m.bestFirst {
		return m.bestOf(now)
	}
	fresh, rested := m.earliest(now, false), m.earliest(now, true)
	if len(fresh) > 0 && (m.turn || len(rested) == 0) {
		return fresh
	}
	return rested
}

// earliest returns the claimable URLs of the new hosts, or of the other hosts if rested is set.
func (m *model) earliest(now time.Time, rested bool) []*entry {
	var first []*place
	for _, h := range m.hosts {
		if !h.free || h.rested != rested || h.due().After(now) {
			continue
		}
		c := -1
		if len(first) > 0 {
			c = cmp.Or(h.due().Compare(first[0].due()), cmp.Compare(first[0].count(stateQueued), h.count(stateQueued)))
		}
		if c < 0 {
			first = first[:0]
		}
		if c <= 0 {
			first = append(first, h)
		}
	}
	var es []*entry
	for _, h := range first {
		es = append(es, h.best())
	}
	return es
}

// bestOf returns the URLs of which Claim must return one at the time now with BestFirst (F22). There are several if they are equally good.
func (m *model) bestOf(now time.Time) (es []*entry) {
	var first *place
	for _, h := range m.hosts {
		if !h.free || h.due().After(now) {
			continue
		}
		c := 1
		if first != nil {
			c = levels(&h.best().req, &first.best().req)
		}
		if c > 0 {
			es, first = nil, h
		}
		if c >= 0 {
			es = append(es, h.best())
		}
	}
	return es
}

// next returns the time of the next event after now; ok is false if there is none.
func (m *model) next(now time.Time) (at time.Time, ok bool) {
	consider := func(t time.Time) {
		if t.After(now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	for _, h := range m.hosts {
		if h.free {
			consider(h.due())
		}
	}
	for _, e := range m.all {
		if t, own := e.event(); own {
			consider(t)
		}
	}
	return at, ok
}

// event returns the time at which e becomes queued without a call.
func (e *entry) event() (time.Time, bool) {
	switch {
	case e.state == stateWaiting:
		return e.until, true
	case e.state == stateClaimed && !e.freed && !e.kept && !e.claim.Deadline.IsZero():
		return e.claim.Deadline.Add(1), true
	}
	return time.Time{}, false
}

// advance processes the events until now, in order.
func (m *model) advance(now time.Time) {
	type due struct {
		e *entry
		t time.Time
	}
	var all []due
	for _, e := range m.all {
		if t, own := e.event(); own && !t.After(now) {
			all = append(all, due{e, t})
		}
	}
	slices.SortFunc(all, func(a, b due) int { return a.t.Compare(b.t) })
	for _, d := range all {
		d.e.state = stateQueued
		d.e.host.update(d.t)
	}
}

func (m *model) claimed(now time.Time, e *entry, c frontier.Claim) {
	m.turn = e.host.rested
	e.state, e.claim, e.freed, e.kept = stateClaimed, c, false, false
	e.host.update(now)
}

// settle applies a Settlement and reports whether the claim was still held.
func (m *model) settle(now time.Time, c frontier.Claim, s frontier.Settlement) bool {
	e := m.holding(c)
	if e == nil || e.freed || e.kept {
		return false
	}
	m.end(now, e, s)
	return true
}

// holding returns the URL of a claim that has not ended, or nil.
func (m *model) holding(c frontier.Claim) *entry {
	e := m.urls[c.URL.Key()]
	if e == nil || e.state != stateClaimed || e.claim.ID != c.ID {
		return nil
	}
	return e
}

// release releases a claim and reports whether it was held.
func (m *model) release(now time.Time, c frontier.Claim, ready time.Time) bool {
	e := m.holding(c)
	if e == nil || e.freed || e.kept {
		return false
	}
	e.freed = true
	e.host.rest(ready)
	e.host.update(now)
	return true
}

// hold puts a claim on hold and reports whether it was held.
func (m *model) hold(c frontier.Claim) bool {
	e := m.holding(c)
	if e == nil || e.freed || e.kept {
		return false
	}
	e.kept = true
	return true
}

// released reports whether all these claims are released or on hold, and none occurs twice.
func (m *model) released(ends []frontier.End) bool {
	named := map[*entry]bool{}
	for _, x := range ends {
		e := m.holding(x.Claim)
		if e == nil || !e.freed && !e.kept || named[e] {
			return false
		}
		named[e] = true
	}
	return true
}

// commit ends claims and reports whether all were released or on hold.
func (m *model) commit(now time.Time, ends []frontier.End) bool {
	if !m.released(ends) {
		return false
	}
	for _, x := range ends {
		m.end(now, m.holding(x.Claim), x.Settlement)
	}
	return true
}

// revive queues rs and returns the number of those that were done.
func (m *model) revive(now time.Time, rs []frontier.Request) (revived int) {
	for _, r := range rs {
		e := m.urls[r.URL.Key()]
		if e == nil || e.state != stateDone {
			m.add(now, r)
			continue
		}
		if r.Queued.IsZero() {
			r.Queued = now
		}
		m.arrivals++
		e.req, e.state, e.attempt, e.arrival, e.back = r, stateQueued, 0, m.arrivals, false
		e.host.update(now)
		revived++
	}
	return revived
}

// end applies s to a claimed URL.
func (m *model) end(now time.Time, e *entry, s frontier.Settlement) {
	e.host.rest(s.ReadyAt)
	switch {
	case s.Again == nil:
		e.state = stateDone
	case s.Again.NotBefore.After(now):
		e.state, e.until = stateWaiting, s.Again.NotBefore
	default:
		e.state = stateQueued
	}
	e.back = s.Again != nil
	if s.Again != nil && s.Again.Retry {
		e.attempt++
		m.arrivals++
		e.arrival = m.arrivals
	}
	e.host.update(now)
	for _, l := range s.Links {
		m.add(now, l)
	}
}

// crash returns every claimed URL to the queue. No host with pending URLs is ready before delay has passed.
func (m *model) crash(now time.Time, delay time.Duration) {
	m.turn = false
	for _, h := range m.hosts {
		pending := false
		for _, e := range h.entries {
			if e.state == stateClaimed {
				e.state = stateQueued
			}
			e.freed = false
			pending = pending || e.state != stateDone
		}
		if ready := now.Add(delay); pending && ready.After(h.ready) {
			h.ready = ready
		}
		h.free = false
		h.update(now)
	}
}

func (m *model) stats() frontier.Stats {
	var s frontier.Stats
	for _, h := range m.hosts {
		q, w, c := h.count(stateQueued), h.count(stateWaiting), h.count(stateClaimed)
		s.Queued, s.Waiting, s.Claimed = s.Queued+q, s.Waiting+w, s.Claimed+c
		s.Done += h.count(stateDone)
		if q+w+c > 0 {
			s.Hosts++
		}
	}
	return s
}
