package crawltest

import (
	"fmt"
	"net"
	"slices"
	"time"
)

// Violation is one breach of politeness, as the servers saw it.
type Violation struct {
	Rule     string        // "P1" … "P11", "rate", "gone", "hours", "opt-out", "method", "line" or "repeat": see [Web.Audit]
	Host     string        // host:port, or the address for P6
	Detail   string        // what is wrong, without the requests
	First    Request       // the earlier request, where two are concerned
	Second   Request       // the offending request
	Gap      time.Duration // between the two, where a gap is concerned; negative when they overlap
	Required time.Duration // the gap there should have been
}

// String returns one line for a test's log.
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

// Audit judges the requests so far, from the servers' side and by the fixture's truth alone. What
// is still in flight counts as not ended. Violations come in the order of the offending requests.
// The rules:
//
//	P1      the first request to an origin is for its /robots.txt, and no page of it is asked for
//	        before that is answered, its redirects included, or when the last look at it is older
//	        than Expect.MaxRobotsAge
//	P2      no URL is asked for that the robots.txt last seen by the crawler forbids
//	P3      no more requests to a host in flight than Expect.PerHost
//	P4      the gap from the end of a request to the start of the next one to the host is at least
//	        Expect.Delay; a failed attempt to connect counts as a request where only one site
//	        lives at that address and port
//	P5      and at least what the robots.txt last seen asks for, and Expect.LatencyFactor times the
//	        duration of the request before; no page of a host that asks for more than
//	        Expect.MaxCrawlDelay
//	P6      P3 and P4 for all hosts of an address together, with Expect.PerAddress, attempts to connect
//	        that came to nothing included, and of a registrable domain, with Expect.PerDomain
//	P7      no request to a host before its Retry-After, seconds or date, on a 429 or 503 is over
//	P8      no page of an origin whose robots.txt is unreachable (429, 5xx, no whole answer), unless
//	        it was seen whole in the 30 days before; and such a robots.txt not before the pause of
//	        Expect.RobotsRetry, of a host, too, that could not be reached so far; nor after
//	        Expect.RobotsGiveUp; and one at a time
//	P11     the User-Agent is there, names Agent and Contact, and is the same in all requests; no
//	        cookie goes to a host that did not set it, no Authorization to one not in AuthHosts; with
//	        Expect.Contactless nothing at all to an address that is not loopback
//	rate    no more requests in all than Expect.Rate allows
//	gone    no request to a host after Expect.MaxFailures or Expect.MaxSilence
//	hours   no request outside of Expect.Hours
//	opt-out no request to a host of Expect.OptOut from its time on
//	method  only GET
//	line    the request line has at most 8 KiB, in origin form, visible ASCII, without fragment
//	repeat  no URL is asked for again that was answered completely with a final status (not 408,
//	        425, 429, 5xx); /robots.txt and its redirects may be
//
// With Expect.PerHost = n above 1 a request breaks P4 when n others are in flight or ended less than
// the gap before.
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

// auditor holds what the rules have learnt while going through the log in order.
type auditor struct {
	web     *Web
	e       Expect
	log     []Request
	found   []Violation
	looks   map[string][]look   // at robots.txt, by origin
	hops    map[int]bool        // IDs of requests that are hops of a robots.txt's redirects
	hosts   map[string]*lane    // P3, P4
	addrs   map[string]*lane    // P6
	domains map[string]*lane    // P6
	fails   map[string]*failing // gone, by host
	met     map[string]bool     // URLs that were requested
	waits   map[string][]wait   // P7, by host
	done    map[string]*Request // final answers by URL
	cookies map[string][]string // "name=value" set, by host
	agent   *Request            // the first with a User-Agent
}

func newAuditor(w *Web, e Expect) *auditor {
	a := &auditor{
		web: w, e: e, log: w.Requests(),
		hosts: make(map[string]*lane), addrs: make(map[string]*lane), domains: make(map[string]*lane),
		fails: make(map[string]*failing), met: make(map[string]bool), waits: make(map[string][]wait),
		done: make(map[string]*Request), cookies: make(map[string][]string),
	}
	a.findLooks()
	return a
}

func (a *auditor) report(v Violation) { a.found = append(a.found, v) }

// auditInCleanup returns what Test does at the end.
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

// ExpectViolations tells [Test] not to audit at the end. It is for tests of rude clients, the
// auditor's own above all.
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
