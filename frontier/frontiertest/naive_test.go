package frontiertest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

const (
	naiveTimeout = 2 * time.Minute
	naiveDelay   = 700 * time.Millisecond
)

// naive is a store made of the model, a mutex and a channel. It conforms unless it is given a bug. Each bug breaks one
// promise of the contract, and the suite must detect it.
type naive struct {
	bug string

	mu sync.Mutex
	m  *model
	stored
	ids     uint64
	changed chan struct{} // closed and replaced when something changes
	closed  bool
}

func newNaive(bug string) *naive {
	return &naive{bug: bug, m: newModel(), changed: make(chan struct{})}
}

func (n *naive) is(bug string) bool { return n.bug == bug }

func (n *naive) change() {
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *naive) usable(ctx context.Context) error {
	if n.closed {
		return frontier.ErrClosed
	}
	return ctx.Err()
}

func (n *naive) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && !n.is("add with an ended context") && (!n.closed || !n.is("add after close")) {
		return 0, err
	}
	if n.is("add checks, then inserts") {
		return n.addInTwoSteps(rs), nil
	}
	if err := n.validate(rs); err != nil {
		return 0, err
	}
	now := n.now()
	added := 0
	for _, r := range rs {
		if n.add(now, r) || n.is("known counts") {
			added++
		}
	}
	if !n.is("add wakes nobody") {
		n.change()
	}
	return added, nil
}

func (n *naive) validate(rs []frontier.Request) error {
	for i, r := range rs {
		if err := r.Validate(); err != nil {
			if n.is("add up to the bad one") {
				for _, r := range rs[:i] {
					n.add(n.now(), r)
				}
			}
			return err
		}
	}
	return nil
}

func (n *naive) addInTwoSteps(rs []frontier.Request) (added int) {
	for _, r := range rs {
		if n.m.urls[r.URL.Key()] == nil {
			added++
		}
	}
	n.mu.Unlock()
	time.Sleep(time.Microsecond)
	n.mu.Lock()
	for _, r := range rs {
		n.add(n.now(), r)
	}
	n.change()
	return added
}

func (n *naive) add(now time.Time, r frontier.Request) bool {
	e := n.m.urls[r.URL.Key()]
	switch {
	case e == nil:
		n.spoil(&r)
		rested := n.m.hosts[r.URL.Host()] != nil && n.m.hosts[r.URL.Host()].rested
		fresh := n.m.add(now, r)
		h := n.m.hosts[r.URL.Host()]
		h.rested = h.rested || rested && n.is("an idle host is not new")
		if n.is("new hosts first") && len(h.entries) == 1 {
			h.since = time.Time{}
		}
		return fresh
	case e.state == stateDone && n.is("done is forgotten"),
		e.state == stateQueued && e.attempt > 0 && n.is("again is new"):
		e.state = stateQueued
		e.host.update(now)
		return true
	}
	old := e.req.Depth
	switch n.bug {
	case "nothing is raised":
		r.Priority = math.MinInt8
	case "raised without arriving anew":
		if n.m.raises(e, r) {
			defer func(was int) { e.arrival = was }(e.arrival)
		}
	case "raising counts":
		if n.m.raises(e, r) {
			return n.m.add(now, r) || true
		}
	case "raising loses the depth":
		if n.m.raises(e, r) {
			defer func() { e.req.Depth = r.Depth }()
		}
	case "raising loses the meta":
		if e.state == stateQueued && !e.back && r.Priority > e.req.Priority {
			e.req.Meta, e.req.Hops, e.req.Beyond, e.req.Kind = nil, nil, 0, frontier.KindAnchor
		}
	case "lowered as well as raised":
		if e.state == stateQueued && !e.back && r.Priority < e.req.Priority {
			e.req.Priority = r.Priority
		}
	case "raised while claimed":
		if e.state == stateClaimed {
			e.req.Priority = max(e.req.Priority, r.Priority)
		}
	}
	n.m.add(now, r)
	switch {
	case n.is("depth is not lowered"):
		e.req.Depth = old
	case n.is("the last depth wins"):
		e.req.Depth = r.Depth
	case n.is("depth of a claimed URL is lowered"):
		e.req.Depth = min(old, r.Depth)
	case n.is("depth of a waiting URL is not lowered") && e.state == stateWaiting:
		e.req.Depth = old
	}
	return false
}

