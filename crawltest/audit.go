package crawltest

import (
	"fmt"
	"net"
	"slices"
	"time"
)

// Violation is a breach of politeness that the simulated servers have observed.
type Violation struct {
	Rule     string        // "P1" … "P11", "rate", "gone", "hours", "opt-out", "method", "line" or "repeat": see [Web.Audit]
	Host     string        // host:port; the address for P6
	Detail   string        // description of the breach, without the requests
	First    Request       // the earlier request, if two are involved
	Second   Request       // the offending request
	Gap      time.Duration // gap between the two requests, if the rule is about gaps; negative if they overlap
	Required time.Duration // the required gap
}

// String formats the violation as one line for the log of a test.
func (v Violation) String() string {
	s := v.Rule + " " + v.Host + ": " + v.Detail
	if v.Second.ID != 0 {
		s += fmt.Sprintf(": request %d %s", v.Second.ID, v.Second.URL)
	}
	if v.First.ID != 0 {
		s += fmt.Sprintf(", after request %d %s", v.First.ID, v.First.URL)
	}
	if v.Required != 0 {
		s += fmt.Sprintf(", gap %v of %v", v.Gap, v.Required)
	}
	return s
}

// Audit checks the requests so far, from the servers' side and only by the statements of the fixture. A request that is still in flight
// has not ended. Violations are in the order of the offending requests. The rules:
//
//	P1      the first request to an origin is for its /robots.txt, and no page of the origin is requested
//	        before that is answered, including its redirects, or if the last look at it is older
//	        than Expect.MaxRobotsAge
//	P2      no URL is requested that is forbidden by the robots.txt which the crawler saw last
//	P3      no more simultaneous requests to a host than Expect.PerHost
//	P4      the gap from the end of a request to the start of the next one to the host is at least
//	        Expect.Delay; a failed attempt to connect counts as a request if only one site is at
//	        that address and port
//	P5      the gap is also at least the delay in the robots.txt seen last, and Expect.LatencyFactor
//	        times the duration of the request before; no page is requested of a host whose delay is
//	        longer than Expect.MaxCrawlDelay
//	P6      P3 and P4 for all hosts of an address together, with Expect.PerAddress, including failed
//	        attempts to connect; and for all hosts of a registrable domain, with Expect.PerDomain
//	P7      no request to a host before the Retry-After of an answer, in seconds or as a date, is over, or that of a
//	        redirect to it, or the t of a RateLimit with r=0
//	P8      no page of an origin whose robots.txt is unreachable (202, 429, 5xx, a challenge, incomplete answer), unless
//	        it was seen in the 30 days before; such a robots.txt is not requested before the pause of
//	        Expect.RobotsRetry, which also holds for a host that could not be reached so far; nor after
//	        Expect.RobotsGiveUp; and only one request at a time
//	P11     the User-Agent is present, contains Agent and Contact, and is the same in all requests; no
//	        cookie goes to a host that did not set it, no Authorization to a host not in AuthHosts; with
//	        Expect.Contactless nothing is sent to addresses other than loopback
//	rate    no more requests in total than Expect.Rate permits
//	gone    no request to a host after Expect.MaxFailures or Expect.MaxSilence, or after five challenges of
//	        a bot wall without a good answer in between, those for robots.txt aside
//	hours   no request outside of Expect.Hours
//	opt-out no request to a host of Expect.OptOut from its time on
//	method  only GET, and Expect.LoginsEach POSTs to each of Expect.Logins
//	line    the request line has at most 8 KiB, in origin form, visible ASCII, without fragment
//	repeat  no URL is requested again after a complete answer with a final status (not 408,
//	        425, 429, 5xx), except /robots.txt and its redirects
//
// If Expect.PerHost is n > 1, a request violates P4 if n other requests are in flight or ended less than the gap before it.
func (w *Web) Audit(e Expect) []Violation {
	a := newAuditor(w, e)
	for i := range a.log {
		r := &a.log[i]
		a.robots(r)
		a.pace(r)
		a.retryAfter(r)
		a.failures(r)
		a.limits(r)
		a.identity(r)
		a.wire(r)
	}
	dials := w.Dials()
	a.connects(dials)
	a.connectsAtAddresses(dials)
	a.unreached(dials, w.Lookups())
	a.robotsRetries()
	a.rate()
	slices.SortStableFunc(a.found, func(x, y Violation) int { return x.Second.ID - y.Second.ID })
	return a.found
}

// auditor holds the state of the rules while it reads the log in order.
type auditor struct {
	web     *Web
	e       Expect
	log     []Request
	found   []Violation
	looks   map[string][]look   // attempts to fetch robots.txt, keyed by origin
	hops    map[int]bool        // IDs of requests that followed the redirects of a robots.txt
	hosts   map[string]*lane    // state of P3 and P4, keyed by host
	addrs   map[string]*lane    // state of P6, keyed by address
	domains map[string]*lane    // state of P6, keyed by domain
	fails   map[string]*failing // state of rule gone, keyed by host
	met     map[string]bool     // URLs that were requested
	waits   map[string][]wait   // state of P7, keyed by host
	done    map[string]*Request // last complete answer, keyed by URL
	logins  map[string]*Request // last POST, keyed by URL of Expect.Logins
	posts   map[string]int      // number of POSTs, keyed by URL
	cookies map[string][]string // "name=value" of cookies that were set, keyed by host
	agent   *Request            // first request with a User-Agent
}

func newAuditor(w *Web, e Expect) *auditor {
	a := &auditor{
		web: w, e: e, log: w.Requests(),
		hosts: make(map[string]*lane), addrs: make(map[string]*lane), domains: make(map[string]*lane),
		fails: make(map[string]*failing), met: make(map[string]bool), waits: make(map[string][]wait),
		done: make(map[string]*Request), logins: make(map[string]*Request), posts: make(map[string]int), cookies: make(map[string][]string),
	}
	a.findLooks()
	return a
}

func (a *auditor) report(v Violation) { a.found = append(a.found, v) }

// auditInCleanup fails the test for each violation.
func (w *Web) auditInCleanup() {
	w.mu.Lock()
	e, skip := w.expect, w.unaudited
	w.mu.Unlock()
	if skip {
		return
	}
	for _, v := range w.Audit(e) {
		w.errorf("%v", v)
	}
}

// ExpectViolations makes [Test] skip the audit at its end. It is for tests of impolite clients, above all tests of the auditor.
func (w *Web) ExpectViolations() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unaudited = true
}

func hostname(hostport string) string {
	h, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	return h
}
