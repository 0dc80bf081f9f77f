package crawler

import (
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// kindOf returns how a URL was found that a document contains as a link of kind k. It is the only place
// where the kinds of package extract are mapped to those of the crawl.
func kindOf(k extract.Kind) frontier.Kind { return frontier.KindAnchor + frontier.Kind(k) }

// checkKind returns an error for a kind that a rule cannot apply to.
func checkKind(k frontier.Kind) error {
	_, err := frontier.ParseKind(k.String())
	return err
}

// KindJudge is a Scope that also considers how a URL was found. JudgeKind is called instead of Decide; it
// must be pure and is called concurrently, too.
type KindJudge interface {
	JudgeKind(u weburl.URL, kind frontier.Kind) Decision
}

// TypeJudge is a Scope that also judges answers by their media type (lower case, without parameters; "" if
// it is unknown). An answer that is excluded is a visit with OutOfScope and [reasonType]: archives do not
// keep it. It is not parsed and its links are not followed, unless it is HTML and the Decision is not Firm: then its links
// are followed, so that a crawl that keeps only PDF files finds them. Robots.txt, sitemaps and redirects are not judged.
type TypeJudge interface {
	// JudgeType decides about an answer.
	JudgeType(u weburl.URL, mediaType string) Decision
	// WantsType returns false when JudgeType excludes answers of the type for every URL: such bodies are
	// not read to their end.
	WantsType(mediaType string) bool
}
