package sched

import (
	"context"
	"sync"
	"time"
)

// Line holds the callers that wait for a claim. Only the first caller waits for a timer, and only the first is woken; when it leaves the
// line, it wakes the next one. So an event wakes one caller, not all of them. The zero Line is empty.
type Line struct {
	front, back *waiter
	armed       int64 // time at which the first caller tries again without being woken
}

type waiter struct {
	wake       chan struct{}
	prev, next *waiter
}

// Await calls try, with mu locked, until try returns done or ctx ends; in that case it returns the error of ctx. try also returns the
// time at which it should be called again; after Notify it is called earlier. Await locks and unlocks mu, so the caller must not hold mu.
func (l *Line) Await(ctx context.Context, mu *sync.Mutex, c Clock, try func(now int64) (done bool, again int64)) error {
	var w *waiter
	for {
		next, again, err := l.look(ctx, mu, c, w, try)
		if next == nil {
			return err
		}
		w = next
		w.sleep(ctx, c, again)
	}
}

// look calls try once. If the caller must wait, look returns its waiter and the time until which to sleep. Otherwise it returns no
// waiter, and the error with which Await returns.
func (l *Line) look(ctx context.Context, mu *sync.Mutex, c Clock, w *waiter, try func(now int64) (bool, int64)) (*waiter, int64, error) {
	mu.Lock()
	defer mu.Unlock()
	if err := ctx.Err(); err != nil {
		l.leave(w)
		return nil, 0, err
	}
	done, again := try(c.Now())
	if done {
		l.leave(w)
		return nil, 0, nil
	}
	if w == nil {
		w = l.join()
	}
	if l.front != w {
		return w, Never, nil
	}
	l.armed = again
	return w, again, nil
}

// Notify tells the line that a claim may be possible at a time. Whoever makes a URL available must call it. Whoever claims a URL need
// not, because the first caller in the line was notified and will try.
func (l *Line) Notify(at int64) {
	if l.front == nil || at >= l.armed {
		return
	}
	select {
	case l.front.wake <- struct{}{}:
	default: // w already has a notification to process
	}
}

// sleep waits until w is woken, ctx ends or the time until has come.
func (w *waiter) sleep(ctx context.Context, c Clock, until int64) {
	var timeout <-chan time.Time
	if until != Never {
		t := time.NewTimer(time.Duration(until - c.Now()))
		defer t.Stop()
		timeout = t.C
	}
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

// leave removes w from the line. If w was the first, the next one becomes the first and tries at once.
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