// spoil damages a Request.
func (n *naive) spoil(r *frontier.Request) {
	switch n.bug {
	case "priority is ignored":
		r.Priority = 0
	case "priority is inverted":
		r.Priority = -max(r.Priority, -127)
	case "hops are lost":
		r.Hops = nil
	case "kind is lost":
		r.Kind = 0
	case "meta is lost":
		r.Meta = nil
	case "via is lost":
		r.Via = weburl.URL{}
	case "queued is lost":
		r.Queued = time.Unix(1, 0)
	case "scheme is lost":
		r.URL, _ = weburl.Parse("http://" + r.URL.Authority() + r.URL.PathQuery())
	}
}

// now returns the current time and advances the model to it.
func (n *naive) now() time.Time {
	now := time.Now()
	if n.is("claims never expire") || n.is("expiry counts an attempt") || n.is("NotBefore loses the arrival") {
		for _, e := range n.m.all {
			t, own := e.event()
			switch {
			case !own || t.After(now):
			case e.state == stateWaiting && n.is("NotBefore loses the arrival"):
				n.m.arrivals++
				e.arrival = n.m.arrivals
			case e.state == stateClaimed && n.is("expiry counts an attempt"):
				e.attempt++
			case e.state == stateClaimed && n.is("claims never expire"):
				e.claim.Deadline = time.Time{}
			}
		}
	}
	if n.is("the released expire") {
		for _, e := range n.m.all {
			if e.state == stateClaimed && e.freed && now.After(e.claim.Deadline) {
				e.state = stateQueued
				e.host.update(now)
			}
		}
	}
	if n.is("the held expire") {
		for _, e := range n.m.all {
			e.kept = e.kept && e.state == stateClaimed && !now.After(e.claim.Deadline)
		}
	}
	n.m.advance(now)
	return now
}

func (n *naive) Claim(ctx context.Context) (frontier.Claim, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for first := true; ; first = false {
		if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("ended context is ignored")) {
			return frontier.Claim{}, err
		}
		now := n.now()
		if e := n.choose(now); e != nil {
			return n.grant(now, e), nil
		}
		if n.drained() {
			if !n.is("drained wakes one") || first {
				n.change()
				return frontier.Claim{}, frontier.ErrDrained
			}
		}
		n.block(ctx, now)
	}
}

func (n *naive) drained() bool {
	s := n.m.stats()
	switch n.bug {
	case "an empty store blocks":
		return s.Done > 0 && s.Queued+s.Waiting+s.Claimed == 0
	case "drained while queued":
		return s.Waiting+s.Claimed == 0
	case "drained while waiting":
		return s.Queued+s.Claimed == 0
	case "drained while claimed":
		return s.Queued+s.Waiting == 0
	}
	return s.Queued+s.Waiting+s.Claimed == 0
}

// choose returns the URL to claim.
func (n *naive) choose(now time.Time) *entry {
	switch n.bug {
	case "all new hosts first":
		n.m.turn = true
	case "new hosts last":
		n.m.turn = false
	case "no turns":
		return n.first(n.dueBy(now), func(a, b *place) int { return a.due().Compare(b.due()) })
	}
	es := n.m.claimable(now)
	switch n.bug {
	case "a host has many holders":
		return n.first(func(h *place) bool { return h.count(stateQueued) > 0 && !h.ready.After(now) }, nil)
	case "two holders of one URL":
		for _, e := range n.m.urls {
			if e.state == stateClaimed && n.ids%3 == 1 {
				return e
			}
		}
	case "latest due first":
		return n.first(n.dueBy(now), func(a, b *place) int { return b.due().Compare(a.due()) })
	case "most queued first":
		return n.first(n.dueBy(now), func(a, b *place) int {
			return cmp.Or(b.count(stateQueued)-a.count(stateQueued), b.due().Compare(a.due()))
		})
	case "fewest queued first":
		return n.first(n.dueBy(now), func(a, b *place) int {
			if c := a.due().Compare(b.due()); c != 0 {
				return c
			}
			return a.count(stateQueued) - b.count(stateQueued)
		})
	case "last in, first out":
		if len(es) > 0 {
			for _, e := range es[0].host.entries {
				if e.state == stateQueued && e.req.Priority == es[0].req.Priority && e.arrival > es[0].arrival {
					es[0] = e
				}
			}
		}
	}
	if len(es) == 0 {
		return nil
	}
	return es[0]
}

func (n *naive) dueBy(now time.Time) func(*place) bool {
	return func(h *place) bool { return h.free && !h.due().After(now) }
}

// first returns the best URL of the first allowed host in the given order.
func (n *naive) first(may func(*place) bool, order func(a, b *place) int) *entry {
	var hs []*place
	for _, h := range n.m.hosts {
		if may(h) {
			hs = append(hs, h)
		}
	}
	if len(hs) == 0 {
		return nil
	}
	if order != nil {
		slices.SortFunc(hs, order)
	}
	return hs[0].best()
}

