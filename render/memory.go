package render

import (
	"container/list"
	"sync"
)

// shelf is a box that keeps answers in memory.
type shelf struct {
	limit int64

	mu    sync.Mutex
	size  int64
	items map[address]*item
	idle  *list.List // list of *item: unused answers, least recently used first
}

type item struct {
	ref  address
	data []byte
	uses int
	at   *list.Element // element of idle; nil while the answer is in use
}

func newShelf(limit int64) *shelf {
	return &shelf{limit: limit, items: map[address]*item{}, idle: list.New()}
}

func (s *shelf) put(r address, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.items[r]; ok {
		s.use(it)
		return nil
	}
	for s.size+int64(len(b)) > s.limit {
		first := s.idle.Front()
		if first == nil {
			return ErrFull
		}
		it := s.idle.Remove(first).(*item)
		delete(s.items, it.ref)
		s.size -= int64(len(it.data))
	}
	s.items[r] = &item{ref: r, data: b, uses: 1}
	s.size += int64(len(b))
	return nil
}

func (s *shelf) get(r address) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.items[r]; ok {
		return it.data, nil
	}
	return nil, ErrGone
}

func (s *shelf) hold(r address) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.items[r]
	if !ok {
		return ErrGone
	}
	s.use(it)
	return nil
}

// use records one more use of an item. The caller must hold mu.
func (s *shelf) use(it *item) {
	it.uses++
	if it.at != nil {
		s.idle.Remove(it.at)
		it.at = nil
	}
}

func (s *shelf) release(r address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.items[r]
	if !ok || it.uses == 0 {
		return
	}
	if it.uses--; it.uses == 0 {
		it.at = s.idle.PushBack(it)
	}
}

// drop does nothing: an answer in memory cannot be damaged.
func (*shelf) drop(address) {}
