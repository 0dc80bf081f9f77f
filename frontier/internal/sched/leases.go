package sched

import "time"

// Leases holds the claims that were granted and not settled. T is the store's data about a claim.
type Leases[T any] struct {
	timeout int64
	last    uint64
	byID    map[uint64]*lease[T]
	kept    map[uint64]T // leases that no longer expire
	oldest  *lease[T]
	newest  *lease[T]
}

// lease is an element of a list that is ordered by deadline. This is the order of the grants, because all leases of a store have the same
// duration.
type lease[T any] struct {
	id         uint64
	deadline   int64
	prev, next *lease[T]
	item       T
}

// NewLeases makes an empty Leases. Its leases expire after timeout, or never if timeout is 0 or less. Their IDs count from first+1.
func NewLeases[T any](timeout time.Duration, first uint64) *Leases[T] {
	return &Leases[T]{timeout: int64(timeout), last: first, byID: map[uint64]*lease[T]{}, kept: map[uint64]T{}}
}

// Grant makes a lease and returns its ID and its deadline, which is Never if leases do not expire.
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

// Keep makes a lease last until EndKept: it does not expire, and End does not find it. ok is false if there is no lease with this ID.
func (l *Leases[T]) Keep(id uint64) (item T, ok bool) {
	if item, ok = l.End(id); ok {
		l.kept[id] = item
	}
	return item, ok
}

// EndKept removes the kept leases with these IDs and returns their items. If one of them is not kept or its ID occurs twice, EndKept
// removes none, and ok is false.
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

// Next returns the time at which the next lease expires: the first instant after its deadline. It returns Never if none expires.
func (l *Leases[T]) Next() int64 {
	if l.oldest == nil || l.oldest.deadline == Never {
		return Never
	}
	return l.oldest.deadline + 1
}

// Expire removes the oldest lease if it has expired at the time now, and returns its item.
func (l *Leases[T]) Expire(now int64) (item T, ok bool) {
	if l.Next() > now {
		return item, false
	}
	return l.End(l.oldest.id)
}
