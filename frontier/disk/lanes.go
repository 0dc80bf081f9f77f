package disk

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

type host = sched.Host[uint64, queue]

// lanes holds in memory the data for claims: the head of each host's queue, the claims, and the URLs that wait until a NotBefore. The
// rest of each queue is read from disk. lanes is safe for concurrent use: methods that other parts call take the lock and release it; all
// other methods expect the caller to hold it.
type lanes struct {
	c    Config
	t    tuning
	disk *engine // only read, never written
	wake func()  // wakes the writer, which then decides whether to call loadLow

	clock clock // set before the store is opened, constant afterwards

	mu      sync.Mutex
	hosts   *sched.Schedule[uint64, queue]
	line    sched.Line
	leases  *sched.Leases[*lease]
	claimed map[urlKey]struct{} // including URLs that are about to be claimed
	raising map[urlKey]struct{} // URLs whose raise is not published yet
	raises  int                 // number of raises begun
	waiting window
	heads   heads
	asOf    int64 // events due by this time have been processed
	ended   error // the reason why nothing can be claimed any more

	published uint64 // entries with a smaller number are claimable
	done      int
	rejected  int

	rested []rested // ready times of releases that the writer must store
	dead   []uint64 // forgotten hosts whose records the writer can delete
	stale  []stale  // entries of raised URLs that the writer must delete
}

// rested is the ready time given by a release, until a group stores it.
type rested struct {
	host  *host
	ready int64 // time on lanes.clock
}

func newLanes(c Config, t tuning) *lanes {
	l := &lanes{
		c: c, t: t,
		clock:   newClock(),
		hosts:   sched.New[uint64, queue](),
		leases:  sched.NewLeases[*lease](c.ClaimTimeout, firstID()),
		claimed: map[urlKey]struct{}{},
		raising: map[urlKey]struct{}{},
		heads:   heads{limit: c.PrefetchSize},
	}
	if c.BestFirst {
		l.hosts = sched.NewBest(level, int64(c.Patience))
	}
	return l
}

// end makes every Claim return err, or an earlier error if there is one, and wakes the Claims that wait.
func (l *lanes) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = err
	}
	l.waiting.stopLoading()
	l.notify()
}

// next returns the time at which a waiting Claim should try again.
func (l *lanes) next() int64 {
	if l.ended != nil || l.hosts.Pending() == 0 {
		return l.clock.Now()
	}
	if l.waiting.behind(l.asOf) {
		return sched.Never // unknown until the waiting URLs are loaded; endLoading notifies the line
	}
	return min(l.hosts.Next(), l.waiting.next(), l.leases.Next())
}

func (l *lanes) notify() { l.line.Notify(l.next()) }

// advance processes all events that are due: claims expire, URLs become claimable at their NotBefore, and hosts that are ready and have
// no URLs are forgotten. Each event takes effect at the time at which it was due.
func (l *lanes) advance(now int64) {
	for {
		lost := l.leases.Next()
		due := sched.Never
		if l.waiting.soon.Len() > 0 {
			due = l.waiting.soon.Top().due
		}
		switch {
		case min(due, lost) > now:
			l.asOf = now
			l.forget(now)
			if l.waiting.low() {
				l.wake()
			}
			return
		case due <= lost:
			w := l.waiting.soon.Pop()
			l.hosts.Unpark(w.host, 1, w.due)
			l.add(w.host, entry{place: w.place})
		default:
			e, _ := l.leases.Expire(now)
			l.giveBack(e)
			l.hosts.Release(e.host, sched.Back, sched.Always, lost)
			l.add(e.host, e.entry)
		}
	}
}

// forget forgets a few hosts at a time. Each call of the store adds at most one host to forget, so such hosts cannot accumulate.
func (l *lanes) forget(now int64) {
	for range 4 {
		h := l.hosts.Forget(now)
		if h == nil {
			return
		}
		l.dead = append(l.dead, h.Name)
	}
}

// giveBack marks a URL as not claimed, and removes its place from the claimed places of its host's queue.
func (l *lanes) giveBack(e *lease) {
	delete(l.claimed, e.key)
	l.returned(e.host, e.place)
}

// release frees the place of a claim at its host. It returns frontier.ErrLost if there is no such claim.
func (l *lanes) release(id uint64, readyAt time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.advance(now)
	e, ok := l.leases.Keep(id)
	if !ok {
		return frontier.ErrLost
	}
	ready := l.clock.At(readyAt)
	l.hosts.Free(e.host, ready, now)
	if !readyAt.IsZero() {
		l.rested = append(l.rested, rested{e.host, ready})
	}
	l.notify()
	return nil
}

// keep ensures that a claim, and its place at its host, last until endReleased. It returns frontier.ErrLost if there is no such claim.
func (l *lanes) keep(id uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(l.clock.Now())
	e, ok := l.leases.Keep(id)
	if !ok {
		return frontier.ErrLost
	}
	e.held = true
	return nil
}

// settle ends a claim in memory and returns its end, which the writer stores. It returns frontier.ErrLost if there is no such claim.
func (l *lanes) settle(id uint64, t frontier.Settlement) (*ending, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.advance(now)
	e, ok := l.leases.End(id)
	if !ok {
		return nil, frontier.ErrLost
	}
	return e.ending(false, t, l.clock, now), nil
}

