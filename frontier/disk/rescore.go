package disk

import (
	"bytes"
	"context"
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// A URL is rescored as it is raised, by another entry, but the entry may have a lower level. The place of the earlier entry is known, so
// the next group deletes it.

// rescoreBatch limits the entries that Rescore reads at a time. The entries that change form one group.
const rescoreBatch = 512

// Rescore implements frontier.Frontier. It reads the queues from disk, some hundred Requests at a time. The changes are on disk
// when it returns.
func (s *Store) Rescore(ctx context.Context, score func(frontier.Request) float64) (changed int, err error) {
	if err := s.calls.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.leave()
	newest := s.lanes.newest() // Rescore ignores later entries, including its own
	for from := []byte{tagQueue}; from != nil; {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		var all []placed
		if all, from, err = s.engine.entries(from, rescoreBatch); err != nil {
			return changed, s.engine.failure.fail(err)
		}
		o := &op{steps: make([]step, 1), rescore: true}
		for _, e := range all {
			if e.number >= newest {
				continue
			}
			if err := s.rescore(o, e, score); err != nil {
				return changed, s.engine.failure.fail(err)
			}
		}
		if o.links = len(o.steps[0].links); o.links == 0 {
			continue
		}
		if err := s.writer.write(o); err != nil {
			return changed, err
		}
		changed += o.rescored
	}
	return changed, nil
}

// placed is an entry with its host.
type placed struct {
	host uint64
	entry
}

// entries reads entries of all hosts, from a key on, at most the number most. next is the first key that was not read, or nil.
func (e *engine) entries(from []byte, most int) (all []placed, next []byte, err error) {
	err = e.scan(from, []byte{tagQueue + 1}, func(key, value []byte) (bool, error) {
		if len(all) == most {
			next = bytes.Clone(key)
			return false, nil
		}
		p, err := queuePlace(key)
		if err == nil {
			all = append(all, placed{hostHash(key), entry{p, slices.Clone(value)}})
		}
		return true, err
	})
	return all, next, err
}

// rescore adds a link for e to o if e is the valid entry of a queued URL and its score changes. It returns the error of the disk.
func (s *Store) rescore(o *op, e placed, score func(frontier.Request) float64) error {
	url, err := urlHash(e.value)
	if err != nil {
		return err
	}
	k := urlKey{e.host, url}
	st, err := s.engine.seen(k)
	if err != nil || st.state != Queued || st.isStale(e.place) {
		return err
	}
	name, pending := s.lanes.nameOf(k)
	r, err := readRequest(name, e.value)
	if !pending || err != nil {
		return nil //nolint:nilerr // its claim returns the error
	}
	r.Depth, r.Priority, r.Score = st.depth, e.priority(), e.score()
	if r.Score = score(r); packed.Rank(r.Score) == packed.RankOf(e.fine) {
		return nil
	}
	o.steps[0].links = append(o.steps[0].links, link{Request: &r, id: s.c.Key(r.URL), key: k, from: e.place})
	o.bytes += len(e.value)
	return nil
}

// rescore moves a queued URL to the place of its new score.
func (g *group) rescore(o *op, l link, u *url) error {
	switch {
	case u.state != Queued || u.released || u.raised && u.at != l.from:
		return nil
	case !u.raised: // the entry is gone if the URL was claimed meanwhile and returned to another place
		if v, err := g.w.engine.get(appendQueue(g.key[:0], l.key.host, l.from)); v == nil {
			return err
		}
	}
	if !g.w.lanes.beginRaise(l.key, false) {
		return nil
	}
	err := g.raise(o, l, u)
	r := &o.raises[len(o.raises)-1]
	r.before, r.again = l.from, true
	o.rescored++
	return err
}

// newest returns the lowest number above those of all claimable entries.
func (l *lanes) newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.published
}

// nameOf returns the name of a URL's host. ok is false if the URL is claimed or if the host has no pending URLs.
func (l *lanes) nameOf(k urlKey) (name string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts.Find(k.host)
	if _, claimed := l.claimed[k]; claimed || h == nil {
		return "", false
	}
	return h.Queue.name, true
}
