package disk

import (
	"cmp"
	"slices"

	"github.com/amble-crawler/amble/frontier/internal/pq"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// window is the URLs that wait for a time of their own, as far as they are due soon: the others are
// on disk alone, and loaded as the time comes.
type window struct {
	soon    pq.Heap[waiter]
	horizon int64 // what is due at it or later is on disk alone
	most    int   // waiters in memory
	loading bool
	again   chan struct{} // closed when loading ends
	late    []waiter      // what came to wait until the horizon or later while loading
}

// waiter is a URL and when it is due.
type waiter struct {
	place
	due  int64
	host *host
}

func (a waiter) Before(b waiter) bool {
	return a.due < b.due || a.due == b.due && a.place.before(b.place)
}

func (w *window) next() int64 {
	if w.soon.Len() == 0 {
		return w.horizon
	}
	return w.soon.Top().due
}

// behind reports whether something is due that is not in memory.
func (w *window) behind(now int64) bool { return w.horizon <= now }

// low reports whether it is time to load more.
func (w *window) low() bool {
	return !w.loading && w.horizon != sched.Never && w.soon.Len() <= w.most/8
}

func (w *window) add(e waiter) {
	switch {
	case e.due < w.horizon:
		w.soon.Push(e)
		if w.soon.Len() > w.most {
			w.shrink()
		}
	case w.loading:
		w.late = append(w.late, e)
	}
}

// shrink leaves the later half to the disk, those due together on one side.
func (w *window) shrink() {
	all := slices.SortedFunc(slices.Values(w.soon.All()), func(a, b waiter) int { return cmp.Compare(a.due, b.due) })
	half := len(all) / 2
	for half > 0 && all[half-1].due == all[half].due {
		half--
	}
	if half == 0 {
		return // all are due at the same time: there is nothing to choose
	}
	w.horizon = all[half].due
	w.soon = pq.Heap[waiter]{}
	for _, e := range all[:half] {
		w.soon.Push(e)
	}
}

// stopLoading lets go who waits for it.
func (w *window) stopLoading() {
	w.loading = false
	if w.again != nil {
		close(w.again)
		w.again = nil
	}
}

// loaded takes up what was on disk from the old horizon to the new one.
func (w *window) loaded(read []waiter, horizon int64) {
	w.horizon = horizon
	late := w.late
	w.late = nil
	for _, e := range late {
		w.add(e)
	}
	for _, e := range read {
		if !slices.Contains(late, e) && !e.host.Queue.claimed(e.place) {
			w.soon.Push(e)
		}
	}
}

// claimed reports whether p is held, or was and what became of it is not yet published.
func (q *queue) claimed(p place) bool { return q.head != nil && slices.Contains(q.head.out, p) }

// catchUp does what was to happen by now, waiting for the writer to load what is due.
func (s *Store) catchUp() {
	for {
		s.advance(s.clock.Now())
		if !s.waiting.behind(s.asOf) || s.closed || s.err != nil {
			return
		}
		s.tellWriter()
		if s.waiting.again == nil {
			s.waiting.again = make(chan struct{})
		}
		s.await(s.waiting.again)
	}
}

// loadWaiting reads what is due next from disk. It is the writer that calls it.
func (s *Store) loadWaiting() {
	s.mu.Lock()
	s.waiting.loading = true
	if s.waiting.again == nil {
		s.waiting.again = make(chan struct{})
	}
	from := s.waiting.horizon
	s.mu.Unlock()
	read, horizon, err := s.readWaiting(from)
	if err != nil {
		_ = s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.stopLoading()
	if err != nil {
		return
	}
	s.waiting.loaded(s.hostsOf(read), horizon)
	s.advance(s.clock.Now())
	s.notify()
}

// due is a d key.
type due struct {
	place
	at   int64 // on the clock
	host uint64
}

// readWaiting is what is due from a time on, half a window of it, and when the rest is due.
func (s *Store) readWaiting(from int64) (all []due, rest int64, err error) {
	rest = sched.Never
	start := appendDue(nil, s.unix(from), 0, place{})
	err = s.scan(start, []byte{tagDue + 1}, func(key, _ []byte) (bool, error) {
		unix, host, p, err := readDue(key)
		if err != nil {
			return false, err
		}
		e := due{p, s.at(unix), host}
		if n := len(all); n >= s.waiting.most/2 && e.at != all[n-1].at {
			rest = e.at
			return false, nil
		}
		all = append(all, e)
		return true, nil
	})
	return all, rest, err
}

// hostsOf drops what belongs to no host in memory: there is none, unless a record is damaged.
func (s *Store) hostsOf(all []due) []waiter {
	ws := make([]waiter, 0, len(all))
	for _, d := range all {
		if h := s.hosts.Find(d.host); h != nil {
			ws = append(ws, waiter{d.place, d.at, h})
		}
	}
	return ws
}
