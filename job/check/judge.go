package check

import (
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Levels of URLs that have no finding.
const (
	good      Level = -1 - iota
	moved           // a redirect, which is judged by its target
	unchecked       // the URL was not requested, or the crawl itself prevented a result
)

// verdict holds the outcome of a URL's visits.
type verdict struct {
	level    Level
	status   int
	reason   string // "" if the URL is good
	html     bool   // a page that can have named elements
	read     bool   // its links were read
	to       string
	url, via string // URLs of the visit, unless the URL is good
}

// visit judges a visit. If a URL was visited several times, the last visit counts.
func (c *checker) visit(r *sink.Record) {
	u, err := weburl.Parse(r.URL)
	if err != nil {
		return
	}
	v := &verdict{level: good, status: r.Status, reason: r.Reason}
	switch crawler.Outcome(r.Outcome) {
	case crawler.Redirected:
		v.level, v.to = moved, r.Final
		if v.to == "" {
			v.level = Broken
		}
	case crawler.Refused:
		switch r.Reason {
		case politeness.ReasonRobots:
			v.level, v.reason = Unknown, reasonRobots
		case fetcher.ReasonPort:
			v.level = Broken // browsers refuse to connect to this port
		case politeness.ReasonChallenge:
			v.level = Undecided
		default:
			v.level = unchecked
		}
	case crawler.Deferred:
		if v.level = unchecked; r.Reason == politeness.ReasonHostFailed || r.Reason == politeness.ReasonRobotsUnreachable {
			v.level = Undecided
		}
	case crawler.Failed:
		if v.level = Broken; ofCrawler(r.Reason) {
			v.level = unchecked
		}
	case crawler.Trapped:
		v.level = unchecked
	case crawler.OutOfScope:
		if r.Status == 0 {
			v.level = unchecked
		}
	}
	if v.level == good && r.Status >= 400 {
		v.reason = fmt.Sprintf("http_%d", r.Status)
		v.level = levelOf(r.Status, c.site.Decide(u).In)
	}
	if v.level == good {
		v.reason, v.html = "", r.Type == "text/html" || r.Type == "application/xhtml+xml"
	} else {
		v.url, v.via = r.URL, r.Via
	}
	c.urls[c.key(u)] = v
}

// levelOf judges a status of 400 or more. Pages that require a login and hosts that limit the rate may work for a reader; other
// sites may also refuse a crawler pages that readers see.
func levelOf(status int, ofSite bool) Level {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusUnavailableForLegalReasons:
		return Undecided
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusServiceUnavailable, 999:
		if !ofSite {
			return Undecided
		}
	}
	return Broken
}

// ofCrawler reports whether a URL failed because of this machine or program.
func ofCrawler(reason string) bool {
	switch reason {
	case fetcher.ReasonNoResources, fetcher.ReasonCanceled, fetcher.ReasonPermit,
		fetcher.ReasonLedger, fetcher.ReasonHeader, fetcher.ReasonProxy, fetcher.ReasonProxyUnusable, fetcher.ReasonAddress,
		crawler.ReasonHandler, crawler.ReasonFetcher, crawler.ReasonExtractor, crawler.ReasonPanic:
		return true
	}
	return false
}

// isResource reports whether a browser loads targets of links of this kind together with the page.
func isResource(kind string) bool {
	for _, k := range [...]extract.Kind{extract.Frame, extract.Image, extract.Script, extract.Media, extract.Object, extract.Import, extract.Style} {
		if kind == k.String() {
			return true
		}
	}
	return false
}
