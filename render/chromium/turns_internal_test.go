package chromium

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestHostsTakeTurnsForTabs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tabs := newTurns(2)
		var got []string
		wait := func(ctx context.Context, host string) {
			go func() {
				if tabs.take(ctx, host) == nil {
					got = append(got, host)
				}
			}()
			synctest.Wait()
		}
		for range 5 {
			wait(t.Context(), "slow")
		}
		for range 2 {
			wait(t.Context(), "a")
		}
		wait(t.Context(), "b")
		for range 6 {
			tabs.give()
			synctest.Wait()
		}
		if order := strings.Join(got, " "); order != "slow slow slow a b slow a slow" {
			t.Errorf("rounds began in this order: %s", order)
		}
		tabs.give()
		tabs.give()
		if tabs.free != 2 || len(tabs.hosts)+len(tabs.waiting) != 0 {
			t.Errorf("%+v", tabs)
		}
	})
}

func TestARoundThatEndsWhileItWaitsTakesNoTab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tabs := newTurns(1)
		if err := tabs.take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ended := errors.New("ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		var err error
		go func() { err = tabs.take(ctx, "b") }()
		synctest.Wait()
		cancel(ended)
		synctest.Wait()
		tabs.give()
		if !errors.Is(err, ended) || tabs.free != 1 || len(tabs.hosts)+len(tabs.waiting) != 0 {
			t.Errorf("%v, %+v", err, tabs)
		}
	})
}
