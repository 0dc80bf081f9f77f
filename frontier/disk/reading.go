package disk

import (
	"fmt"
	"slices"

	"github.com/amble-crawler/amble/frontier"
)

// firstEntry removes and returns the first entry of h's queue, which must not be empty. It reads entries from disk if necessary.
func (l *lanes) firstEntry(h *host) (entry, error) {
	for {
		e, r, mine := l.popOrRead(h)
		switch {
		case r == nil:
			return e, nil
		case !mine:
			<-r.ended
		default:
			read, next, err := r.read(l.disk, l.t.read)
			if err := l.endReading(r, read, next, err); err != nil {
				return entry{}, err
			}
		}
	}
}

// popOrRead removes and returns the first entry of h's queue. If it is not in memory, popOrRead returns the reading that is in progress,
// or a new one; mine is true if the caller must carry it out.
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
		asOf:    l.clock.unix(min(l.asOf, l.waiting.horizon-1)), // advance queues the URLs that become due later
	}
	return entry{}, d.reading, true
}

// endReading adds to the head the entries that were read, and those that became claimable in the meantime.
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

// read reads entries, at most the number most, and returns those that can be claimed. next is the first place that was not read.
func (r *reading) read(e *engine, most int) (all []entry, next place, err error) {
	all, next, err = e.queued(r.host.Name, r.from, most)
	if err == nil {
		all, err = r.claimable(e, all)
	}
	return all, next, err
}

// queued reads entries of a host, from a place on, at most the number most. next is the first place that was not read.
func (e *engine) queued(host uint64, from place, most int) (all []entry, next place, err error) {
	next = end()
	err = e.scan(appendQueue(nil, host, from), appendQueue(nil, host, end()), func(key, value []byte) (bool, error) {
		p, err := queuePlace(key)
		if err != nil {
			return false, err
		}
		if len(all) == most {
			next = p
			return false, nil
		}
		all = append(all, entry{p, slices.Clone(value)})
		return true, nil
	})
	return all, next, err
}

// claimable returns the entries of all that are published, not claimed and not waiting.
func (r *reading) claimable(e *engine, all []entry) ([]entry, error) {
	kept := all[:0]
	for _, x := range all {
		if x.number >= r.published || slices.Contains(r.out, x.place) {
			continue
		}
		waits, err := r.waits(e, x)
		if err != nil {
			return nil, err
		}
		if !waits {
			kept = append(kept, x)
		}
	}
	return kept, nil
}

// waits reports whether the URL of x must wait for longer than r.asOf.
func (r *reading) waits(e *engine, x entry) (bool, error) {
	if !r.waiting {
		return false, nil
	}
	url, err := urlHash(x.value)
	if err != nil {
		return false, err
	}
	st, err := e.seen(urlKey{r.host.Name, url})
	return st.state == Waiting && st.due > r.asOf, err
}

// lease reads the record of an entry that was taken from the head of h. It returns both a lease and an error if only the Request is
// unreadable. The error is a *staleError if the URL has another valid entry.
func (e *engine) lease(h *host, taken entry) (l *lease, r frontier.Request, err error) {
	if taken.value == nil {
		taken.value, err = e.get(appendQueue(nil, h.Name, taken.place))
	}
	var url uint64
	if err == nil {
		url, err = urlHash(taken.value)
	}
	if err != nil {
		return nil, r, err
	}
	l = &lease{entry: taken, host: h, key: urlKey{h.Name, url}}
	st, err := e.seen(l.key)
	if err != nil {
		return nil, r, err
	}
	if st.isStale(taken.place) {
		return nil, r, &staleError{st.at}
	}
	if st.state != Queued && st.state != Waiting {
		return nil, r, fmt.Errorf("%w: a queued URL is in state %d", errCorrupt, st.state)
	}
	l.depth, l.attempt, l.due = st.depth, st.attempt, st.due
	r, err = readRequest(h.Queue.name, taken.value)
	r.Depth, r.Priority, r.Score = l.depth, l.priority(), l.score()
	return l, r, err
}
