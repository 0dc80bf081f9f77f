package sched

import (
	"context"
	"sync"
	"time"
)

// Line is the callers that wait for something to claim. Only the one in front watches the clock,
// and only that one is woken; when it leaves it wakes the next. So an event costs one wake-up, not
// one for each caller. The zero Line is empty.
type Line struct {
	front, back *waiter
	armed       int64 // when the front looks again by itself
}

type waiter struct {
	wake       chan struct{}
	prev, next *waiter
}

// Await calls try, with mu held, until it says it is done or ctx ends; the error is then the
// context's. try returns when it is worth calling again, and is called earlier after Notify. The
// caller holds mu, and holds it again when Await returns.
func (l *Line) Await(ctx context.Context, mu *sync.Mutex, c Clock, try func(now int64) (done bool, again int64)) error {
	var w *waiter
	for {
		if err := ctx.Err(); err != nil {
			l.leave(w)
			return err
		}
		done, again := try(c.Now())
		if done {
			l.leave(w)
			return nil
		}
		if w == nil {
			w = l.join()
		}
		l.sleep(ctx, mu, c, w, again)
	}
}

// Notify tells the line that trying is worth it at the time given. Whoever makes something available
// must call it; whoever takes something need not: what it took had been told to the front, which
// will look and find the times as they are then.
func (l *Line) Notify(at int64) {
	if l.front == nil || at >= l.armed {
		return
	}
	select {
	case l.front.wake <- struct{}{}:
	default: // it has been told and not yet looked
	}
}

// sleep waits, without mu, until w is woken, ctx ends or, if w is in front, until again.
func (l *Line) sleep(ctx context.Context, mu *sync.Mutex, c Clock, w *waiter, again int64) {
	var timeout <-chan time.Time
	if l.front == w {
		l.armed = again
		if again != Never {
			t := time.NewTimer(time.Duration(again - c.Now()))
			defer t.Stop()
			timeout = t.C
		}
	}
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-w.wake:
	case <-timeout:
	case <-ctx.Done():
	}
}

func (l *Line) join() *waiter {
	w := &waiter{wake: make(chan struct{}, 1), prev: l.back}
	if w.prev == nil {
		l.front = w
	} else {
		w.prev.next = w
	}
	l.back = w
	return w
}

// leave takes w out; if it was in front, the next one takes its place and looks at once.
func (l *Line) leave(w *waiter) {
	if w == nil {
		return
	}
	first := w.prev == nil
	if first {
		l.front = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.back = w.prev
	} else {
		w.next.prev = w.prev
	}
	if first {
		l.armed = Never
		l.Notify(Always)
	}
}
