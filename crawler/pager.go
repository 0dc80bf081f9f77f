package crawler

import (
	"context"
	"iter"
	"sync"
)

// Pages runs a crawl and yields its visits one at a time, in the order they become final. Breaking
// out of the loop drains the crawl. The last pair may be a nil Visit with Run's error.
//
// The loop's body is a Handler: until the next iteration the Visit is valid and may be added to
// ([Visit.Enqueue], [Visit.Emit]). After Config.Handler it is the second.
func (c *Crawler) Pages(ctx context.Context, seeds ...string) iter.Seq2[*Visit, error] {
	return c.pages(ctx, func(*Config) {}, seeds)
}

// pages is Pages by a Config that may differ from the Crawler's. Somebody will look at the bodies.
func (c *Crawler) pages(ctx context.Context, change func(*Config), seeds []string) iter.Seq2[*Visit, error] {
	return func(yield func(*Visit, error) bool) {
		r, err := c.start(seeds, func(cfg *Config) { cfg.KeepBodies = true; change(cfg) })
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.end(r)
		p := newPager()
		r.deliver = p.deliver
		go func() {
			defer close(p.next)
			_, err = r.crawl(ctx)
		}()
		// Whatever ends the loop (break, a panic in its body), the crawl is drained and awaited.
		defer func() {
			r.drain(FinishDrained)
			p.discard()
		}()
		for v := range p.next {
			if !yield(v, nil) {
				return
			}
			p.taken <- struct{}{}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// pager hands visits from the workers to the loop over Pages, one at a time: a worker continues when
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
