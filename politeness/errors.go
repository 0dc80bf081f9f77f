package politeness

import (
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// NotYet is the error for a request that may be made, but not now. Until is the earliest time at which it makes sense to try
// again; the host gets no request before, but the caller may have to wait longer, because another request may come first.
type NotYet struct {
	Until   time.Time
	Clauses []ledger.Clause // clauses that delay the request, the one that sets Until first
	// Copied is set if a robots.txt was copied from another crawl: the URL may be requested at once, unless the file
	// forbids it.
	Copied bool
}

func (e *NotYet) Error() string {
	names := make([]string, len(e.Clauses))
	for i, c := range e.Clauses {
		names[i] = c.Name
	}
	return "politeness: not before " + e.Until.UTC().Format(time.RFC3339Nano) + " (" + strings.Join(names, ", ") + ")"
}

// notYet returns a NotYet with these clauses, of which there is at least one.
func notYet(cs ...ledger.Clause) *NotYet {
	sortClauses(cs)
	return &NotYet{Until: cs[0].Until, Clauses: cs}
}

func sortClauses(cs []ledger.Clause) {
	slices.SortStableFunc(cs, func(a, b ledger.Clause) int { return b.Until.Compare(a.Until) })
}

// Reason codes of Denied, stable across versions.
const (
	ReasonRobots            = "robots_disallow"    // a rule of robots.txt
	ReasonRobotsUnreachable = "robots_unreachable" // robots.txt could not be fetched for too long: deferred, not disallowed
	ReasonRetryAfter        = "retry_after_long"   // Retry-After above the crawl's maximum
	ReasonCrawlDelay        = "crawl_delay_long"   // Crawl-delay above the crawl's maximum
	ReasonChallenge         = "challenge"          // the host sent challenges of a bot wall several times in a row
	ReasonHostFailed        = "host_failed"        // failed too often, or for too long, without a good response in between
	ReasonOptOut            = "opt_out"            // the host is on the operator's opt-out list
	ReasonUsage             = "usage_signal"       // the site forbids a use in Config.Purposes or Config.RefuseUsage
	ReasonNoContact         = "no_contact"         // the crawl has no contact, and the host is not on loopback
)

// Denied is the final refusal of a URL.
type Denied struct {
	URL     weburl.URL
	Reason  string         // one of the Reason codes
	Verdict robots.Verdict // with ReasonRobots: the deciding rule
	Detail  string         // one sentence for a person
}

func (e *Denied) Error() string {
	if e.Detail != "" {
		return "politeness: " + e.Detail
	}
	return "politeness: " + e.Reason + ": " + e.URL.String()
}

// Deferred reports whether the URL is not forbidden, only left for now: a later run may request it.
func (e *Denied) Deferred() bool {
	return e.Reason != ReasonRobots && e.Reason != ReasonOptOut && e.Reason != ReasonUsage
}
