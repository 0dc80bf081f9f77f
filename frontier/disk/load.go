package disk

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// loadSecret reads the secret for the hashes, or creates it. The first group of a journal contains only the secret.
func (s *Store) loadSecret() error {
	b, err := s.engine.get(keySecret)
	if err != nil {
		return err
	}
	mark, err := s.engine.loadMark()
	if err == nil {
		err = s.checkJournal(b != nil, mark)
	}
	if err != nil {
		return err
	}
	if b == nil {
		b = newSecret()
		if err := s.keepSecret(b); err != nil {
			return err
		}
	}
	s.secret, err = secretOf(b)
	return err
}

func (s *Store) keepSecret(secret []byte) error {
	b := s.engine.db.NewBatch()
	if err := b.Set(keySecret, secret, nil); err != nil {
		return err
	}
	if err := s.c.journaled(s.dir, b); err != nil {
		return err
	}
	return s.engine.db.Apply(b, pebble.Sync)
}

// loadTime returns the time of the last write, or 0 if there was none.
func (e *engine) loadTime() (unix int64, err error) {
	b, err := e.get(keyTime)
	if err != nil || b == nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, errCorrupt
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

func (e *engine) loadCounters() (stored, error) {
	b, err := e.get(keyCounters)
	if err != nil || b == nil {
		return stored{}, err
	}
	return readStored(b)
}

// load reads the hosts that have pending URLs or are not ready yet, and waiting URLs. It returns the number of pending URLs.
func (l *lanes) load(counts stored) (pending int, err error) {
	l.published, l.done, l.rejected = counts.number, counts.done, counts.rejected
	now := l.clock.Now()
	err = l.disk.scanPrefix([]byte{tagHost}, func(key, value []byte) (bool, error) {
		r, err := readHost(value)
		if err != nil || len(key) != 9 {
			return false, errors.Join(err, errCorrupt)
		}
		from, err := l.firstPlace(hostHash(key), r)
		if err != nil {
			return false, err
		}
		l.loadHost(hostHash(key), r, from, now)
		pending += r.queued + r.waiting
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	return pending, l.loadWaiting()
}

// firstPlace returns the place of a host's first URL with BestFirst, otherwise a place that is not after it.
func (l *lanes) firstPlace(hash uint64, r hostRecord) (place, error) {
	if !l.c.BestFirst || r.queued == 0 {
		return place{}, nil
	}
	_, first, err := l.disk.queued(hash, place{}, 0)
	return first, err
}

func (l *lanes) loadHost(hash uint64, r hostRecord, from place, now int64) {
	ready, pending := l.clock.at(r.ready), r.queued+r.waiting
	if pending == 0 && ready <= now {
		l.dead = append(l.dead, hash)
		return
	}
	if pending > 0 && l.c.ReopenDelay > 0 {
		// The last request of the previous process may be missing from the store.
		ready = max(ready, now+int64(l.c.ReopenDelay))
	}
	h := l.hosts.Open(hash, l.c.HostSlots(r.name))
	h.Queue.name, h.Queue.from = r.name, from
	h.Queue.disk = onDisk{ready: r.ready, queued: int32(r.queued), waiting: int32(r.waiting)}
	h.Rest(l.clock.at(r.ready))
	l.hosts.Delay(h, ready, now)
	if r.queued > 0 {
		l.hosts.Offer(h, r.queued, now)
	}
	if r.waiting > 0 {
		l.hosts.Park(h, r.waiting, now)
	}
}

// loadWaiting reads the waiting URLs that are due now, and some of those that are due next.
func (l *lanes) loadWaiting() error {
	l.asOf = l.clock.Now()
	l.waiting = window{most: l.t.window, horizon: sched.Always}
	for l.waiting.behind(l.asOf) {
		read, horizon, err := l.disk.waiting(l.clock, l.waiting.horizon, l.t.window/2)
		if err != nil {
			return err
		}
		l.waiting.loaded(l.hostsOf(read), horizon)
		l.advance(l.asOf)
	}
	return nil
}
