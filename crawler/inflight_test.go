package crawler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// If memory runs out, one page continues and the other pages wait for their turn.
func TestPagesInFlightTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, page, pages = 100, 80, 10
		f := newInflight(most)
		over := 0
		for range pages {
			go func() {
				s := &share{of: f}
				ctx := withShare(t.Context(), s)
				defer s.end()
				for range page / 10 {
					if err := reserve(ctx, 10); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				over++
			}()
		}
		seen := int64(0)
		for range pages * page {
			synctest.Wait()
			f.mu.Lock()
			seen = max(seen, f.used)
			f.mu.Unlock()
			time.Sleep(time.Second)
		}
		if over != pages || f.used != 0 || f.beyond != nil {
			t.Errorf("%d of %d pages finished, %d bytes are left, beyond: %v", over, pages, f.used, f.beyond)
		}
		if seen <= most || seen > most+page {
			t.Errorf("%d bytes at most, want more than %d and no more than %d", seen, most, most+page)
		}
	})
}

// A wait for memory ends with its context; then nothing is reserved.
func TestWaitForMemoryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInflight(10)
		s := &share{of: f}
		first := withShare(t.Context(), s)
		if err := reserve(first, 20); err != nil {
			t.Fatal(err)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		waits := &share{of: f}
		second := withShare(ctx, waits)
		var err error
		go func() { err = reserve(second, 1) }()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		if !errors.Is(err, why) || waits.held != 0 || f.used != 20 {
			t.Errorf("%v, %d held, %d used", err, waits.held, f.used)
		}
		s.end()
		waits.end()
	})
}