// endReleased ends claims that were released or put on hold in memory and sets the end of each step. It returns frontier.ErrLost, and
// ends none of them, if one is not such a claim.
func (l *lanes) endReleased(ends []frontier.End, steps []step) error {
	ids := make([]uint64, len(ends))
	for i := range ends {
		ids[i] = ends[i].Claim.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	leases, ok := l.leases.EndKept(ids)
	if !ok {
		return frontier.ErrLost
	}
	now := l.clock.Now()
	for i, e := range leases {
		steps[i].end = e.ending(!e.held, ends[i].Settlement, l.clock, now)
	}
	return nil
}

// await waits until a host may be served, and counts one of its URLs as held. With BestFirst, level is the level of the host's first URL.
func (l *lanes) await(ctx context.Context) (h *host, level int64, err error) {
	wait := l.line.Await(ctx, &l.mu, l.clock.Clock, func(now int64) (bool, int64) {
		if h, err = l.tryHost(now); h != nil {
			level = h.Level()
		}
		return h != nil || err != nil, l.next()
	})
	if wait != nil {
		return nil, 0, wait
	}
	return h, level, err
}

// putBack reverts await and first: it puts the entry back into its queue.
func (l *lanes) putBack(e *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveBack(e)
	l.hosts.Release(e.host, sched.Back, sched.Always, l.clock.Now())
	l.add(e.host, e.entry)
	l.notify()
}

// tryHost returns a host that may be served. If it returns neither a host nor an error, the caller must wait.
func (l *lanes) tryHost(now int64) (*host, error) {
	if l.ended != nil {
		return nil, l.ended
	}
	l.advance(now)
	if l.waiting.behind(now) {
		return nil, nil // a host not loaded yet may be due earlier; endLoading notifies the line
	}
	h := l.hosts.Take(now)
	if h == nil && l.hosts.Pending() == 0 {
		return nil, frontier.ErrDrained
	}
	return h, nil
}

// grant makes a claim for an entry that was taken from the head of a queue.
func (l *lanes) grant(e *lease, r frontier.Request) frontier.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := frontier.Claim{Request: r, Attempt: e.attempt}
	id, deadline := l.leases.Grant(e, l.clock.Now())
	c.ID = id
	if deadline != sched.Never {
		c.Deadline = l.clock.Time(deadline)
	}
	l.notify() // so that a waiting Claim considers the deadline
	return c
}

// lookUp reports whether a URL was claimed at the time asOf, in Unix nanoseconds.
func (l *lanes) lookUp(k urlKey) (claimed bool, asOf int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(l.clock.Now())
	_, claimed = l.claimed[k]
	return claimed, l.clock.unix(l.asOf)
}

// stats returns the numbers of URLs by state, as of now.
func (l *lanes) stats() frontier.Stats {
	for {
		s, loaded := l.tryStats()
		if loaded == nil {
			return s
		}
		<-loaded
	}
}

// tryStats returns the numbers of URLs. If the writer must load URLs that are due first, it returns a channel that is closed when they
// are loaded.
func (l *lanes) tryStats() (frontier.Stats, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(l.clock.Now())
	if l.waiting.behind(l.asOf) && l.ended == nil {
		l.wake()
		return frontier.Stats{}, l.waiting.whenLoaded()
	}
	return frontier.Stats{
		Queued:   l.hosts.Queued(),
		Waiting:  l.hosts.Waiting(),
		Claimed:  l.hosts.Held(),
		Done:     l.done,
		Rejected: l.rejected,
		Hosts:    l.hosts.Busy(),
	}, nil
}

// pending returns the number of URLs of a host that are queued, waiting or claimed.
func (l *lanes) pending(host uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts.Find(host); h != nil {
		return h.Pending()
	}
	return 0
}

// room returns the number of further URLs of a host that may be queued.
func (l *lanes) room(host uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	perHost := l.c.MaxPendingPerHost
	if h := l.hosts.Find(host); h != nil {
		perHost -= h.Pending()
	}
	return min(l.c.MaxPending-l.hosts.Pending(), perHost)
}

// open returns the host of a link and pins it, so that it is not forgotten before the group is published. A host that is not in memory
// has no pending URLs on disk; open creates it.
func (l *lanes) open(g *group, to link) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts.Find(to.key.host)
	if h == nil {
		name := to.URL.Host()
		h = l.hosts.Open(to.key.host, l.c.HostSlots(name))
		h.Queue.name, h.Queue.from = name, end()
	}
	l.pin(g, h)
	return h
}

// pinHeld pins a host. One of its URLs is held, so it cannot have been forgotten.
func (l *lanes) pinHeld(g *group, h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pin(g, h)
}

func (l *lanes) pin(g *group, h *host) {
	if g.hosts[h.Name] == nil {
		g.hosts[h.Name] = h
		l.hosts.Pin(h)
	}
}

// holds reports whether a URL is claimed.
func (l *lanes) holds(k urlKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, claimed := l.claimed[k]
	return claimed
}

// takeDead returns the forgotten hosts whose records can be deleted, because they have not been created again.
func (l *lanes) takeDead() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	dead := l.dead
	l.dead = nil
	return slices.DeleteFunc(dead, func(hash uint64) bool { return l.hosts.Find(hash) != nil })
}

// takeRested adds the ready times of releases to the group. Their hosts cannot have been forgotten, because the released claims have not
// been ended by an earlier group.
func (l *lanes) takeRested(g *group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rested {
		l.pin(g, r.host)
		d := &r.host.Queue.disk
		d.ready = max(d.ready, l.clock.unix(r.ready))
	}
	l.rested = nil
}

// hasRested reports whether there are ready times of releases that are not stored yet.
func (l *lanes) hasRested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rested) > 0
}
