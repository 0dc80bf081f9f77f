// Package pq implements a priority queue.
package pq

// Heap is a binary heap. Its top is the element that comes before all others. The zero Heap is empty.
type Heap[T interface{ Before(T) bool }] struct{ all []T }

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.all) }

// Top returns the first element; the heap must not be empty.
func (h *Heap[T]) Top() T { return h.all[0] }

// All returns the elements in no particular order. The caller must not change them.
func (h *Heap[T]) All() []T { return h.all }

// Push adds e.
func (h *Heap[T]) Push(e T) {
	h.all = append(h.all, e)
	i := len(h.all) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.Before(h.all[parent]) {
			break
		}
		h.all[i] = h.all[parent]
		i = parent
	}
	h.all[i] = e
}

// Pop removes and returns the first element; the heap must not be empty. A heap that has become empty keeps no memory.
func (h *Heap[T]) Pop() T {
	top, n := h.all[0], len(h.all)-1
	last := h.all[n]
	var zero T
	h.all[n] = zero
	h.all = h.all[:n]
	if n == 0 {
		h.all = nil
		return top
	}
	h.down(last)
	return top
}

// down inserts e at the top or below.
func (h *Heap[T]) down(e T) {
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h.all) {
			break
		}
		if c+1 < len(h.all) && h.all[c+1].Before(h.all[c]) {
			c++
		}
		if !h.all[c].Before(e) {
			break
		}
		h.all[i] = h.all[c]
		i = c
	}
	h.all[i] = e
}