func (n *naive) grant(now time.Time, e *entry) frontier.Claim {
	n.ids++
	c := frontier.Claim{Request: e.req, Attempt: e.attempt, Deadline: now.Add(naiveTimeout), ID: n.ids}
	if n.is("all claims have one ID") {
		c.ID = 1
	}
	n.m.claimed(now, e, c)
	return c
}

// block waits, without the lock, for a change, the next due time or the end of ctx.
func (n *naive) block(ctx context.Context, now time.Time) {
	limit := time.Duration(math.MaxInt64)
	if at, ok := n.m.next(now); ok && !n.is("nobody watches the clock") {
		limit = at.Sub(now)
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	changed, ended := n.changed, ctx.Done()
	if n.is("ended context is ignored") {
		ended = nil
	}
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case <-changed:
	case <-t.C:
	case <-ended:
	}
}

func (n *naive) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("settle with an ended context")) {
		return err
	}
	now := n.now()
	e := n.m.urls[c.URL.Key()]
	if e == nil || e.state != stateClaimed || e.claim.ID != c.ID && !n.is("any holder settles") || (e.freed || e.kept) && !n.is("the released can be settled") {
		return n.lost(now, e, s)
	}
	c.ID = e.claim.ID
	if err := n.validate(s.Links); err != nil {
		if n.is("failed settle is done") {
			n.m.settle(now, c, frontier.Settlement{})
			n.change()
		}
		return err
	}
	n.settle(now, e, c, s)
	if !n.is("settle wakes nobody") {
		n.change()
	}
	return nil
}

func (n *naive) lost(now time.Time, e *entry, s frontier.Settlement) error {
	if n.is("lost settle adds links") {
		for _, l := range s.Links {
			n.add(now, l)
		}
	}
	if e != nil && n.is("settled twice") {
		return nil
	}
	if e != nil && e.state == stateQueued && n.is("settled after expiry") {
		e.state = stateDone
		e.host.update(now)
		return nil
	}
	return frontier.ErrLost
}

func (n *naive) settle(now time.Time, e *entry, c frontier.Claim, s frontier.Settlement) {
	links := s.Links
	s.Links = nil
	e.freed, e.kept = false, false // only a bug leaves a settled URL freed or kept
	n.spoilSettlement(&s)
	was := e.arrival
	n.m.settle(now, c, s)
	switch {
	case s.Again != nil:
		n.spoilAgain(e, s.Again, was)
	case n.is("idle hosts are forgotten") && e.host.count(stateQueued) == 0:
		e.host.ready = time.Time{}
	case n.is("NotBefore holds the host"):
		e.host.update(now)
	}
	if n.is("settle in two steps") {
		n.change()
		n.mu.Unlock()
		time.Sleep(time.Microsecond)
		n.mu.Lock()
	}
	if n.is("links are dropped") {
		return
	}
	for _, l := range links {
		n.add(now, l)
	}
}

func (n *naive) spoilSettlement(s *frontier.Settlement) {
	switch {
	case n.is("ReadyAt is ignored"):
		s.ReadyAt = time.Time{}
	case n.is("ReadyAt is early") && !s.ReadyAt.IsZero():
		s.ReadyAt = s.ReadyAt.Add(-1)
	case s.Again == nil:
	case n.is("NotBefore is ignored"):
		s.Again = &frontier.Again{Retry: s.Again.Retry}
	case n.is("NotBefore holds the host"):
		if s.Again.NotBefore.After(s.ReadyAt) {
			s.ReadyAt = s.Again.NotBefore
		}
	case n.is("retries do not count"):
		s.Again = &frontier.Again{NotBefore: s.Again.NotBefore}
	case n.is("postponements count"):
		s.Again = &frontier.Again{NotBefore: s.Again.NotBefore, Retry: true}
	}
}

func (n *naive) spoilAgain(e *entry, a *frontier.Again, was int) {
	switch n.bug {
	case "again loses the arrival":
		n.m.arrivals++
		e.arrival = n.m.arrivals
	case "a retry keeps its arrival":
		e.arrival = was
	case "a retry goes behind what comes later":
		if a.Retry {
			e.arrival += 1e6
		}
	case "again goes first":
		e.req.Priority = 127
	case "again goes in order of return":
		e.arrival = -1e9 + n.m.arrivals
		n.m.arrivals++
	case "again loses the depth":
		e.req.Depth = 0
	case "again loses the meta":
		e.req.Meta = nil
	case "retry loses the via":
		if a.Retry {
			e.req.Via = weburl.URL{}
		}
	}
}

