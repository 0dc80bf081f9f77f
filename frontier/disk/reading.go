package disk

import (
	"fmt"
	"slices"
)

// reading is somebody's reading of the head of a queue from disk. What it must know was noted when it began.
type reading struct {
	host      *host
	ended     chan struct{} // closed in the end
	from      place
	out       []place // claimed
	published uint64
	waiting   bool  // some of the host's URLs wait
	asOf      int64 // until when they may have waited, in Unix nanoseconds
}

// firstEntry takes the first entry of h, which has one, reading it from disk if need be.
func (l *lanes) firstEntry(h *host) (entry, error) {
	for {
		e, r, mine := l.popOrRead(h)
		switch {
		case r == nil:
			return e, nil
		case !mine:
			<-r.ended
		default:
			read, next, err := l.read(r)
			if err := l.endReading(r, read, next, err); err != nil {
				return entry{}, err
			}
		}
	}
}

// popOrRead takes the first entry of h. If it is not in memory, popOrRead returns the reading that is under way, or
// begins one, which is the caller's then.
func (l *lanes) popOrRead(h *host) (e entry, r *reading, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := h.Queue.open()
	switch {
	case d.reading != nil:
		return entry{}, d.reading, false
	case len(d.entries) > 0:
		return l.pop(h), nil, false
	}
	d.reading = &reading{
		host: h, ended: make(chan struct{}),
		from: h.Queue.from, out: slices.Clone(d.out), published: l.published,
		waiting: h.Waiting() > 0,
		asOf:    l.clock.unix(min(l.asOf, l.waiting.horizon-1)), // what is due later is still to be announced
	}
	return entry{}, d.reading, true
}

// endReading puts what was read, and what became claimable meanwhile, into the head of the queue.
func (l *lanes) endReading(r *reading, read []entry, next place, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, d := &r.host.Queue, r.host.Queue.head
	close(r.ended)
	d.reading = nil
	late := d.late
	d.late = nil
	if err != nil {
		return err
	}
	if len(read)+len(late) == 0 && next == end() {
		return fmt.Errorf("%w: the queue of %s ends too early", errCorrupt, q.name)
	}
	q.from = next
	for _, e := range read {
		q.insert(e, l.t.head)
	}
	for _, e := range late {
		if e.before(q.from) {
			q.insert(e, l.t.head)
		}
	}
	return nil
}

// read reads entries that can be claimed, and the place of the first that it has not read.
func (l *lanes) read(r *reading) (all []entry, next place, err error) {
	read, next, err := l.readEntries(r.host.Name, r.from)
	if err == nil {
		all, err = l.claimable(r, read)
	}
	return all, next, err
}

// readEntries reads what lies from a place on, and where the rest begins.
func (l *lanes) readEntries(hash uint64, from place) (all []entry, next place, err error) {
	next = end()
	err = l.disk.scan(appendQueue(nil, hash, from), appendQueue(nil, hash, end()), func(key, value []byte) (bool, error) {
		p, err := queuePlace(key)
		if err != nil {
			return false, err
		}
		if len(all) == l.t.read {
			next = p
			return false, nil
		}
		all = append(all, entry{p, slices.Clone(value)})
		return true, nil
	})
	return all, next, err
}

// claimable drops what is not published, what is claimed and what still waits.
func (l *lanes) claimable(r *reading, all []entry) ([]entry, error) {
	kept := all[:0]
	for _, e := range all {
		if e.number >= r.published || slices.Contains(r.out, e.place) {
			continue
		}
		waits, err := l.waits(r, e)
		if err != nil {
			return nil, err
		}
		if !waits {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// waits reports whether the URL of e waits longer than until r.asOf.
func (l *lanes) waits(r *reading, e entry) (bool, error) {
	if !r.waiting {
		return false, nil
	}
	url, err := urlHash(e.value)
	if err != nil {
		return false, err
	}
	st, err := l.disk.seen(urlKey{r.host.Name, url})
	return st.state == Waiting && st.due > r.asOf, err
}
