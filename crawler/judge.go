package crawler

import (
	"fmt"
	"math"
	"strings"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// judge decides which URLs may enter the crawl: by the limits of the Config, by the scope, and by what is
// already queued. It is safe for concurrent use.
type judge struct {
	cfg      *Config
	scope    Scope
	knower   frontier.Knower   // nil: every URL may be new
	rationer frontier.Rationer // nil: there is room for every URL
	crowds   *crowds

	priorities *priorities
	sampler    *sampler // nil unless a sample is drawn
}

// verdict says whether a URL may enter the crawl, and what decided.
type verdict struct {
	fate Fate
	rule string
	firm bool // with FateScope: not even Config.Scope.Beyond reaches it
}

// admissible decides whether u, found as a link of this kind, may enter the crawl at depth.
func (j *judge) admissible(u weburl.URL, depth int, kind frontier.Kind) verdict {
	if v := j.limit(len(u.String()), depth); v.fate != FateFollow {
		return v
	}
	return j.belongs(u, kind)
}

// limit is the part of admissible that depends neither on the URL itself nor on how it was found.
func (j *judge) limit(length, depth int) verdict {
	switch {
	case length > j.cfg.Limits.URLLength:
		return verdict{fate: FateInvalid, rule: weburl.ReasonTooLong}
	case j.cfg.Limits.Depth != None && depth > max(0, j.cfg.Limits.Depth):
		return verdict{fate: FateDepth, rule: "depth"}
	}
	return verdict{fate: FateFollow}
}

// belongs is the part of admissible that depends on them.
func (j *judge) belongs(u weburl.URL, kind frontier.Kind) verdict {
	if d := j.decide(u, kind); !d.In {
		return verdict{FateScope, d.Rule, d.Firm || j.cfg.Scope.Beyond > 0 && trap(u) != ""}
	}
	return trapped(u)
}

// trapped is the part of admissible that depends on the URL's own form.
func trapped(u weburl.URL) verdict {
	if why := trap(u); why != "" {
		return verdict{fate: FateTrap, rule: why}
	}
	return verdict{fate: FateFollow}
}

// outside returns the visit of a seed, redirect target or sitemap that does not belong to the crawl, nil if
// it does. Links are judged where they are found; these URLs are queued unjudged, so that each gets its one
// visit even when it is refused.
func (j *judge) outside(c frontier.Claim) *Visit {
	kind := frontier.KindSitemap
	switch c.Kind {
	case frontier.KindSeed:
		kind = frontier.KindSeed
	case frontier.KindRedirect:
		kind = j.redirectKind(c.URL, c.Depth)
	case frontier.KindSitemap:
	default:
		return nil
	}
	d := j.admissible(c.URL, min(c.Depth, max(0, j.cfg.Limits.Depth)), kind)
	if c.Kind == frontier.KindSitemap && d.fate == FateScope && !d.firm && j.hasLists(c.URL) {
		d = trapped(c.URL)
	}
	switch d.fate {
	case FateScope:
		if c.Beyond > 0 && !d.firm {
			return nil // a link or page inside the scope led here
		}
		return &Visit{Outcome: OutOfScope, Reason: reasonScope, Rule: d.rule}
	case FateTrap:
		reason, _, _ := strings.Cut(d.rule, ":")
		return &Visit{Outcome: Trapped, Reason: reason, Detail: d.rule}
	case FateInvalid:
		return &Visit{Outcome: Refused, Reason: d.rule}
	}
	return nil
}

// hasLists reports whether sitemaps at u's site are read wherever they are there: the scope says which pages are crawled, and a
// sitemap is none.
func (j *judge) hasLists(u weburl.URL) bool {
	if j.sampler != nil {
		return j.sampler.site(u) != nil
	}
	s, ok := j.scope.(*SeedScope)
	return ok && s.reaches(u)
}

// redirectKind returns the kind by which a redirect's target is judged. The target of a seed's redirect is
// the page that the seed was meant for, so no include rule has to name it. Only redirects of seeds have no
// depth.
func (j *judge) redirectKind(to weburl.URL, depth int) frontier.Kind {
	if depth == 0 && strings.HasSuffix(j.decide(to, frontier.KindRedirect).Rule, ruleNoInclude) {
		return frontier.KindSeed
	}
	return frontier.KindRedirect
}

// decide asks the scope about a URL that was found as this kind.
func (j *judge) decide(u weburl.URL, kind frontier.Kind) Decision {
	if k, ok := j.scope.(KindJudge); ok {
		return k.JudgeKind(u, kind)
	}
	return j.scope.Decide(u)
}

// lowest is the priority to which no URL is raised.
const lowest = math.MinInt8

// knows reports whether queueing u would change nothing.
func (j *judge) knows(u weburl.URL, depth int, priority int8) bool {
	if j.knower == nil {
		return false
	}
	known := []bool{false}
	j.knower.Known([]weburl.Key{j.cfg.Canonical.Key(u)}, depth, priority, known)
	return known[0]
}

// seeds returns an error if the rules exclude every seed.
func (j *judge) seeds(seeds []weburl.URL) error {
	var rule string
	for _, u := range seeds {
		d := j.decide(u, frontier.KindSeed)
		if d.In {
			return nil
		}
		if rule == "" {
			rule = d.Rule
		}
	}
	more := ""
	if n := len(seeds) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%w: %s (%s)%s", ErrNothingInScope, seeds[0], rule, more)
}

// outOfType reports whether the scope excludes answers of the page's type, and makes v the visit of such an
// answer. followed reports whether its links are followed nevertheless: those of HTML that no rule excludes by name.
func (j *judge) outOfType(v *Visit) (out, followed bool) {
	types, ok := j.scope.(TypeJudge)
	if !ok {
		return false, false
	}
	d := types.JudgeType(v.URL, v.Page.ContentType)
	if d.In {
		return false, false
	}
	v.Outcome, v.Reason, v.Rule = OutOfScope, reasonType, d.Rule
	return true, v.Page.IsHTML() && !d.Firm
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// wanted reports which types' bodies are read to their end, given what the Config wants: those that
// somebody reads and that the scope does not exclude for all URLs.
func (j *judge) wanted(want func(mediaType string) bool) func(mediaType string) bool {
	types, ok := j.scope.(TypeJudge)
	if !ok {
		return want
	}
	return func(mediaType string) bool {
		return types.WantsType(mediaType) && (want == nil || want(mediaType))
	}
}
