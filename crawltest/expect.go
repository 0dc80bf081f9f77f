package crawltest

import "time"

// Expect is the configuration of the crawler under test, which the auditor checks. The zero value checks all rules
// that need no configuration.
type Expect struct {
	// Delay is the operator's delay between requests to one host (P4). The required delay is the larger of it and the
	// delay of the site's robots.txt, as the fixture states it.
	Delay time.Duration
	// PerHost is the maximum number of simultaneous requests to one host (P3); 0 means 1.
	PerHost int
	// PerAddress applies Delay and PerHost to all hosts of an address together (P6).
	PerAddress bool
	// PerDomain applies Delay and PerHost to all hosts of a registrable domain together (P6).
	PerDomain bool
	// Hosts overrides Delay and PerHost for single hosts (host:port), such as the operator's own. PerAddress and
	// PerDomain do not apply to them.
	Hosts map[string]HostExpect
	// Delays lengthens Delay for single hosts (host:port).
	Delays map[string]time.Duration
	// Agent is the product token and Contact the text, an address or URL, that every User-Agent must contain (P11).
	// "" is not checked; even then a User-Agent must be present and always the same.
	Agent, Contact string
	// MaxRetryAfter is the longest Retry-After that the crawler obeys; after a longer one the host must not receive
	// any request (P7). 0 means no maximum.
	MaxRetryAfter time.Duration
	// MaxRobotsAge is the maximum age of the last look at a robots.txt when a page of its origin is requested (RFC
	// 9309 section 2.4); 0 means 24 hours.
	MaxRobotsAge time.Duration
	// RobotsFreshness also requires that no page is requested when the robots.txt is older than the max-age of its
	// Cache-Control, or than a minute if that is longer.
	RobotsFreshness bool
	// RobotsRetry is the minimum pauses before robots.txt is requested again after the first, second, … consecutive
	// 5xx or 429; the last one applies to all that follow (P8). If empty, it is not checked.
	RobotsRetry []time.Duration
	// MaxCrawlDelay, if not 0, is the longest delay of a robots.txt that the crawler accepts; no page may be
	// requested of a host of which it knows a longer one (P5).
	MaxCrawlDelay time.Duration
	// RobotsGiveUp, if not 0, is the time for which a crawler may keep requesting a robots.txt that fails: after a failure this long after
	// the first, it must not request it again (P8). A request may be later than RobotsRetry allows, since other hosts take turns:
	// that delay does not count.
	RobotsGiveUp time.Duration
	// MaxFailures, if not 0, is the number of answers of 429 without a good one in between after which a host must not receive any
	// request; MaxSilence, if not 0, is the same for the time since the first of at least five such answers. An answer of 5xx counts half
	// for MaxFailures if its URL was not requested before. Answers for a robots.txt do not count.
	MaxFailures int
	MaxSilence  time.Duration
	// Hours, if not empty, are the times of day at which requests may be granted.
	Hours []Span
	// OptOut maps names of hosts to the time from which they must not receive any request.
	OptOut map[string]time.Time
	// Overrides maps origins to the time until which the crawler may ignore their robots.txt.
	Overrides map[string]time.Time
	// Contactless permits requests and connections to loopback addresses only (P11).
	Contactless bool
	// Late is the tolerance after Hours, OptOut, RobotsGiveUp and MaxSilence for a request to be on the wire, or the
	// crawler may learn of its end.
	Late time.Duration
	// Rate, if not 0, is the total number of requests per second. A request may be on the wire up to RateSlack later
	// than it was granted.
	Rate      float64
	RateSlack time.Duration
	// LatencyFactor, if not 0, requires a gap of at least this factor times the duration of the previous request, if
	// that was answered completely (P5).
	LatencyFactor float64
	// MaxLatencyDelay, if not 0, is the maximum of the gap that LatencyFactor requires.
	MaxLatencyDelay time.Duration
	// AllowRepeats permits requesting a URL again after a complete answer.
	AllowRepeats bool
	// AuthHosts are the hosts (host:port) to which an Authorization header may be sent.
	AuthHosts []string
	// Logins are the URLs to which a form may be sent, by at most LoginsEach POSTs each. 0: 1.
	Logins     []string
	LoginsEach int
}

// Span is a part of the day, from midnight UTC. If To is not after From, it extends into the next day.
type Span struct{ From, To time.Duration }

// HostExpect overrides the general rules for one host.
type HostExpect struct {
	Delay   time.Duration
	PerHost int // 0 is 1
}

// at returns the delay and the number of simultaneous requests for a host, and whether they are specific to it.
func (e Expect) at(host string) (delay time.Duration, per int, own bool) {
	if h, own := e.Hosts[host]; own {
		return h.Delay, max(h.PerHost, 1), true
	}
	return max(e.Delay, e.Delays[host]), max(e.PerHost, 1), false
}

// Expect sets the configuration with which [Test] audits when the test ends.
func (w *Web) Expect(e Expect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expect = e
}
