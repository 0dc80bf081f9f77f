package sched

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counter holds a number. Callers of its Line wait until the number is not 0.
type counter struct {
	mu    sync.Mutex
	line  Line
	clock Clock
	n     int
	again int64 // time at which n becomes 1 by itself
	tries int
}

func (c *counter) take(ctx context.Context) error {
	return c.line.Await(ctx, &c.mu, c.clock, func(now int64) (bool, int64) {
		c.tries++
		if now >= c.again {
			c.n, c.again = c.n+1, Never
		}
		if c.n == 0 {
			return false, c.again
		}
		c.n--
		return true, c.again
	})
}

func (c *counter) put(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	c.line.Notify(c.clock.Now())
}

func (c *counter) tried() int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.tries
	c.tries = 0
	return n
}

// TestLineWakesAsFewAsNeeded checks that with a hundred waiting callers, an event for one of them wakes only that one
// and the next in line.
func TestLineWakesAsFewAsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{clock: NewClock(), again: Never}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := c.take(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		if n := c.tried(); n != 100 {
			t.Fatalf("%d tries on arrival", n)
		}
		for _, tc := range []struct{ put, most int }{{1, 2}, {0, 1}, {7, 8}, {1, 2}} {
			c.put(tc.put)
			if n := c.tried(); n > tc.most {
				t.Errorf("%d tries for %d things, want %d at most", n, tc.put, tc.most)
			}
		}
		c.put(91)
		wg.Wait()
	})
}

// TestLineWatchesTheClockOnce checks that only the front caller has a timer, and that the next caller takes over the timer.
func TestLineWatchesTheClockOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := &counter{clock: NewClock(), again: int64(time.Hour)}
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if c.take(first) == nil {
				t.Error("the cancelled one got it")
			}
		})
		synctest.Wait()
		for range 50 {
			wg.Go(func() {
				if err := c.take(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		c.tried()
		cancel()
		if n := c.tried(); n != 1 {
			t.Errorf("%d tries after the front leaves, want one by the next caller", n)
		}
		time.Sleep(time.Hour)
		if n := c.tried(); n != 2 {
			t.Errorf("%d tries when the time comes, want those of the front and the next", n)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("after %v", d)
		}
		c.put(49)
		wg.Wait()
	})
}

// TestLineEarlierTime checks that the front caller looks again if an earlier time is announced.
func TestLineEarlierTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{clock: NewClock(), again: int64(time.Hour)}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.take(t.Context()); err != nil {
				t.Error(err)
			}
		})
		c.tried()
		c.mu.Lock()
		c.line.Notify(int64(2 * time.Hour)) // later, so nobody wakes
		c.mu.Unlock()
		if n := c.tried(); n != 0 {
			t.Errorf("%d tries for a later time", n)
		}
		c.mu.Lock()
		c.again = int64(time.Minute)
		c.line.Notify(c.again)
		c.mu.Unlock()
		start := time.Now()
		wg.Wait()
		if d := time.Since(start); d != time.Minute {
			t.Errorf("after %v, want a minute", d)
		}
	})
}

func TestLineIsEmptyAfterAllWaitersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{clock: NewClock(), again: Never}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 30 {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(i%7)*time.Second)
			defer cancel()
			wg.Go(func() {
				if c.take(ctx) == nil {
					t.Error("got something")
				}
			})
		}
		time.Sleep(3 * time.Second)
		cancel()
		wg.Wait()
		if c.line.front != nil || c.line.back != nil {
			t.Error("someone is left in line")
		}
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		time.Sleep(time.Second)
		if n := c.Now(); n != int64(time.Second) {
			t.Errorf("Now %d", n)
		}
		at := time.Now().Add(time.Hour)
		if n := c.At(at); n != int64(time.Hour+time.Second) || !c.Time(n).Equal(at) {
			t.Errorf("At %d, back %v", n, c.Time(n))
		}
		if c.At(time.Time{}) != Always || c.At(time.Unix(1<<60, 0)) != Never {
			t.Error("the zero and the farthest times")
		}
	})
}
