package crawltest

import "time"

// Expect is the configuration of the crawler under test, which the auditor checks. The zero value checks all rules
// that need no configuration.
type Expect struct {
	// Delay is the operator's delay between requests to one host (P4). The required delay is the maximum of Delay and the delay that the
	// fixture states for the site's robots.txt.
	Delay time.Duration
	// PerHost is the maximum number of simultaneous requests to one host (P3); 0 means 1.
	PerHost int
	// PerAddress applies Delay and PerHost to all hosts of an address together (P6).
	PerAddress bool
	// PerDomain applies Delay and PerHost to all hosts of a registrable domain together (P6).
	PerDomain bool
	// Hosts overrides Delay and PerHost for single hosts (host:port), such as the operator's. PerAddress and PerDomain do not apply to
	// these hosts.
	Hosts map[string]HostExpect
	// Delays lengthens Delay for single hosts (host:port).
	Delays map[string]time.Duration
	// Agent is the product token and Contact the text, an address or URL, that every User-Agent must contain (P11). "" is not checked. In
	// any case, a User-Agent must be present and must always be the same.
	Agent, Contact string
	// MaxRetryAfter is the longest Retry-After for which the crawler waits. After a longer one, the host must not receive any further
	// request (P7). 0 means no maximum.
	MaxRetryAfter time.Duration
	// MaxRobotsAge is the maximum age of the last look at a robots.txt when a page of its origin is requested (RFC
	// 9309 section 2.4); 0 means 24 hours.
	MaxRobotsAge time.Duration
	// RobotsFreshness also requires that no page is requested when the robots.txt is older than the max-age of its
	// Cache-Control, or than a minute if that is longer.
	RobotsFreshness bool
	// RobotsRetry has the minimum pauses before robots.txt is requested again after the first, second, … consecutive 5xx or 429; the last
	// pause applies to all further ones (P8). If RobotsRetry is empty, these pauses are not checked.
	RobotsRetry []time.Duration
	// MaxCrawlDelay, if not 0, is the longest delay of a robots.txt that the crawler accepts; if the crawler knows a longer delay of a
	// host, it must not request pages from that host (P5).
	MaxCrawlDelay time.Duration
	// RobotsGiveUp, if not 0, is the time for which a crawler may keep requesting a robots.txt that fails: after a failure this long
	// after the first, it must not request it again (P8). If requests come later than RobotsRetry allows, that delay does not count,
	// because other hosts take turns.
	RobotsGiveUp time.Duration
	// MaxFailures, if not 0, is the number of answers with 429, without a good answer in between, after which a host must not receive any
	// request. A 5xx counts half if its URL was not requested before. MaxSilence, if not 0, is the time between the first and the last of
	// at least five such answers with 429 after which the same applies. Answers for a robots.txt do not count.
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
	// Late is the tolerance after Hours, OptOut, RobotsGiveUp and MaxSilence: the time until a request is on the wire, or until the
	// crawler learns that a limit has been reached.
	Late time.Duration
	// Rate, if not 0, is the total number of requests per second. A request may be on the wire up to RateSlack later
	// than it was granted.
	Rate      float64
	RateSlack time.Duration
	// LatencyFactor, if not 0, requires a gap of at least this multiple of the duration of the previous request, if that request was
	// answered completely (P5).
	LatencyFactor float64
	// MaxLatencyDelay, if not 0, is the maximum of the gap that LatencyFactor requires.
	MaxLatencyDelay time.Duration
	// AllowRepeats permits requesting a URL again after a complete answer.
	AllowRepeats bool
	// AuthHosts are the hosts (host:port) to which an Authorization header may be sent.
	AuthHosts []string
	// Logins are the URLs to which forms may be sent, with at most LoginsEach POSTs to each. 0: 1.
	Logins     []string
	LoginsEach int
}

// Span is a part of the day, from midnight UTC. If To is not after From, it extends into the next day.
type Span struct{ From, To time.Duration }

// HostExpect overrides the general rules for one host.
type HostExpect struct {
	Delay   time.Duration
	PerHost int // 0 means 1
}

// at returns the delay and the maximum number of simultaneous requests for a host, and whether Hosts has an entry for it.
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
