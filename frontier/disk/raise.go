package disk

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// A URL is raised (F20) by writing another entry for it, at a place of the higher priority. Its record then names the new entry as the
// only valid one. The place of the first entry is not recorded, so that URLs that are never raised need no extra space. Therefore it is
// only deleted when it becomes the first of the queue. An entry that a raise wrote is deleted by the next raise.

// raise is a new entry that replaces earlier ones of its URL.
type raise struct {
	fresh
	key    urlKey
	before place // place of the entry that an earlier raise wrote, if again is set
	again  bool  // the URL was raised before
}

// stale identifies an entry that must be deleted.
type stale struct {
	host uint64
	place
}

// staleError reports that an entry is not the valid one of its URL.
type staleError struct {
	by place // place of the valid entry; zero if the URL is done
}

func (*staleError) Error() string { return "disk: another entry has come in place of this one" }

// below reports whether a URL can be raised by r: its priority is lower, or equal and its score is lower.
func (s *seen) below(r *frontier.Request) bool {
	return s.state == Queued && !s.fixed && (s.priority < r.Priority || s.priority == r.Priority && s.rank < packed.Rank(r.Score))
}

// highest returns the highest priority that would not raise the URL, which is queued or waits.
func (s *seen) highest() int8 {
	if s.fixed || s.state == Waiting {
		return math.MaxInt8
	}
	return s.priority
}

// at returns the place to record for a URL whose valid entry is e: e's place if the URL was raised, otherwise the zero place.
func (e entry) at(was seen) place {
	if !was.raised {
		return place{}
	}
	return e.place
}

func (e *ending) at(was seen) place {
	if !was.raised {
		return place{}
	}
	return e.to
}

// raise writes an entry for l that replaces the earlier entries of its URL.
func (g *group) raise(o *op, l link, u *url) error {
	h := g.open(l)
	h.Queue.disk.raised = true
	e, err := g.enter(o, l, h)
	o.raises = append(o.raises, raise{fresh{h, e, false}, l.key, u.at, u.raised})
	u.priority, u.rank, u.raised, u.at, u.changed = l.Priority, packed.Rank(l.Score), true, e.place, true
	return err
}

// buryStale deletes the stale entries from disk.
func (g *group) buryStale() error {
	for _, x := range g.w.lanes.takeStale() {
		if err := g.batch.Delete(appendQueue(g.key[:0], x.host, x.place), nil); err != nil {
			return err
		}
	}
	return nil
}

// buryRest deletes the stale entries of a host without pending URLs from disk.
func (g *group) buryRest(h *host) error {
	d := &h.Queue.disk
	if !d.raised || d.queued+d.waiting > 0 {
		return nil
	}
	d.raised = false
	return g.batch.DeleteRange(appendQueue(nil, h.Name, place{}), appendQueue(nil, h.Name, end()), nil)
}

// forgetRest removes the stale entries of a host without pending URLs from memory, and records that nothing is left to read from disk.
func (l *lanes) forgetRest(h *host) {
	d := h.Queue.head
	if d == nil || h.Pending() > 0 {
		return
	}
	h.Queue.from = end()
	d.entries, d.late, d.size = nil, nil, 0
	l.heads.update(h)
}

// isStale reports whether an entry is not the valid one of its URL.
func (s *seen) isStale(p place) bool { return s.raised && (s.state == Done || s.at != p) }

// lease makes a lease for an entry that was taken from the head of h. It returns both a lease and an error if only the Request is
// unreadable. The error is a *staleError if the entry must be discarded.
func (s *Store) lease(h *host, e entry) (l *lease, r frontier.Request, err error) {
	for {
		raises := s.lanes.raisesSoFar()
		l, r, err = s.engine.lease(h, e)
		var stale *staleError
		switch {
		case errors.As(err, &stale) && s.lanes.isPublished(stale.by), err != nil && stale == nil:
			return l, r, err
		case stale == nil && s.lanes.hold(l.key, raises):
			return l, r, nil
		}
		// The entry that replaces this one is not claimable yet: it is on disk, or about to be written.
		if werr := s.writer.write(&op{}); werr != nil || stale != nil {
			return nil, r, cmp.Or(werr, err)
		}
	}
}

func (l *lanes) isPublished(p place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.number < l.published
}

func (l *lanes) raisesSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.raises
}

// hold marks a URL as claimed, so that it can no longer be raised. It returns false if the URL is being raised, or if any raise has begun
// since lanes.raises had the value since.
func (l *lanes) hold(k urlKey, since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, raising := l.raising[k]; raising || l.raises != since {
		return false
	}
	l.claimed[k] = struct{}{}
	return true
}

// beginRaise reports whether a URL can be raised: it is not claimed, or an op of the same group has ended its claim (released). If it
// can, it cannot be claimed until the raise is published.
func (l *lanes) beginRaise(k urlKey, released bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, claimed := l.claimed[k]; claimed && !released {
		return false
	}
	l.raising[k] = struct{}{}
	l.raises++
	return true
}

// publishRaise makes the new entry of a URL claimable, and removes the entry that an earlier raise wrote.
func (l *lanes) publishRaise(r raise) {
	delete(l.raising, r.key)
	l.published = max(l.published, r.number+1)
	l.add(r.host, r.entry)
	if r.again {
		l.remove(r.host, r.before)
		l.stale = append(l.stale, stale{r.host.Name, r.before})
	}
}

// remove removes the entry at p from the head of h, if it is there.
func (l *lanes) remove(h *host, p place) {
	d := h.Queue.head
	if d == nil {
		return
	}
	at := func(e entry) bool { return e.place == p }
	if i := slices.IndexFunc(d.entries, at); i >= 0 {
		d.size -= d.entries[i].size()
		d.entries = slices.Delete(d.entries, i, i+1)
	}
	d.late = slices.DeleteFunc(d.late, at)
	l.heads.update(h)
	l.ranked(h)
}

// discard forgets an entry that was taken from the head of h, and has the writer delete it.
func (l *lanes) discard(h *host, p place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.returned(h, p)
	l.stale = append(l.stale, stale{h.Name, p})
}

func (l *lanes) takeStale() []stale {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.stale
	l.stale = nil
	return all
}
