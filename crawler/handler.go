package crawler

import (
	"context"
	"errors"
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
