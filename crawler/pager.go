package crawler

import (
	"context"
	"iter"
	"sync"
)

// Pages runs a crawl and yields its visits one at a time, in the order in which they become final. Breaking
// out of the loop drains the crawl. The last pair may be a nil Visit with Run's error.
//
// The loop's body is a Handler: until the next iteration the Visit is valid and may be added to
// ([Visit.Enqueue], [Visit.Emit]). If Config.Handler is set, it is called before the loop's body.
func (c *Crawler) Pages(ctx context.Context, seeds ...string) iter.Seq2[*Visit, error] {
	return c.pages(ctx, func(*Config) {}, seeds)
}

// pages is Pages with a Config that may differ from the Crawler's. Bodies are kept, because the caller may
// look at them.
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
		// However the loop ends (break, a panic in its body), the crawl is drained and awaited.
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

// pager passes visits from the workers to the loop over Pages, one at a time: a worker continues when the
// loop's body is done with its visit.
type pager struct {
	mu      sync.Mutex // held by the worker whose visit the loop's body has
	next    chan *Visit
	taken   chan struct{}
	stopped chan struct{} // closed when the loop takes no more visits
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

// discard lets the workers run to their end without yielding their visits, and waits for it.
func (p *pager) discard() {
	close(p.stopped)
	for range p.next {
	}
}
