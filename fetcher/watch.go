package fetcher

import (
	"context"
	"sync"
	"time"
)

// rateWindow is the time for which a body may arrive more slowly than Config.MinRate before the fetch ends.
const rateWindow = 5 * time.Second

// watch ends one fetch, by cancelling its context, when a time limit is reached. One timer serves all limits. When bytes arrive, only the
// clock is updated, which the timer checks when it fires.
type watch struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil after stop
	still bool        // all limits are suspended
	clock clock
}

// clock is the state of all time limits of a fetch. Its methods get the time as an argument.
type clock struct {
	total  time.Time     // time at which FetchTimeout ends
	base   time.Time     // time at which the current phase began
	limit  time.Duration // limit of the current phase; 0: none
	reason string        // reason code if limit is exceeded

	minRate int64
	window  time.Time // start of the current window of rateWindow; zero unless a body is read
	bytes   int64     // bytes received in the window
}

// next returns the time until the next limit can be exceeded, or a limit that is exceeded at the time now.
func (c *clock) next(now time.Time) (time.Duration, *limitError) {
	wait := c.total.Sub(now)
	if wait <= 0 {
		return 0, &limitError{reasonFetchTimeout}
	}
	if c.limit > 0 {
		left := c.base.Add(c.limit).Sub(now)
		if left <= 0 {
			return 0, &limitError{c.reason}
		}
		wait = min(wait, left)
	}
	if c.minRate > 0 && !c.window.IsZero() {
		left := c.window.Add(rateWindow).Sub(now)
		if left <= 0 {
			if c.bytes < c.minRate*int64(rateWindow/time.Second) {
				return 0, &limitError{reasonSlow}
			}
			c.window, c.bytes = now, 0
			left = rateWindow
		}
		wait = min(wait, left)
	}
	return wait, nil
}

// newWatch starts watching. stop must be called at the end.
func newWatch(cancel context.CancelCauseFunc, now time.Time, total time.Duration, minRate int64) *watch {
	w := &watch{cancel: cancel, clock: clock{total: now.Add(total), minRate: minRate}}
	w.mu.Lock()
	w.timer = time.AfterFunc(total, w.fire)
	w.mu.Unlock()
	return w
}

func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule(time.Now())
}

// schedule sets the timer for the next limit. If a limit is exceeded, it ends the fetch. The caller holds w.mu.
func (w *watch) schedule(now time.Time) {
	if w.timer == nil || w.still {
		return
	}
	wait, err := w.clock.next(now)
	if err != nil {
		w.cancel(err)
		return
	}
	w.timer.Reset(wait)
}

// enter begins a phase that is limited to limit.
func (w *watch) enter(reason string, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.clock.base, w.clock.limit, w.clock.reason = now, limit, reason
	w.schedule(now)
}

// idle begins a phase in which bytes must keep arriving: the time between them is limited to limit. With body, the minimum rate applies,
// too.
func (w *watch) idle(limit time.Duration, body bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.clock.base, w.clock.limit, w.clock.reason = now, limit, reasonIdleTimeout
	if body {
		w.clock.window, w.clock.bytes = now, 0
	}
	w.schedule(now)
}

// touch records that n bytes have arrived.
func (w *watch) touch(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.bytes += int64(n)
	if w.clock.reason == reasonIdleTimeout {
		w.clock.base = time.Now()
	}
}

// pause suspends all limits until resume is called.
func (w *watch) pause() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := time.Now()
	w.still = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		now := time.Now()
		w.still = false
		w.clock.shift(now.Sub(since))
		w.schedule(now)
	}
}

// shift postpones the ends of all limits by d.
func (c *clock) shift(d time.Duration) {
	c.total, c.base = c.total.Add(d), c.base.Add(d)
	if !c.window.IsZero() {
		c.window = c.window.Add(d)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
