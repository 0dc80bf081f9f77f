package disk

import "errors"

// write is the writer: it turns what waits in the inbox into one batch after the other. What comes
// while a batch is built and applied is the next one: the busier the store, the more share a sync.
// Only this goroutine writes, so that what it read is still so when it writes.
func (s *Store) write() {
	var g *group
	defer func() {
		if g != nil { // the engine has ended this goroutine
			s.publish(g, errors.New("the engine gave up"))
		}
		s.mu.Lock()
		s.waiting.stopLoading()
		s.mu.Unlock()
		close(s.groups)
	}()
	for {
		ops := s.take()
		if len(ops) == 0 {
			return
		}
		g = s.newGroup(ops)
		err := s.failure()
		if err == nil {
			err = g.build()
		}
		if err == nil {
			err = s.apply(g.batch)
		}
		if err != nil {
			s.publish(g, err)
		} else {
			s.cache.fit(s.stored.urls())
			large := g.batch.Len() > s.c.MemTableSize/2
			s.groups <- g
			if large {
				s.flush()
			}
		}
		g = nil
	}
}

// flush waits until what was written has left memory. The engine keeps a batch that is too large for a
// memtable as it is, and two more of them before it lets writes wait.
func (s *Store) flush() {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return // the next write fails, too
	}
	select {
	case <-flushed:
	case <-s.gone:
	}
}

// sync waits until each group is durable and lets its effects be seen.
func (s *Store) sync() {
	for g := range s.groups {
		err := g.batch.SyncWait()
		if err == nil {
			s.last.note(g.wrote)
		}
		s.publish(g, err)
		_ = g.batch.Close()
	}
}

func (s *Store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
