package render

import (
	"container/list"
	"sync"
)

// memoryStore is a box that keeps answers in memory.
type memoryStore struct {
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

func newMemoryStore(limit int64) *memoryStore {
	return &memoryStore{limit: limit, items: map[address]*item{}, idle: list.New()}
}

func (s *memoryStore) put(r address, b []byte) error {
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

func (s *memoryStore) get(r address) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.items[r]; ok {
		return it.data, nil
	}
	return nil, ErrGone
}

func (s *memoryStore) hold(r address) error {
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
func (s *memoryStore) use(it *item) {
	it.uses++
	if it.at != nil {
		s.idle.Remove(it.at)
		it.at = nil
	}
}

func (s *memoryStore) release(r address) {
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
func (*memoryStore) drop(address) {}
