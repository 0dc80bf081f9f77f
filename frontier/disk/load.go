package disk

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// load reads what the store keeps in memory.
func (s *Store) load() error {
	for _, step := range []func() error{s.loadSecret, s.loadTime, s.loadCounters, s.loadOffsets, s.loadHosts} {
		if err := step(); err != nil {
			return err
		}
	}
	s.asOf = s.clock.Now()
	s.waiting = window{most: s.t.window, horizon: sched.Always}
	for s.waiting.behind(s.asOf) {
		read, horizon, err := s.readWaiting(s.waiting.horizon)
		if err != nil {
			return err
		}
		s.waiting.loaded(s.hostsOf(read), horizon)
		s.advance(s.asOf)
	}
	return nil
}

func (s *Store) loadSecret() error {
	b, err := s.get(keySecret)
	if err != nil {
		return err
	}
	if b == nil {
		b = newSecret()
		if err := s.db.Set(keySecret, b, pebble.Sync); err != nil {
			return err
		}
	}
	s.secret, err = secretOf(b)
	return err
}

// loadTime lets the store's time go on from its last write where the wall clock is behind that: it has been set back since,
// or was wrong then. So nothing waits longer than it had to wait at that write.
func (s *Store) loadTime() error {
	b, err := s.get(keyTime)
	if err != nil || b == nil {
		return err
	}
	if len(b) != 8 {
		return errCorrupt
	}
	written := int64(binary.BigEndian.Uint64(b))
	s.wrote = written
	s.epoch += max(0, written-s.unix(s.clock.Now()))
	return nil
}

func (s *Store) loadCounters() error {
	b, err := s.get(keyCounters)
	if err != nil || b == nil {
		return err
	}
	s.stored, err = readStored(b)
	s.published, s.done, s.rejected = s.stored.number, s.stored.done, s.stored.rejected
	return err
}

// loadHosts brings up the hosts that have something pending or a ready time to come.
func (s *Store) loadHosts() error {
	now := s.clock.Now()
	return s.scanPrefix([]byte{tagHost}, func(key, value []byte) (bool, error) {
		r, err := readHost(value)
		if err != nil || len(key) != 9 {
			return false, errors.Join(err, errCorrupt)
		}
		s.loadHost(hostHash(key), r, now)
		return true, nil
	})
}

func (s *Store) loadHost(hash uint64, r hostRecord, now int64) {
	ready, pending := s.at(r.ready), r.queued+r.waiting
	if pending == 0 && ready <= now {
		s.dead = append(s.dead, hash)
		return
	}
	if pending > 0 && s.c.ReopenDelay > 0 {
		// The last request of the process before may have left no trace.
		ready = max(ready, now+int64(s.c.ReopenDelay))
	}
	h := s.hosts.Open(hash, s.c.HostSlots(r.name))
	h.Queue.name = r.name
	h.Queue.disk = onDisk{ready: r.ready, queued: int32(r.queued), waiting: int32(r.waiting)}
	s.stored.pending += pending
	s.hosts.Delay(h, ready, now)
	if r.queued > 0 {
		s.hosts.Offer(h, r.queued, now)
	}
	if r.waiting > 0 {
		s.hosts.Park(h, r.waiting, now)
	}
}

// scan calls f with the keys from start up to end, in order, until it returns false. What it is
// given is valid until it returns.
func (s *Store) scan(start, end []byte, f func(key, value []byte) (bool, error)) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			ok, err = f(it.Key(), value)
		}
		if err != nil || !ok {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close() // it reports what stopped the iteration, too
}

func (s *Store) scanPrefix(prefix []byte, f func(key, value []byte) (bool, error)) error {
	end := bytes.TrimRight(bytes.Clone(prefix), "\xff") // which have no successor of the same length
	end[len(end)-1]++
	return s.scan(prefix, end, f)
}
