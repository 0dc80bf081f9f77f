package crawler

import (
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Trace is a set of hooks into the life of URLs, any of them nil. They are called concurrently, in
// the worker's goroutine: a slow hook slows the crawl, and a panic in one ends the process. Their arguments
// are valid until they return. [SlogTrace] makes one that logs, [JoinTraces] one of several.
//
// For one claim the order is Claimed, then Waiting, or Admitted and then, for a robots.txt, Robots; a
// URL that goes back to the queue is claimed again later. Retrying or Visited is the last of an attempt.
type Trace struct {
	Claimed  func(c frontier.Claim)                          // a worker has claimed the URL, and with it its host
	Waiting  func(u weburl.URL, w *politeness.NotYet)        // it goes back, until a time and for reasons
	Admitted func(u weburl.URL, p politeness.Permit)         // a request is about to be made: for u, or for the robots.txt that u needs
	Robots   func(u weburl.URL, info politeness.OriginInfo)  // after each answer to a request for robots.txt, and each redirect of one
	Retrying func(u weburl.URL, reason string, at time.Time) // it failed for a reason code, or its robots.txt did, and goes back until a time at least
	Visited  func(v *Visit)                                  // final: the sinks have it, and nothing can be added
}

// JoinTraces is a Trace that calls the hooks of all, in order. Those that are nil are left out.
func JoinTraces(traces ...*Trace) *Trace {
	traces = slices.DeleteFunc(slices.Clone(traces), func(t *Trace) bool { return t == nil })
	return &Trace{
		Claimed: func(c frontier.Claim) {
			for _, t := range traces {
				t.claimed(c)
			}
		},
		Waiting: func(u weburl.URL, w *politeness.NotYet) {
			for _, t := range traces {
				t.waiting(u, w)
			}
		},
		Admitted: func(u weburl.URL, p politeness.Permit) {
			for _, t := range traces {
				t.admitted(u, p)
			}
		},
		Robots: func(u weburl.URL, info politeness.OriginInfo) {
			for _, t := range traces {
				if t.Robots != nil {
					t.Robots(u, info)
				}
			}
		},
		Retrying: func(u weburl.URL, reason string, at time.Time) {
			for _, t := range traces {
				t.retrying(u, reason, at)
			}
		},
		Visited: func(v *Visit) {
			for _, t := range traces {
				t.visited(v)
			}
		},
	}
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
