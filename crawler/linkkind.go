package crawler

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/weburl"
)

// LinkKind is how the crawl came by a URL: the name of an extract.Kind for what stands in a document
// ("anchor", "link", "image", "entry", …), or one of the kinds below.
type LinkKind string

// The kinds of what stands in no document.
const (
	LinkSeed     LinkKind = "seed"
	LinkRedirect LinkKind = "redirect"
	LinkSitemap  LinkKind = "sitemap" // listed in a sitemap, or a sitemap itself
)

// linkAliases are the kinds' names to somebody who thinks in elements.
var linkAliases = map[string]LinkKind{"a": "anchor", "img": "image", "iframe": "frame", "feed": "entry", "embed": "object"}

// ParseLinkKind is the kind of a name; "a", "img", "iframe", "embed" and "feed" are other names of
// anchor, image, frame, object and entry. The error lists all kinds.
func ParseLinkKind(name string) (LinkKind, error) {
	if k, ok := linkAliases[name]; ok {
		return k, nil
	}
	all := []string{string(LinkSeed), string(LinkRedirect), string(LinkSitemap)}
	for k := extract.Anchor; k <= extract.Entry; k++ {
		all = append(all, k.String())
	}
	for _, k := range all {
		if k == name {
			return LinkKind(k), nil
		}
	}
	return "", fmt.Errorf("crawler: link kind %q: want one of %s", name, strings.Join(all, ", "))
}

// KindJudge is a Scope that also looks at how a URL was found. It is asked instead of Decide, as
// purely and concurrently.
type KindJudge interface {
	JudgeKind(u weburl.URL, kind LinkKind) Decision
}

// TypeJudge is a Scope that also judges answers by their media type (lower case, without parameters;
// "" where it is not known). An answer that is out is a visit with OutOfScope and [ReasonType]: it is
// not parsed, its links are not followed, and archives do not keep it. Robots.txt, sitemaps and
// redirects are not asked about.
type TypeJudge interface {
	// JudgeType decides about an answer.
	JudgeType(u weburl.URL, mediaType string) Decision
	// WantsType is false when JudgeType takes no URL's answer of the type in: bodies of such are not
	// read to their end.
	WantsType(mediaType string) bool
}

// redirectKind is the kind by which a redirect's target is judged. Where a seed leads is the page that was meant
// by the seed, so that no include rule has to name it. Only redirects of seeds have no depth.
func (r *run) redirectKind(to weburl.URL, depth int) LinkKind {
	if depth == 0 && r.judge(to, LinkRedirect).Rule == ruleNoInclude {
		return LinkSeed
	}
	return LinkRedirect
}

// judge asks the scope about a URL that was found in some way.
func (r *run) judge(u weburl.URL, kind LinkKind) Decision {
	if k, ok := r.scope.(KindJudge); ok {
		return k.JudgeKind(u, kind)
	}
	return r.scope.Decide(u)
}
