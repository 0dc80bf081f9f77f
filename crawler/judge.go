package crawler

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// judge decides which URLs may enter the crawl: by the limits of the Config, by the scope, and by the queue. It is safe for
// concurrent use.
type judge struct {
	cfg        *Config
	scope      Scope
	queue      frontier.Frontier // nil: every URL counts as new, and may be queued
	trapCounts *trapCounts

	priorities *priorities
	sampler    *sampler // nil unless a sample is drawn
}

// verdict is the decision whether a URL may enter the crawl, and the rule that decided.
type verdict struct {
	fate Fate
	rule string
	firm bool // with FateScope: Config.Scope.Beyond does not apply to the URL
}

// admissible decides whether u, found as a link of this kind, may enter the crawl at depth.
func (j *judge) admissible(u weburl.URL, depth int, kind frontier.Kind) verdict {
	if v := j.limit(len(u.String()), depth); v.fate != FateFollow {
		return v
	}
	return j.belongs(u, kind)
}

// limit implements the checks of admissible that depend only on the URL's length and depth.
func (j *judge) limit(length, depth int) verdict {
	switch {
	case length > j.cfg.Limits.URLLength:
		return verdict{fate: FateInvalid, rule: weburl.ReasonTooLong}
	case int64(depth) > j.cfg.Limits.Depth.Value():
		return verdict{fate: FateDepth, rule: "depth"}
	}
	return verdict{fate: FateFollow}
}

// belongs implements the checks of admissible that depend only on the URL and on the kind of link.
func (j *judge) belongs(u weburl.URL, kind frontier.Kind) verdict {
	if d := j.decide(u, kind); !d.In {
		return verdict{FateScope, d.Rule, d.Firm || j.cfg.Scope.Beyond > 0 && trap(u) != ""}
	}
	return trapped(u)
}

// trapped implements the checks of admissible that depend only on the URL's form.
func trapped(u weburl.URL) verdict {
	if why := trap(u); why != "" {
		return verdict{fate: FateTrap, rule: why}
	}
	return verdict{fate: FateFollow}
}

