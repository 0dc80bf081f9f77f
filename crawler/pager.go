package crawler

import "sync"

// pager hands visits from the workers to the loop over Pages, one at a time: a worker goes on when
// the loop's body is done with its visit.
type pager struct {
	mu      sync.Mutex // held by the worker whose visit is in the loop's hands
	next    chan *Visit
	taken   chan struct{}
	stopped chan struct{} // closed when nobody looks at visits any more
}

func newPager() *pager {
	return &pager{next: make(chan *Visit), taken: make(chan struct{}), stopped: make(chan struct{})}
}

func (p *pager) deliver(v *Visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.next <- v:
	case <-p.stopped:
		return
	}
	select {
	case <-p.taken:
	case <-p.stopped:
	}
}

// discard lets the workers run to their end with nobody looking, and waits for it.
func (p *pager) discard() {
	close(p.stopped)
	for range p.next {
	}
}
