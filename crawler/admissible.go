package crawler

import (
	"strings"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// verdict is whether a URL may enter the crawl, and what decided.
type verdict struct {
	fate Fate
	rule string
	firm bool // with FateScope: no extra hop leads there
}

// admissible decides whether u, found as a link of this kind, may enter the crawl at depth.
func (r *run) admissible(u weburl.URL, depth int, kind frontier.Kind) verdict {
	if v := r.limit(len(u.String()), depth); v.fate != FateFollow {
		return v
	}
	return r.belongs(u, kind)
}

// limit is the part of admissible that asks neither what URL it is nor how it was found.
func (r *run) limit(length, depth int) verdict {
	switch {
	case length > r.cfg.Limits.URLLength:
		return verdict{fate: FateInvalid, rule: weburl.ReasonTooLong}
	case r.cfg.Limits.Depth != None && depth > max(0, r.cfg.Limits.Depth):
		return verdict{fate: FateDepth, rule: "depth"}
	}
	return verdict{fate: FateFollow}
}

// belongs is the part of admissible that does.
func (r *run) belongs(u weburl.URL, kind frontier.Kind) verdict {
	if d := r.judge(u, kind); !d.In {
		return verdict{FateScope, d.Rule, d.Firm || r.cfg.Scope.Beyond > 0 && trap(u) != ""}
	}
	if why := trap(u); why != "" {
		return verdict{fate: FateTrap, rule: why}
	}
	return verdict{fate: FateFollow}
}

// outside is the visit of a seed, redirect target or sitemap that does not belong to the crawl, nil
// when it does. Links are judged where they are found; these are queued unjudged, so that each gets
// its one visit even when it is refused.
func (r *run) outside(c frontier.Claim) *Visit {
	kind := frontier.KindSitemap
	switch c.Kind {
	case frontier.KindSeed:
		kind = frontier.KindSeed
	case frontier.KindRedirect:
		kind = r.redirectKind(c.URL, c.Depth)
	case frontier.KindSitemap:
	default:
		return nil
	}
	d := r.admissible(c.URL, min(c.Depth, max(0, r.cfg.Limits.Depth)), kind)
	switch d.fate {
	case FateScope:
		if c.Beyond > 0 && !d.firm {
			return nil // a link or page inside the scope led here
		}
		return &Visit{Outcome: OutOfScope, Reason: ReasonScope, Rule: d.rule}
	case FateTrap:
		reason, _, _ := strings.Cut(d.rule, ":")
		return &Visit{Outcome: Trapped, Reason: reason, Detail: d.rule}
	case FateInvalid:
		return &Visit{Outcome: Refused, Reason: d.rule}
	}
	return nil
}
