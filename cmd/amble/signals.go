package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

var errAborted = errors.New("aborted by a second signal")

// watchSignals makes the first signal drain the crawl, the second abort it, and the third end the process. advice says how to resume the
// crawl later; it may be "". The returned function stops watching and returns the exit code for the first signal, 0 if there was none.
func (a *app) watchSignals(c *crawler.Crawler, abort context.CancelCauseFunc, v *view.View, advice string) func() int {
	signals := make(chan os.Signal, 3)
	a.notify(signals)
	done := make(chan struct{})
	var watching sync.WaitGroup
	code := 0
	watching.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if n == 1 {
					code = signalCode(s)
				}
				if n == 1 && advice != "" {
					v.Tell("%s", advice)
				}
				a.interrupt(n, code, c, abort, v)
			}
		}
	})
	return func() int {
		a.ignore(signals)
		close(done)
		watching.Wait()
		return code
	}
}

func (a *app) interrupt(n, code int, c *crawler.Crawler, abort context.CancelCauseFunc, v *view.View) {
	switch n {
	case 1:
		c.Drain() // before the message is printed, so that no request begins after the message
		v.Tell("stopping: waiting for requests in flight; press again to abort them")
	case 2:
		v.Tell("aborting requests in flight; press again to exit at once")
		abort(errAborted)
	default:
		v.Leave()
		a.exit(code)
	}
}

func signalCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return cli.ExitTerminated
	}
	return cli.ExitInterrupted
}

// signaled is the cancellation cause of a context that a signal canceled.
type signaled struct{ os.Signal }

// Error returns the signal's name.
func (s signaled) Error() string { return s.String() }

// untilSignal returns a context that the first signal cancels. The second signal ends the process.
func (a *app) untilSignal(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, done := make(chan os.Signal, 3), make(chan struct{})
	a.notify(signals)
	var watching sync.WaitGroup
	watching.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if cancel(signaled{s}); n > 1 {
					a.exit(signalCode(s))
				}
			}
		}
	})
	return ctx, func() {
		a.ignore(signals)
		close(done)
		watching.Wait()
		cancel(nil)
	}
}

// endedBy returns the exit code for the signal that canceled a context of untilSignal, 0 if there was none.
func endedBy(ctx context.Context) int {
	var s signaled
	if errors.As(context.Cause(ctx), &s) {
		return signalCode(s.Signal)
	}
	return 0
}
