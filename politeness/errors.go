package politeness

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Clause is one reason to wait: a rule's name and the time before which it allows no request.
type Clause struct {
	Name  string    `json:"clause"`          // one of the Clause names below
	Until time.Time `json:"until,omitzero"`  // not before
	Delay Duration  `json:"delay,omitempty"` // the delay it came from, where there is one
}

// Names of clauses, stable across versions.
const (
	ClauseDelay       = "delay"        // the operator's delay per host
	ClauseCrawlDelay  = "crawl_delay"  // Crawl-delay of robots.txt
	ClauseRequestRate = "request_rate" // Request-rate of robots.txt
	ClauseLatency     = "latency"      // response time × factor
	ClauseBackoff     = "backoff"      // after 429, 5xx and network errors
	ClauseRetryAfter  = "retry_after"  // Retry-After of the host
	ClauseRobots      = "robots_retry" // robots.txt unreachable, to be tried again
	ClauseBusy        = "busy"         // a request to the host or its address is in flight
	ClauseAddress     = "address"      // the clock of the server's address
	ClauseDomain      = "domain"       // the clock of the registrable domain
	ClauseRate        = "rate"         // requests per second in all
	ClauseStale       = "next_changed" // what must be asked first changed meanwhile
	ClauseQuiet       = "quiet_hours"  // outside the hours agreed for the host
	ClauseRestart     = "restart"      // the process before this one may have connected to any host
)

// Duration is a time.Duration that is written as seconds in JSON.
type Duration time.Duration

// MarshalJSON writes seconds as a decimal number.
func (d Duration) MarshalJSON() ([]byte, error) {
	return d.append(nil), nil
}

func (d Duration) append(b []byte) []byte {
	return strconv.AppendFloat(b, time.Duration(d).Seconds(), 'g', -1, 64)
}

// UnmarshalJSON reads seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s float64
	if _, err := fmt.Sscan(string(b), &s); err != nil {
		return fmt.Errorf("politeness: duration %q: %w", b, err)
	}
	*d = Duration(s * float64(time.Second))
	return nil
}

// NotYet says that the request may be made, but not now. Until is the earliest time at which asking
// again makes sense; it is a promise to the host, not to the caller: another request may come first.
type NotYet struct {
	Until   time.Time
	Clauses []Clause // the deciding one first
}

func (e *NotYet) Error() string {
	names := make([]string, len(e.Clauses))
	for i, c := range e.Clauses {
		names[i] = c.Name
	}
	return "politeness: not before " + e.Until.UTC().Format(time.RFC3339Nano) + " (" + strings.Join(names, ", ") + ")"
}

// Reason codes of Denied, stable across versions.
const (
	ReasonRobots            = "robots_disallow"    // a rule of robots.txt
	ReasonRobotsUnreachable = "robots_unreachable" // robots.txt could not be had for too long: deferred, not disallowed
	ReasonRetryAfter        = "retry_after_long"   // the host asked for a longer pause than the crawl grants
	ReasonCrawlDelay        = "crawl_delay_long"   // Crawl-delay above the crawl's maximum
	ReasonHostFailed        = "host_failed"        // failed too often, or for too long, with no good answer between
	ReasonOptOut            = "opt_out"            // the host is on the operator's opt-out list
	ReasonUsage             = "usage_signal"       // a usage signal forbids the named use
	ReasonNoContact         = "no_contact"         // a crawl without contact asked for a host that is not loopback
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

// Deferred reports whether the URL was left for now and may be asked for in a later run, rather
// than forbidden.
func (e *Denied) Deferred() bool {
	return e.Reason != ReasonRobots && e.Reason != ReasonOptOut && e.Reason != ReasonUsage
}
