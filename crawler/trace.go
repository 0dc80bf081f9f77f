package crawler

import (
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Trace is a set of hooks into the life of URLs, any of them nil. They are called concurrently, in
// the worker's goroutine: a slow hook slows the crawl.
type Trace struct {
	Claimed  func(c frontier.Claim)
	Waiting  func(u weburl.URL, w *politeness.NotYet)
	Admitted func(u weburl.URL, p politeness.Permit)
	Robots   func(u weburl.URL, info politeness.OriginInfo) // after each robots.txt answer
	Retrying func(u weburl.URL, reason string, at time.Time)
	Visited  func(v *Visit) // final, as the sinks will have it
}

func (t *Trace) claimed(c frontier.Claim) {
	if t != nil && t.Claimed != nil {
		t.Claimed(c)
	}
}

func (t *Trace) waiting(u weburl.URL, w *politeness.NotYet) {
	if t != nil && t.Waiting != nil {
		t.Waiting(u, w)
	}
}

func (t *Trace) admitted(u weburl.URL, p politeness.Permit) {
	if t != nil && t.Admitted != nil {
		t.Admitted(u, p)
	}
}

func (t *Trace) robots(u weburl.URL, g *politeness.Gate) {
	if t != nil && t.Robots != nil {
		t.Robots(u, g.Origin(u))
	}
}

func (t *Trace) retrying(u weburl.URL, reason string, at time.Time) {
	if t != nil && t.Retrying != nil {
		t.Retrying(u, reason, at)
	}
}

func (t *Trace) visited(v *Visit) {
	if t != nil && t.Visited != nil {
		t.Visited(v)
	}
}
