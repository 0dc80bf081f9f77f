package report

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/crawler"
)

// order says in which order pages were fetched, and why another crawl might fetch others. docs/research-crawls.md has the promise.
func (s *source) order() sheetOrder {
	set, r, t := s.manifest.Settings, s.report, &s.facts.Total
	o := sheetOrder{Order: s.orderInWords()}
	drawn := s.drawn() != nil // from lists: no link has led to a page
	not := func(format string, args ...any) { o.Not = append(o.Not, fmt.Sprintf(format, args...)) }
	if scope := set["scope"]; !drawn && scope != "host" && scope != "prefix" {
		not("with the scope “%s” a site's pages are also found through links from other sites, and which of them comes first depends on timing", scope)
	}
	if n := s.facts.Crossed; !drawn && n > 0 {
		not("%s found through another site, which may come earlier or later than the site's own links", plural(n, "page")+verb(n))
	}
	switch r.Finish {
	case crawler.FinishDone:
	case crawler.FinishPages, crawler.FinishBytes, crawler.FinishTime, crawler.FinishErrors:
		not("it ended by a limit over all sites (%s), which fast sites use up first", finishText(r, ""))
	default:
		not("it did not come to its end: %s", finishText(r, ""))
	}
	if r.Retries > 0 {
		not("%s repeated after failures: such a URL comes later in the order, and when depends on timing", plural(r.Retries, "request")+verb(r.Retries))
	}
	if n := t.Reasons["host_failed"] + t.Reasons["robots_unreachable"]; n > 0 {
		not("sites were given up after failures, and with them %s", plural(n, "URL"))
	}
	if len(s.manifest.Program) > 0 {
		not("a program decided, too (%s), and may do so otherwise the next time", and(s.manifest.Program...))
	}
	if o.Same = len(o.Not) == 0; o.Same && !drawn && s.hostCount() > 1 {
		o.If = "no page of one of these sites links to a page of another that is in scope; none was found in this way"
	}
	return o
}

// orderInWords says in which order the pages of a site were requested.
func (s *source) orderInWords() string {
	seed, hash := crawler.Order(s.manifest.Settings["order"]).Seed()
	if d := s.drawn(); d != nil && !hash {
		_, seed, _ = strings.Cut(d.Draw, ":")
		return fmt.Sprintf("by a keyed hash of the URL, with the seed “%s”: the pages drawn, the smallest first", seed)
	}
	if !hash {
		return "first found, first fetched: near breadth first, not random"
	}
	return fmt.Sprintf("by a keyed hash of the URL, with the seed “%s”, wherever its link stood: of the pages known of a site, those with a higher class than all that were left out are a random sample", seed)
}
