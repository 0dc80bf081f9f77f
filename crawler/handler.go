package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/amble-crawler/amble/frontier"
)

// Handler is told the fate of every URL. Handle is called concurrently, once per URL, before the
// visit goes to the sinks and its links to the frontier.
//
// An error makes the visit Failed with ReasonHandler and its links are not followed; the crawl goes
// on. [SkipLinks] and [Stop] are not failures. A panic is treated as an error.
type Handler interface {
	Handle(ctx context.Context, v *Visit) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, v *Visit) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, v *Visit) error { return f(ctx, v) }

// SkipLinks is returned by a Handler to keep the visit and follow none of its links.
var SkipLinks = errors.New("crawler: skip links")

// Stop is returned by a Handler to keep the visit and then drain the crawl.
var Stop = errors.New("crawler: stop")

// handle calls the Handler and returns the links that are to be queued after it.
func (r *run) handle(ctx context.Context, v *Visit, links []frontier.Request) []frontier.Request {
	err := r.callHandler(ctx, v)
	switch {
	case err == nil:
		return links
	case errors.Is(err, Stop):
		r.drain(FinishDrained)
		return links
	case errors.Is(err, SkipLinks):
		return nil
	}
	v.Outcome, v.Err = Failed, err
	if v.Reason != ReasonPanic {
		v.Reason = ReasonHandler
	}
	return nil
}

func (r *run) callHandler(ctx context.Context, v *Visit) (err error) {
	defer func() {
		if x := recover(); x != nil {
			v.Reason = ReasonPanic
			err = fmt.Errorf("crawler: handler panicked: %v\n%s", x, debug.Stack())
		}
	}()
	if r.cfg.Handler == nil {
		return nil
	}
	return r.cfg.Handler.Handle(ctx, v)
}
