package crawler

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Trace is a set of hooks into the life of URLs, any of which may be nil. They are called concurrently, in
// the worker's goroutine: a slow hook slows down the crawl, and a panic in one ends the process. Their
// arguments are valid until they return. [SlogTrace] makes a Trace that logs, [JoinTraces] combines
// several. [Crawler.Progress] returns the counts of done and queued URLs at any time.
//
// For one claim the order is Claimed, then Waiting, or Admitted and Answered and then, for a robots.txt, Robots; a
// URL that returns to the queue is claimed again later. Retrying or Visited is the last hook of an attempt.
// Committed covers all visits since the previous commit.
type Trace struct {
	// Claimed is called when a worker has claimed the URL, and with it the URL's host.
	Claimed func(c frontier.Claim)
	// Waiting is called when the URL returns to the queue and must wait. w has the time and the reasons.
	Waiting func(u weburl.URL, w *politeness.NotYet)
	// Admitted is called before a request is made: for u, or for the robots.txt that u needs.
	Admitted func(u weburl.URL, p politeness.Permit)
	// Answered is called when a request that u needed has ended. a.Permit tells whether the request was for u or for the robots.txt of u.
	// a has the response, which is not parsed yet, or the error of a failed attempt.
	Answered func(u weburl.URL, a *fetcher.Answer)
	// Robots is called after each response to a request for robots.txt, including redirects.
	Robots func(u weburl.URL, info politeness.OriginInfo)
	// Retrying is called when the URL or its robots.txt has failed, with a reason code, and the URL returns to
	// the queue. Its next attempt begins at the given time or later.
	Retrying func(u weburl.URL, reason string, at time.Time)
	// Visited is called when the visit is final: the sinks have it, and nothing can be added.
	Visited func(v *Visit)
	// Committed is called in a crawl with a durable Frontier, after each commit, by the goroutine that commits.
	Committed func(c Commit)
}

// Commit is one step in which visits became durable, in the sinks and the frontier.
type Commit struct {
	Visits int           // visits that became durable; 0 if the commit only stores state
	Links  int           // links queued with the visits, or raised in priority
	Bytes  int64         // bytes of the stored state of crawl and gate, without visits and links
	Took   time.Duration // time for syncing the sinks and writing to the frontier
	Err    error         // error of the commit: nothing became durable, and the crawl ends
}

// JoinTraces returns a Trace that calls the hooks of all traces, in order. Nil traces and hooks are
// skipped.
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
		Answered: func(u weburl.URL, a *fetcher.Answer) {
			for _, t := range traces {
				t.answered(u, a)
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
		Committed: func(c Commit) {
			for _, t := range traces {
				t.committed(c)
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

func (t *Trace) answered(u weburl.URL, a *fetcher.Answer) {
	if t != nil && t.Answered != nil {
		t.Answered(u, a)
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

func (t *Trace) committed(c Commit) {
	if t != nil && t.Committed != nil {
		t.Committed(c)
	}
}

// SlogTrace returns a Trace that writes every step of every URL to l at one level. The messages are
// "claimed", "waiting", "admitted", "robots", "retrying" and "visited"; each has the attribute url, and:
//
//	claimed   depth, attempt
//	waiting   until, clause (the one that decides)
//	admitted  purpose ("robots", "page", …), request (the requested URL)
//	robots    source, expires
//	retrying  reason, at
//	visited   outcome, status, reason, rule, bytes, took (of the last request), error; empty ones are left out
//
// URLs are logged whole, including their queries.
func SlogTrace(l *slog.Logger, level slog.Level) *Trace {
	log := func(msg string, u weburl.URL, attrs func() []slog.Attr) {
		if ctx := context.Background(); l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, msg, append([]slog.Attr{slog.String("url", u.String())}, attrs()...)...)
		}
	}
	return &Trace{
		Claimed: func(c frontier.Claim) {
			log("claimed", c.URL, func() []slog.Attr { return []slog.Attr{slog.Int("depth", c.Depth), slog.Int("attempt", c.Attempt)} })
		},
		Waiting: func(u weburl.URL, w *politeness.NotYet) {
			log("waiting", u, func() []slog.Attr { return waitAttrs(w) })
		},
		Admitted: func(u weburl.URL, p politeness.Permit) {
			log("admitted", u, func() []slog.Attr {
				return []slog.Attr{slog.String("purpose", p.Purpose().String()), slog.String("request", p.URL().String())}
			})
		},
		Robots: func(u weburl.URL, o politeness.OriginInfo) {
			log("robots", u, func() []slog.Attr {
				return []slog.Attr{slog.String("source", o.Source.String()), slog.Time("expires", o.Expires)}
			})
		},
		Retrying: func(u weburl.URL, reason string, at time.Time) {
			log("retrying", u, func() []slog.Attr { return []slog.Attr{slog.String("reason", reason), slog.Time("at", at)} })
		},
		Visited: func(v *Visit) { log("visited", v.URL, v.attrs) },
	}
}

func waitAttrs(w *politeness.NotYet) []slog.Attr {
	attrs := []slog.Attr{slog.Time("until", w.Until)}
	if len(w.Clauses) > 0 {
		attrs = append(attrs, slog.String("clause", w.Clauses[0].Name))
	}
	return attrs
}

// attrs returns the attributes of the visit for a log.
func (v *Visit) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("outcome", string(v.Outcome))}
	if p := v.Page; p != nil {
		attrs = append(attrs, slog.Int("status", p.Status), slog.Int("bytes", len(p.Body)), slog.Duration("took", p.Ended.Sub(p.Started)))
	}
	if v.Reason != "" {
		attrs = append(attrs, slog.String("reason", v.Reason))
	}
	if v.Rule != "" {
		attrs = append(attrs, slog.String("rule", v.Rule))
	}
	if v.Err != nil {
		attrs = append(attrs, slog.String("error", v.Err.Error()))
	}
	return attrs
}
