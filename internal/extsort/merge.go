package extsort

import (
	"bytes"
	"container/heap"
	"errors"
	"io"
	"iter"
)

// Source returns a record with each call, in order, and io.EOF after the last one. A record is valid until the next call.
type Source func() ([]byte, error)

// Merge returns the records of all sources in order. A record is valid until the next one is requested. The sequence ends
// after an error.
func Merge(sources ...Source) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		h := make(heads, 0, len(sources))
		for _, next := range sources {
			record, err := next()
			switch {
			case err == nil:
				h = append(h, head{next, record})
			case !errors.Is(err, io.EOF):
				yield(nil, err)
				return
			}
		}
		for heap.Init(&h); len(h) > 0; {
			if !yield(h[0].record, nil) {
				return
			}
			record, err := h[0].next()
			switch {
			case err == nil:
				h[0].record = record
				heap.Fix(&h, 0)
			case errors.Is(err, io.EOF):
				heap.Pop(&h)
			default:
				yield(nil, err)
				return
			}
		}
	}
}

// head is a source and its next record.
type head struct {
	next   Source
	record []byte
}

// heads is a heap of sources, ordered by their next records.
type heads []head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return bytes.Compare(h[i].record, h[j].record) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(head)) }

func (h *heads) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = head{}
	*h = (*h)[:last]
	return r
}
