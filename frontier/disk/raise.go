package disk

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// A URL is raised (F20) by writing another entry for it, at a place of the higher priority. Its record then names the new entry as
// the only valid one. The first entry stays, because its place is not recorded, so that URLs that are never raised need no extra
// space. It is deleted when its turn comes. An entry written by a raise is deleted by the next raise.

// raise is a new entry that replaces earlier ones of its URL.
type raise struct {
	fresh
	key    urlKey
	before place // place of the entry that an earlier raise wrote
	again  bool  // before is set
}

// stale is an entry to be deleted.
type stale struct {
	host uint64
	place
}

// staleError reports that an entry is not the valid one of its URL.
type staleError struct {
	by place // the valid one; zero if the URL is done
}

func (*staleError) Error() string { return "disk: another entry has come in place of this one" }

// below reports whether a URL has a lower priority than r, or the same and a lower score, and can be raised.
func (s *seen) below(r *frontier.Request) bool {
	return s.state == Queued && !s.fixed && (s.priority < r.Priority || s.priority == r.Priority && s.rank < packed.Rank(r.Score))
}

// highest returns the highest priority that does not raise a URL that is queued or waits.
func (s *seen) highest() int8 {
	if s.fixed || s.state == Waiting {
		return math.MaxInt8
	}
	return s.priority
}

// at returns the place of a URL's valid entry after e. Only URLs that were raised have one.
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

// raise writes an entry of l that replaces those of its URL.
func (g *group) raise(o *op, l link, u *url) error {
	h := g.open(l)
	h.Queue.disk.raised = true
	e, err := g.enter(o, l, h)
	o.raises = append(o.raises, raise{fresh{h, e, false}, l.key, u.at, u.raised})
	u.priority, u.rank, u.raised, u.at, u.changed = l.Priority, packed.Rank(l.Score), true, e.place, true
	return err
}

// buryStale deletes the stale entries.
func (g *group) buryStale() error {
	for _, x := range g.w.lanes.takeStale() {
		if err := g.batch.Delete(appendQueue(g.key[:0], x.host, x.place), nil); err != nil {
			return err
		}
	}
	return nil
}

// buryRest deletes the stale entries of a host without pending URLs.
func (g *group) buryRest(h *host) error {
	d := &h.Queue.disk
	if !d.raised || d.queued+d.waiting > 0 {
		return nil
	}
	d.raised = false
	return g.batch.DeleteRange(appendQueue(nil, h.Name, place{}), appendQueue(nil, h.Name, end()), nil)
}

// forgetRest removes them from memory, too, and marks that nothing is left to read from disk.
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

// lease makes a lease for an entry that was taken from the head of h. It returns a lease together with an error only if just the
// Request is unreadable. The error is a *staleError if the entry must be discarded.
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
		// The entry that replaces this one is on disk, or about to be, and not yet claimable.
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

// hold marks a URL as claimed, so that it can no longer be raised. It fails if the URL is being raised, or if any raise has begun
// since.
func (l *lanes) hold(k urlKey, since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, raising := l.raising[k]; raising || l.raises != since {
		return false
	}
	l.claimed[k] = struct{}{}
	return true
}

// beginRaise reports whether a URL can be raised: it is not claimed, or its claim ends earlier in the same group. The URL cannot be
// claimed until the raise is published.
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

// publishRaise makes the new entry of a URL claimable, and removes the one that an earlier raise wrote.
func (l *lanes) publishRaise(r raise) {
	delete(l.raising, r.key)
	l.published = max(l.published, r.number+1)
	l.add(r.host, r.entry)
	if r.again {
		l.remove(r.host, r.before)
		l.stale = append(l.stale, stale{r.host.Name, r.before})
	}
}

// remove removes an entry from the head of h, if it is there.
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

// discard forgets an entry that was taken from the head of h, and schedules its deletion.
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