// outside returns the visit of a seed, redirect target or sitemap that does not belong to the crawl, or nil if it belongs to it. Unlike
// links, which are judged when they are found, these URLs are queued without being judged, so that each gets a visit even if it is
// refused.
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
	d := j.admissible(c.URL, int(min(int64(c.Depth), max(0, int64(j.cfg.Limits.Depth)))), kind)
	if c.Kind == frontier.KindSitemap && d.fate == FateScope && !d.firm && j.hasLists(c.URL) {
		d = trapped(c.URL)
	}
	switch d.fate {
	case FateScope:
		if c.Beyond > 0 && !d.firm {
			return nil // Config.Scope.Beyond applies: a link or page in scope led to this URL
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

// hasLists reports whether the crawl reads the sitemaps of u's site even outside the scope, because the scope selects pages, and a
// sitemap is not a page.
func (j *judge) hasLists(u weburl.URL) bool {
	if j.sampler != nil {
		return j.sampler.site(u) != nil
	}
	s, ok := j.scope.(*SeedScope)
	return ok && s.reaches(u)
}

// redirectKind returns the kind under which the scope judges a redirect's target. The target of a seed's redirect is the page that the
// seed was meant for, so it needs no include rule. Only redirects of seeds have depth 0.
func (j *judge) redirectKind(to weburl.URL, depth int) frontier.Kind {
	if depth == 0 && strings.HasSuffix(j.decide(to, frontier.KindRedirect).Rule, ruleNoInclude) {
		return frontier.KindSeed
	}
	return frontier.KindRedirect
}

// decide returns the scope's decision about a URL that was found by a link of this kind.
func (j *judge) decide(u weburl.URL, kind frontier.Kind) Decision {
	return j.scope.JudgeKind(u, kind)
}

// lowest is a priority that raises no URL.
const lowest = math.MinInt8

// knows reports whether u is already queued or visited, so that queueing it would change nothing.
func (j *judge) knows(u weburl.URL, depth int, priority int8) bool {
	if j.queue == nil {
		return false
	}
	known := []bool{false}
	j.queue.Known([]weburl.Key{j.cfg.Canonical.Key(u)}, depth, priority, known)
	return known[0]
}

// seeds returns an error if the scope excludes every seed.
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

// outOfType reports whether the scope excludes responses of the page's media type. If so, it makes v the visit of an excluded response.
// followed reports whether the page's links are followed nevertheless: it is HTML, and no rule excludes its type explicitly.
func (j *judge) outOfType(v *Visit) (out, followed bool) {
	d := j.scope.JudgeType(v.URL, v.Page.ContentType)
	if d.In {
		return false, false
	}
	v.Outcome, v.Reason, v.Rule = OutOfScope, reasonType, d.Rule
	return true, v.Page.IsHTML() && !d.Firm
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// wanted returns a function that reports whether bodies of a media type are read to their end: want reports that the Config needs them,
// and the scope does not exclude them for all URLs.
func (j *judge) wanted(want func(mediaType string) bool) func(mediaType string) bool {
	return func(mediaType string) bool {
		return j.scope.WantsType(mediaType) && (want == nil || want(mediaType))
	}
}

// kindOf converts a kind of package extract to one of package frontier. It is the only place that does so.
func kindOf(k extract.Kind) frontier.Kind { return frontier.KindAnchor + frontier.Kind(k) }

// checkKind returns an error for a kind to which a rule cannot apply.
func checkKind(k frontier.Kind) error {
	_, err := frontier.ParseKind(k.String())
	return err
}

// beyondRules holds, by the number of links beyond the scope, the names of the rules for links that lead out of the scope: hop for a link
// that may be followed, last for a link that is not, because its page is the last page outside.
var beyondRules = [frontier.MaxBeyond + 1]struct{ hop, last string }{
	{last: "the page itself is outside the scope"},
	{"one link beyond the scope", "the page is one link beyond the scope"},
	{"two links beyond the scope", "the page is two links beyond the scope"},
	{"three links beyond the scope", "the page is three links beyond the scope"},
	{"four links beyond the scope", "the page is four links beyond the scope"},
	{"five links beyond the scope", "the page is five links beyond the scope"},
	{"six links beyond the scope", "the page is six links beyond the scope"},
	{"seven links beyond the scope", "the page is seven links beyond the scope"},
}

// stretch admits a link that leads out of the scope, if Config.Scope.Beyond allows it for a link on the page of v.
func (j *judge) stretch(d *decided, v *Visit, l *extract.Link) {
	if d.firm || v.Beyond >= j.cfg.Scope.Beyond || !j.mayStretch(l) {
		return
	}
	d.beyond = uint8(v.Beyond + 1)
	d.fate, d.rule = FateFollow, beyondRules[d.beyond].hop
}

// mayStretch reports whether a link may lead out of the scope.
func (j *judge) mayStretch(l *extract.Link) bool {
	kinds := j.cfg.Scope.BeyondKinds
	if len(kinds) == 0 {
		return true
	}
	if l.Kind == extract.LinkRel && j.cfg.Follow.Resources && l.Rel&displayed == 0 {
		return false // the link names another version of the page, such as the canonical one, or something that browsers do not load
	}
	return slices.Contains(kinds, kindOf(l.Kind))
}

// displayed holds the relations of link elements whose targets a browser needs to display the page.
const displayed = extract.Stylesheet | extract.Icon | extract.Preload | extract.ModulePreload | extract.Manifest

// beyondAfter returns the number of links between the scope and the target of a redirect, 0 if the target is in scope. A redirect is not
// a link: a target out of scope has the number of its source, but at least 1.
func (j *judge) beyondAfter(c frontier.Claim, to weburl.URL) uint8 {
	if j.cfg.Scope.Beyond == 0 || j.decide(to, j.redirectKind(to, c.Depth)).In {
		return 0
	}
	return max(1, c.Beyond)
}

// room tracks how many links of one page can still be queued. Other pages queue links at the same time, so room rejects nearly all links
// that do not fit, and the frontier rejects the other links that do not fit.
type room struct {
	queue             frontier.Frontier
	scheme, authority string // host to which urls and bytes belong
	urls              int
	bytes             int64
}

func (j *judge) room() *room { return &room{queue: j.queue} }

// has reports whether the queue has room for u.
func (m *room) has(u weburl.URL) bool {
	if m.queue == nil {
		return true
	}
	if u.Authority() != m.authority || u.Scheme() != m.scheme {
		m.scheme, m.authority = u.Scheme(), u.Authority()
		m.urls, m.bytes = m.queue.Room(u.Host())
	}
	return m.urls > 0 && m.bytes > 0
}

// take records that u is queued.
func (m *room) take(u weburl.URL) {
	m.urls--
	m.bytes -= int64(len(u.String()))
}

// recentLinks is the number of links whose verdicts are cached. The pages of a site share most of their links, such as the navigation.
const recentLinks = 1024

// verdicts caches recent verdicts about links. An entry takes 24 bytes per link, so that the table fits into the processor's
// cache; few verdicts are distinct. It is not safe for concurrent use.
type verdicts struct {
	recent [recentLinks]recentLink
	all    []verdict
	at     map[verdict]uint16
}

type recentLink struct {
	key  weburl.Key
	kind extract.Kind
	at   uint16 // index in verdicts.all, starting at 1; 0: empty
}

// maxVerdicts limits the number of different verdicts that are remembered. Scopes have few rules. A scope with more rules, such as one
// for every URL, is called again for all further verdicts.
const maxVerdicts = 4096

func newVerdicts() *verdicts { return &verdicts{at: map[verdict]uint16{}} }

// of returns the cached verdict about a link. If there is none, it calls judge.
func (m *verdicts) of(key weburl.Key, kind extract.Kind, judge func() verdict) verdict {
	slot := &m.recent[(int(key[0])|int(key[1])<<8)%recentLinks]
	if slot.at != 0 && slot.key == key && slot.kind == kind {
		return m.all[slot.at-1]
	}
	v := judge()
	*slot = recentLink{key, kind, m.intern(v)}
	return v
}

// intern returns the index of v in m.all, counted from 1.
func (m *verdicts) intern(v verdict) uint16 {
	if at, ok := m.at[v]; ok {
		return at
	}
	if len(m.all) == maxVerdicts {
		m.recent, m.all = [recentLinks]recentLink{}, m.all[:0]
		clear(m.at)
	}
	m.all = append(m.all, v)
	m.at[v] = uint16(len(m.all))
	return m.at[v]
}