func (n *naive) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed && !n.is("closed twice") {
		return frontier.ErrClosed
	}
	n.closed = true
	if !n.is("close wakes nobody") {
		n.change()
	}
	return nil
}

func (n *naive) Stats() frontier.Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now()
	s := n.m.stats()
	if n.is("waiting counts as queued") {
		s.Queued, s.Waiting = s.Queued+s.Waiting, 0
	}
	if n.is("hosts are counted for ever") {
		s.Hosts = len(n.m.hosts)
	}
	return s
}

func (n *naive) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now()
	for i, key := range keys {
		e := n.m.urls[key]
		q := frontier.Request{Depth: depth, Priority: priority}
		if n.is("known at any priority") {
			q.Priority = math.MinInt8
		}
		known[i] = e != nil && (!n.m.changes(e, q) || n.is("known at any depth")) || e == nil && n.is("all is known")
	}
}

func (n *naive) Rescore(ctx context.Context, score func(frontier.Request) float64) (changed int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("rescore with an ended context")) {
		return 0, err
	}
	n.now()
	to := map[weburl.Key]float64{}
	for key, e := range n.m.urls {
		if e.state != stateQueued || n.is("nothing is rescored") {
			continue
		}
		q := e.req
		if n.is("rescore hides the depth") {
			q.Depth = 0
		}
		to[key] = score(q)
		switch {
		case n.is("asked twice"):
			to[key] = score(q)
		case n.is("rescored upwards alone"):
			to[key] = max(to[key], e.req.Score)
		}
	}
	was := map[*entry]int{}
	for _, e := range n.m.all {
		was[e] = e.arrival
		if key := e.req.URL.Key(); to[key] != e.req.Score {
			switch {
			case n.is("rescore loses the meta"):
				e.req.Meta = nil
			case n.is("rescore frees the host"):
				e.host.ready = time.Time{}
				e.host.update(time.Now())
			}
		}
	}
	changed = n.m.rescore(to)
	for e, arrival := range was {
		if n.is("rescored without arriving anew") {
			e.arrival = arrival
		}
	}
	n.change()
	return changed, nil
}

func (*naive) Room(string) (urls int, bytes int64) { return math.MaxInt, math.MaxInt64 }

func (n *naive) HostPending(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.m.hosts[host]
	switch {
	case h == nil:
		return 0
	case n.is("the done are pending"):
		return len(h.entries)
	case n.is("the claimed are not pending"):
		return h.count(stateQueued) + h.count(stateWaiting)
	}
	return len(h.entries) - h.count(stateDone)
}

// crashed returns the store as after a crash.
func (n *naive) crashed() *naive {
	n.mu.Lock()
	defer n.mu.Unlock()
	again := &naive{bug: n.bug, m: n.m, stored: n.stored, ids: n.ids, changed: make(chan struct{})}
	if again.is("claim IDs begin anew") {
		again.ids = 0
	}
	now := n.now()
	delay := naiveDelay
	if n.is("ready at once after a crash") {
		delay = 0
	}
	for key, e := range n.m.urls {
		again.spoilCrash(now, key, e)
		again.spoilCrashed(e)
	}
	again.m.crash(now, delay)
	n.closed = true
	n.change()
	return again
}

func (n *naive) spoilCrash(now time.Time, key weburl.Key, e *entry) {
	switch {
	case n.is("crash loses what was added") && e.state == stateQueued && e.arrival%5 == 0:
		e.host.entries = slices.DeleteFunc(e.host.entries, func(o *entry) bool { return o == e })
		delete(n.m.urls, key)
	case n.is("crash revives") && e.state == stateDone:
		e.state = stateQueued
	case n.is("crash loses the done") && e.state == stateDone:
		delete(n.m.urls, key)
	case n.is("crash loses claims") && e.state == stateClaimed:
		e.state = stateDone
	case n.is("crash counts an attempt") && e.state == stateClaimed:
		e.attempt++
	case n.is("crash loses attempts"):
		e.attempt = 0
	case n.is("crash loses ReadyAt"):
		e.host.ready = time.Time{}
	case n.is("crash loses NotBefore") && e.state == stateWaiting:
		e.state = stateQueued
	case n.is("crash loses the order"):
		e.arrival = -max(e.arrival, -e.arrival)
	case n.is("crash loses the raise") && e.state == stateQueued:
		e.req.Priority = min(e.req.Priority, 0)
	case n.is("crash loses scores") && e.state == stateQueued:
		e.req.Score = 0
	case n.is("crash loses the meta"):
		e.req.Meta = nil
	}
}
