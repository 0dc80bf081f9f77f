package crawler

import (
	"context"
	"math"
	"sync"
)

// budget hands out one ticket for each page that may still be fetched, so that a crawl of N pages fetches
// exactly N however many workers it has. A worker takes a ticket before it claims a URL and reports
// afterwards whether that was a page; for any other claim the ticket is returned.
type budget struct {
	mu   sync.Mutex
	cond *sync.Cond
	left int // tickets not handed out
	out  int // tickets in workers' hands

	unlimited bool
}

func newBudget(pages int) *budget {
	b := &budget{left: pages, unlimited: pages < 0}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// take waits for a ticket. It returns false when there will be no more, or when ctx has ended.
func (b *budget) take(ctx context.Context) bool {
	if b.unlimited {
		return ctx.Err() == nil
	}
	defer context.AfterFunc(ctx, b.wake)()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left == 0 && b.out > 0 && ctx.Err() == nil {
		b.cond.Wait()
	}
	if b.left == 0 || ctx.Err() != nil {
		return false
	}
	b.left--
	b.out++
	return true
}

// wake takes the lock so that no waiter is between its check of ctx and its Wait.
func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cond.Broadcast()
}

// settle ends a ticket: it was spent on a page, or is returned.
func (b *budget) settle(spent bool) {
	if b.unlimited {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out--
	if !spent {
		b.left++
	}
	b.cond.Broadcast()
}

// spend removes the tickets of pages that were fetched before the process began.
func (b *budget) spend(pages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(0, b.left-pages)
}

// unspent returns how many tickets nobody has.
func (b *budget) unspent() int {
	if b.unlimited {
		return math.MaxInt
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// exhausted reports whether every ticket was spent.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.unlimited && b.left == 0 && b.out == 0
}
