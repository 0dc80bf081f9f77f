package crawler

import (
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// kindOf is how a URL was found that stands in a document as a link of kind k. It is the one place where the kinds
// of package extract become those of the crawl.
func kindOf(k extract.Kind) frontier.Kind { return frontier.KindAnchor + frontier.Kind(k) }

// checkKind reports a kind that a rule cannot be for.
func checkKind(k frontier.Kind) error {
	_, err := frontier.ParseKind(k.String())
	return err
}

// KindJudge is a Scope that also considers how a URL was found. JudgeKind is called instead of Decide; it is pure and
// called concurrently too.
type KindJudge interface {
	JudgeKind(u weburl.URL, kind frontier.Kind) Decision
}

// TypeJudge is a Scope that also judges answers by their media type (lower case, without parameters;
// "" where it is not known). An answer that is out is a visit with OutOfScope and [ReasonType]: it is
// not parsed, its links are not followed, and archives do not keep it. Robots.txt, sitemaps and
// redirects are not judged.
type TypeJudge interface {
	// JudgeType decides about an answer.
	JudgeType(u weburl.URL, mediaType string) Decision
	// WantsType is false when JudgeType takes no URL's answer of the type in: bodies of such are not
	// read to their end.
	WantsType(mediaType string) bool
}
