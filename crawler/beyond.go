package crawler

import (
	"slices"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// beyondRules names the hops that lead out of the scope: hop is the rule of a link that is such a hop, and
// last is the rule of links that are not followed because the page they are on is the last.
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

// stretch follows a link that leads out of the scope if the crawl may still go that far from v.
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
		return false // a page, such as the canonical one, or nothing that a browser loads
	}
	return slices.Contains(kinds, kindOf(l.Kind))
}

// displayed are the relations of link elements that name what a page is displayed with.
const displayed = extract.Stylesheet | extract.Icon | extract.Preload | extract.ModulePreload | extract.Manifest

// beyondAfter returns how far beyond the scope the target of a redirect is. A redirect is not a link, so a
// target outside is as far out as its source, but at least one hop.
func (j *judge) beyondAfter(c frontier.Claim, to weburl.URL) uint8 {
	if j.cfg.Scope.Beyond == 0 || j.decide(to, j.redirectKind(to, c.Depth)).In {
		return 0
	}
	return max(1, c.Beyond)
}
