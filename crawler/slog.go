package crawler

import (
	"context"
	"log/slog"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// SlogTrace is a Trace that writes every step of every URL to l at one level. The messages are
// "claimed", "waiting", "admitted", "robots", "retrying" and "visited"; each has the attribute url, and:
//
//	claimed   depth, attempt
//	waiting   until, clause (what decides)
//	admitted  purpose ("robots", "page", …), request (the requested URL)
//	robots    source, expires
//	retrying  reason, at
//	visited   outcome, status, reason, rule, bytes, took (of the last request), error; those that are empty left out
//
// URLs are logged as they are, including their queries.
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
