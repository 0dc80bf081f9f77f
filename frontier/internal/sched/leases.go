package sched

import "time"

// Leases holds the claims that were granted and not settled. T holds the store's data about each.
type Leases[T any] struct {
	timeout int64
	last    uint64
	byID    map[uint64]*lease[T]
	kept    map[uint64]T // leases that no longer expire
	oldest  *lease[T]
	newest  *lease[T]
}

// lease is an element of the list in order of deadlines, which is the order of grants as all leases of
// a store last equally long.
type lease[T any] struct {
	id         uint64
	deadline   int64
	prev, next *lease[T]
	item       T
}

// NewLeases makes an empty Leases. Its claims are lost after timeout, or never if that is 0 or less. Its IDs count from first+1.
func NewLeases[T any](timeout time.Duration, first uint64) *Leases[T] {
	return &Leases[T]{timeout: int64(timeout), last: first, byID: map[uint64]*lease[T]{}, kept: map[uint64]T{}}
}

// Grant makes a lease and returns its ID and its deadline, or Never if it has none.
func (l *Leases[T]) Grant(item T, now int64) (id uint64, deadline int64) {
	l.last++
	e := &lease[T]{id: l.last, item: item, deadline: Never, prev: l.newest}
	if l.timeout > 0 {
		e.deadline = now + l.timeout
	}
	if e.prev == nil {
		l.oldest = e
	} else {
		e.prev.next = e
	}
	l.newest = e
	l.byID[e.id] = e
	return e.id, e.deadline
}

// End removes a lease and returns its item; ok is false if there is none with this ID.
func (l *Leases[T]) End(id uint64) (item T, ok bool) {
	e := l.byID[id]
	if e == nil {
		return item, false
	}
	delete(l.byID, id)
	if e.prev == nil {
		l.oldest = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.newest = e.prev
	} else {
		e.next.prev = e.prev
	}
	return e.item, true
}

// Keep makes the lease last until EndKept: it does not expire, and End does not find it. ok is false if there is none with this ID.
func (l *Leases[T]) Keep(id uint64) (item T, ok bool) {
	if item, ok = l.End(id); ok {
		l.kept[id] = item
	}
	return item, ok
}

// EndKept removes the kept leases with these IDs, all or none, and returns their items. ok is false if one of them is not kept, or
// is named twice.
func (l *Leases[T]) EndKept(ids []uint64) (items []T, ok bool) {
	items = make([]T, 0, len(ids))
	for _, id := range ids {
		item, ok := l.kept[id]
		if !ok {
			for i, item := range items {
				l.kept[ids[i]] = item
			}
			return nil, false
		}
		items = append(items, item)
		delete(l.kept, id)
	}
	return items, true
}

// Next returns the time at which the next lease is lost: the first instant after its deadline. It returns Never if none has a
// deadline.
func (l *Leases[T]) Next() int64 {
	if l.oldest == nil || l.oldest.deadline == Never {
		return Never
	}
	return l.oldest.deadline + 1
}

// Expire removes the oldest lease if it is lost at now.
func (l *Leases[T]) Expire(now int64) (item T, ok bool) {
	if l.Next() > now {
		return item, false
	}
	return l.End(l.oldest.id)
}
