package crawltest

import "time"

// Expect is what the crawler under test was configured to: the auditor holds it to that.
// The zero value checks all that needs no configuration.
type Expect struct {
	// Delay is the operator's delay between requests to one host (P4). The delay in force is the
	// larger of it and what the site's robots.txt asks for by the fixture's truth.
	Delay time.Duration
	// PerHost is how many requests to one host may be in flight (P3); 0 is 1.
	PerHost int
	// PerAddress holds hosts that share an address to Delay and PerHost together (P6).
	PerAddress bool
	// PerDomain does for the hosts of one registrable domain what PerAddress does for those of an address (P6).
	PerDomain bool
	// Hosts overrides Delay and PerHost for single hosts (host:port), the operator's own for instance.
	// They are left out of PerAddress and PerDomain.
	Hosts map[string]HostExpect
	// Agent is the product token and Contact the text, an address or URL, that every User-Agent
	// must contain (P11). "" is not checked; a User-Agent must be there and the same anyway.
	Agent, Contact string
	// MaxRetryAfter is the longest Retry-After the crawler obeys; a host that asked for more must
	// not be asked again at all (P7). 0: it waits however long it takes.
	MaxRetryAfter time.Duration
	// MaxRobotsAge is how old the last look at a robots.txt may be when a page of its origin is
	// asked for (RFC 9309 section 2.4); 0 is 24 hours.
	MaxRobotsAge time.Duration
	// RobotsFreshness holds the crawler to what a robots.txt says of its own age, too: no page by a copy
	// older than the max-age of its Cache-Control, or than a minute if that is more.
	RobotsFreshness bool
	// RobotsRetry are the least pauses before robots.txt is asked for again after the first, second, …
	// 5xx or 429 in a row; the last one holds for all that follow (P8). None: not checked.
	RobotsRetry []time.Duration
	// MaxCrawlDelay, when not 0, is the longest delay of a robots.txt that the crawler grants; no page may
	// be asked of a host that it knows to ask for more (P5).
	MaxCrawlDelay time.Duration
	// RobotsGiveUp, when not 0, is how long a crawler may go on asking for a robots.txt that fails: after a
	// failure this long after the first, it must not ask again (P8).
	RobotsGiveUp time.Duration
	// MaxFailures of answers that say 429, with no good one between, or such answers for MaxSilence, end all requests to a
	// host, when not 0. An answer of 5xx counts half for MaxFailures, if its URL was not requested before. Those for a
	// robots.txt do not count.
	MaxFailures int
	MaxSilence  time.Duration
	// Hours, when there are any, are when requests may be granted.
	Hours []Span
	// OptOut are host names of which nothing may be asked any more, and from when on.
	OptOut map[string]time.Time
	// Overrides are origins whose robots.txt the crawler may leave aside, and until when.
	Overrides map[string]time.Time
	// Contactless allows requests and connections to loopback addresses only (P11).
	Contactless bool
	// Late is by how much a request may be on the wire, and the crawler know of its end, later than Hours,
	// OptOut, RobotsGiveUp and MaxSilence say.
	Late time.Duration
	// Rate, when not 0, is how many requests a second the crawler makes in all. A request may be up to
	// RateSlack later on the wire than when it was granted.
	Rate      float64
	RateSlack time.Duration
	// LatencyFactor, when not 0, asks for a gap of at least this times the duration of the request
	// before it, if that was answered whole (P5).
	LatencyFactor float64
	// MaxLatencyDelay, when not 0, caps what LatencyFactor asks for.
	MaxLatencyDelay time.Duration
	// AllowRepeats permits asking again for a URL that was answered completely.
	AllowRepeats bool
	// AuthHosts are the hosts (host:port) to which an Authorization header may be sent.
	AuthHosts []string
}

// Span is a part of the day, from midnight UTC on. One whose To is not after its From goes on to the next day.
type Span struct{ From, To time.Duration }

// HostExpect is what holds for one host in place of the general rule.
type HostExpect struct {
	Delay   time.Duration
	PerHost int // 0 is 1
}

// at returns the delay and the number in flight that hold for a host, and whether they are its own.
func (e Expect) at(host string) (delay time.Duration, per int, own bool) {
	if h, own := e.Hosts[host]; own {
		return h.Delay, max(h.PerHost, 1), true
	}
	return e.Delay, max(e.PerHost, 1), false
}

// Expect sets what [Test] audits by when the test ends.
func (w *Web) Expect(e Expect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expect = e
}
