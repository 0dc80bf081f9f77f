package crawler

import (
	"strings"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// htmlExtractor reads HTML pages through package extract, and nothing else: a document that is
// labelled as something else has no links.
type htmlExtractor struct {
	resources bool
	maxLinks  int
}

func (e htmlExtractor) Extract(p *fetcher.Page) (*extract.Document, error) {
	if !p.IsHTML() {
		return nil, nil
	}
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	return extract.HTML(text, extract.Options{Resources: e.resources, MaxLinks: e.maxLinks}), nil
}

// sortLinks resolves the document's links and decides about each. It returns those to be queued.
func (r *run) sortLinks(v *Visit) []frontier.Request {
	if v.Doc == nil {
		return nil
	}
	base := v.URL
	if v.Doc.Base != "" {
		if b, err := base.Resolve(v.Doc.Base); err == nil {
			base = b
		}
	}
	var queue []frontier.Request
	v.links = make([]Link, 0, len(v.Doc.Links))
	for _, l := range v.Doc.Links {
		link := r.judgeLink(v, base, l)
		v.links = append(v.links, link)
		if link.Fate == FateFollow {
			queue = append(queue, frontier.Request{URL: link.URL, Depth: v.Depth + 1, Via: v.URL})
		}
	}
	return queue
}

// judgeLink decides about one link, the cheapest question first.
func (r *run) judgeLink(v *Visit, base weburl.URL, l extract.Link) Link {
	link := Link{Link: l}
	u, err := base.Resolve(l.Ref)
	if err != nil {
		link.Fate, link.Rule = FateInvalid, weburl.ReasonOf(err)
		return link
	}
	link.URL = u
	link.Fate, link.Rule = r.fate(v, u, l)
	return link
}

func (r *run) fate(v *Visit, u weburl.URL, l extract.Link) (Fate, string) {
	if !r.cfg.Resources && !navigates(l) {
		return FateResource, "not navigation"
	}
	if v.Directives.NoFollow {
		return FateNoFollow, "page nofollow"
	}
	if l.Rel&extract.NoFollow != 0 && !r.cfg.FollowNoFollow {
		return FateNoFollow, "rel=nofollow"
	}
	return r.admissible(u, v.Depth+1)
}

// admissible decides whether u may enter the crawl at depth.
func (r *run) admissible(u weburl.URL, depth int) (Fate, string) {
	if len(u.String()) > r.cfg.MaxURL {
		return FateInvalid, weburl.ReasonTooLong
	}
	if r.cfg.MaxDepth != None && depth > max(0, r.cfg.MaxDepth) {
		return FateDepth, "depth"
	}
	if d := r.scope.Decide(u); !d.In {
		return FateScope, d.Rule
	}
	if trap := trapPath(u.Path()); trap != "" {
		return FateTrap, trap
	}
	return FateFollow, ""
}

// navigates reports whether a link leads to another page rather than to a part of this one.
func navigates(l extract.Link) bool {
	if l.Kind != extract.LinkRel {
		return l.Kind.Navigation()
	}
	return l.Rel&(extract.Next|extract.Prev|extract.Alternate|extract.Canonical) != 0 &&
		l.Rel&(extract.Stylesheet|extract.Icon) == 0
}

// Bounds of a path that is no trap. They have served web archives for two decades: Heritrix'
// defaults are 20 segments and 2 repetitions.
const (
	maxSegments    = 25
	maxRepeatedRow = 3
	maxRepeatedAll = 5
)

// trapPath names what makes a path look like one of an endless space, "" when nothing does.
func trapPath(path string) string {
	var seen [maxSegments]string
	n, row := 0, 1
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if n == maxSegments {
			return ReasonTrapPath + ": too many segments"
		}
		if n > 0 && seg == seen[n-1] && seg != "" {
			row++
		} else {
			row = 1
		}
		all := 1
		for _, s := range seen[:n] {
			if s == seg && seg != "" {
				all++
			}
		}
		if row >= maxRepeatedRow || all >= maxRepeatedAll {
			return ReasonTrapPath + ": segment repeats"
		}
		seen[n] = seg
		n++
	}
	return ""
}
