package disk

import (
	"cmp"
	"slices"

	"github.com/amble-crawler/amble/frontier/internal/pq"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// window holds the waiting URLs that are due soon. All other waiting URLs are only on disk, and are loaded before they are due.
type window struct {
	soon    pq.Heap[waiter]
	horizon int64 // URLs that are due at this time or later are only on disk
	most    int   // maximum number of URLs in soon
	loading bool
	again   chan struct{} // closed when loading ends
	late    []waiter      // URLs that began to wait during loading and that are due at the horizon or later
}

// waiter is a waiting URL.
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

// behind reports whether a URL that is only on disk may be due.
func (w *window) behind(now int64) bool { return w.horizon <= now }

// low reports whether more URLs must be loaded.
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

// shrink drops the half of the URLs that is due later; it will be loaded again. URLs that are due at the same time are not separated.
func (w *window) shrink() {
	all := slices.SortedFunc(slices.Values(w.soon.All()), func(a, b waiter) int { return cmp.Compare(a.due, b.due) })
	half := len(all) / 2
	for half > 0 && all[half-1].due == all[half].due {
		half--
	}
	if half == 0 {
		return // all URLs are due at the same time, so they cannot be divided
	}
	w.horizon = all[half].due
	w.soon = pq.Heap[waiter]{}
	for _, e := range all[:half] {
		w.soon.Push(e)
	}
}

// whenLoaded returns a channel that is closed when loading ends.
func (w *window) whenLoaded() <-chan struct{} {
	if w.again == nil {
		w.again = make(chan struct{})
	}
	return w.again
}

// stopLoading ends loading and wakes the callers that wait for whenLoaded.
func (w *window) stopLoading() {
	w.loading = false
	if w.again != nil {
		close(w.again)
		w.again = nil
	}
}

// loaded adds the URLs that were read from disk, which are due from the old horizon to the new one.
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

// loadLow loads the URLs that are due next if few are in memory, and reports whether it did. Only the writer calls it, so these URLs do
// not change on disk in the meantime.
func (l *lanes) loadLow() (loaded bool) {
	from, low := l.beginLoading()
	if !low {
		return false
	}
	read, horizon, err := l.disk.waiting(l.clock, from, l.t.window/2)
	if err != nil {
		_ = l.disk.failure.fail(err)
	}
	l.endLoading(read, horizon, err)
	return true
}

func (l *lanes) beginLoading() (from int64, low bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.waiting.low() || l.ended != nil {
		return 0, false
	}
	l.waiting.loading = true
	return l.waiting.horizon, true
}

func (l *lanes) endLoading(read []due, horizon int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.stopLoading()
	if err != nil {
		return
	}
	l.waiting.loaded(l.hostsOf(read), horizon)
	l.advance(l.clock.Now())
	l.notify()
}

// stopLoading ends the loading of waiting URLs after the writer has ended.
func (l *lanes) stopLoading() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.stopLoading()
}

// due is the contents of a d key.
type due struct {
	place
	at   int64 // time on lanes.clock
	host uint64
}

// waiting reads URLs that wait until the time from or later, about the number most. rest is the time at which the next URL is due.
func (e *engine) waiting(c clock, from int64, most int) (all []due, rest int64, err error) {
	rest = sched.Never
	start := appendDue(nil, c.unix(from), 0, place{})
	err = e.scan(start, []byte{tagDue + 1}, func(key, _ []byte) (bool, error) {
		unix, host, p, err := readDue(key)
		if err != nil {
			return false, err
		}
		d := due{p, c.at(unix), host}
		if n := len(all); n >= most && d.at != all[n-1].at {
			rest = d.at
			return false, nil
		}
		all = append(all, d)
		return true, nil
	})
	return all, rest, err
}

// hostsOf finds the hosts of waiting URLs. If a host is not in memory, the record is damaged, and hostsOf drops it.
func (l *lanes) hostsOf(all []due) []waiter {
	ws := make([]waiter, 0, len(all))
	for _, d := range all {
		if h := l.hosts.Find(d.host); h != nil {
			ws = append(ws, waiter{d.place, d.at, h})
		}
	}
	return ws
}
