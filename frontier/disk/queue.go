package disk

import "slices"

// queue is what the store keeps in memory of one host.
//
// What is claimable and has its place before from is in memory, in head. What has its place at from
// or behind it is on disk alone and is read from there on: never from the queue's beginning, where
// what was deleted lies.
type queue struct {
	name string
	from place
	head *head  // nil: nothing is claimable before from, nothing claimed and nobody reading
	disk onDisk // the writer's own
}

// onDisk is what the writer changes of a host's record, as last written.
type onDisk struct {
	ready   int64
	queued  int32
	waiting int32
}

type head struct {
	entries []entry       // in order
	out     []place       // claimed; on disk they are still queued
	reading chan struct{} // not nil: someone reads entries from disk, and closes it in the end
	late    []entry       // what became claimable meanwhile
	size    int           // of entries, in bytes
	counted int           // the size heads knows of
	newer   *host         // in heads, if there are entries
	older   *host
	listed  bool
}

// entry is a claimable URL.
type entry struct {
	place
	value []byte // the stored Request; nil: to be read
}

func (e entry) size() int { return entryOverhead + len(e.value) }

const entryOverhead = 48 // bytes of an entry beside its value

func (q *queue) open() *head {
	if q.head == nil {
		q.head = &head{}
	}
	return q.head
}

// add makes an entry claimable.
func (s *Store) add(h *host, e entry) {
	q := &h.Queue
	switch {
	case q.head != nil && q.head.reading != nil:
		q.head.late = append(q.head.late, e)
	case e.before(q.from):
		q.insert(e, s.t.head)
		s.heads.update(h)
	}
}

// insert puts e, whose place is before from, into the head. What is more than most is left to the disk.
func (q *queue) insert(e entry, most int) {
	d := q.open()
	i, _ := slices.BinarySearchFunc(d.entries, e.place, func(a entry, p place) int {
		if a.before(p) {
			return -1
		}
		return 1
	})
	d.entries = slices.Insert(d.entries, i, e)
	d.size += e.size()
	if len(d.entries) > most {
		q.drop(most)
	}
}

// drop leaves the entries from i on to the disk.
func (q *queue) drop(i int) {
	d := q.head
	q.from = d.entries[i].place
	for _, e := range d.entries[i:] {
		d.size -= e.size()
	}
	clear(d.entries[i:])
	d.entries = d.entries[:i]
}

// pop takes the first entry out of the head, which has one.
func (s *Store) pop(h *host) entry {
	d := h.Queue.head
	e := d.entries[0]
	d.entries[0] = entry{}
	d.entries = d.entries[1:]
	d.size -= e.size()
	d.out = append(d.out, e.place)
	s.heads.update(h)
	return e
}

// returned notes that p is no longer claimed.
func (s *Store) returned(h *host, p place) {
	d := h.Queue.head
	if i := slices.Index(d.out, p); i >= 0 {
		d.out = slices.Delete(d.out, i, i+1)
	}
	s.heads.update(h)
}

// heads bounds the memory of all heads: the one that was longest without use is left to the disk.
type heads struct {
	limit          int
	size           int
	newest, oldest *host
}

// update takes account of what changed in h's head.
func (l *heads) update(h *host) {
	d := h.Queue.head
	l.size += d.size - d.counted
	d.counted = d.size
	l.unlist(h)
	switch {
	case len(d.entries) > 0:
		l.list(h)
	case len(d.out) == 0 && d.reading == nil:
		h.Queue.head = nil
	default:
		d.entries = nil
	}
	for l.size > l.limit && l.oldest != h {
		old := l.oldest
		old.Queue.drop(0)
		l.update(old)
	}
}

func (l *heads) list(h *host) {
	d := h.Queue.head
	d.listed, d.older = true, l.newest
	if l.newest != nil {
		l.newest.Queue.head.newer = h
	} else {
		l.oldest = h
	}
	l.newest = h
}

func (l *heads) unlist(h *host) {
	d := h.Queue.head
	if !d.listed {
		return
	}
	if d.newer != nil {
		d.newer.Queue.head.older = d.older
	} else {
		l.newest = d.older
	}
	if d.older != nil {
		d.older.Queue.head.newer = d.newer
	} else {
		l.oldest = d.newer
	}
	d.listed, d.newer, d.older = false, nil, nil
}
