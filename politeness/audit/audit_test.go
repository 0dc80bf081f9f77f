package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// book builds a ledger line by line, and keeps the bodies of its robots.txt files.
type book struct {
	b      strings.Builder
	id     int
	run    string
	bodies map[string][]byte
}

func newBook() *book { return &book{run: "r1", bodies: map[string][]byte{}} }

// req is one request. Times are in seconds from base.
type req struct {
	url, host, addr, purpose, forURL string
	agent                            string
	at, end                          float64
	status                           int
	body                             string
	extra                            string // more JSON for the end line
	clause                           string // more JSON for the start line
	open                             bool   // the request has no end line
}

func at(s float64) string { return base.Add(secs(s)).Format(time.RFC3339Nano) }

func (b *book) add(rs ...req) *book {
	for _, r := range rs {
		b.id++
		if r.host == "" {
			r.host = "a.test:80"
		}
		switch r.addr {
		case "":
			r.addr = "192.0.2.1"
		case "-":
			r.addr = ""
		}
		if r.purpose == "" {
			r.purpose = "page"
		}
		if r.agent == "" {
			r.agent = "bot/1 (+https://lab.university.edu)"
		}
		fmt.Fprintf(&b.b, `{"event":"start","run":%q,"id":%d,"url":%q,"for":%q,"host":%q,"addr":%q,"purpose":%q,"agent":%q,"allowed":%q,"written":%q%s}`+"\n",
			b.run, b.id, r.url, r.forURL, r.host, r.addr, r.purpose, r.agent, at(r.at), at(r.at), r.clause)
		if r.open {
			continue
		}
		sha := ""
		if r.purpose == "robots" {
			sum := sha256.Sum256([]byte(r.body))
			sha = hex.EncodeToString(sum[:])
			b.bodies[sha] = []byte(r.body)
		}
		fmt.Fprintf(&b.b, `{"event":"end","run":%q,"id":%d,"ended":%q,"status":%d,"sha256":%q%s}`+"\n", b.run, b.id, at(r.end), r.status, sha, r.extra)
	}
	return b
}

// spoil replaces every stored body by the same wrong one.
func (b *book) spoil(body string) {
	for sha := range b.bodies {
		b.bodies[sha] = []byte(body)
	}
}

// mandate returns a change of a Config: an override for an origin that ends the given number of seconds after base.
func mandate(origin, reason string, until float64) func(*Config) {
	return func(c *Config) {
		c.Overrides = []Mandate{{Origin: origin, Reason: reason, Until: base.Add(secs(until))}}
	}
}

// restart lets another process continue the ledger.
func (b *book) restart() *book {
	b.run += "r"
	return b
}

// behind begins a process whose clock is behind by d seconds, adds requests, and records the difference.
func (b *book) behind(d float64, rs ...req) *book {
	b.restart()
	for _, r := range rs {
		r.clause += fmt.Sprintf(`,"behind":%v`, d)
		b.add(r)
	}
	return b
}

// moved returns the request, but to another host and at another time.
func moved(r req, host string, at float64) req {
	for _, s := range []*string{&r.url, &r.forURL} {
		*s = strings.Replace(*s, "a.test", host, 1)
	}
	r.host, r.end, r.at = host+":80", at+r.end-r.at, at
	return r
}

func (b *book) body(sha string) ([]byte, error) {
	if v, ok := b.bodies[sha]; ok {
		return v, nil
	}
	return nil, errors.New("no such body")
}

func config() Config {
	return Config{
		Product: "bot", UserAgent: "bot/1 (+https://lab.university.edu)", Contact: "https://lab.university.edu", Delay: 1,
		DelayFactor: 1, MaxDelay: 60, MaxRetryAfter: 300,
	}
}

func robotsReq(at float64, body string) req {
	return req{url: "http://a.test/robots.txt", forURL: "http://a.test/", purpose: "robots", at: at, end: at + 0.1, status: 200, body: body}
}

func page(at float64, path string) req {
	return req{url: "http://a.test" + path, at: at, end: at + 0.1, status: 200}
}

// refused adds a failed attempt at robots.txt for which no request was sent.
func refused(b *book, s float64, aborted bool) *book {
	fmt.Fprintf(&b.b, `{"event":"unsent","run":%q,"id":0,"url":"http://a.test/robots.txt","for":"http://a.test/","host":"a.test:80","purpose":"robots","ended":%q,"error":"refused","aborted":%t}`+"\n",
		b.run, at(s), aborted)
	return b
}

func failing(at float64) req { return req{url: "http://a.test/1", at: at, end: at + 0.1, status: 500} }

// walled returns a request that a bot wall answers with a challenge.
func walled(at float64) req {
	return req{url: "http://a.test/1", at: at, end: at + 0.1, status: 200, extra: `,"wall":"Anubis"`}
}

// polite returns a ledger with one robots.txt request.
func polite() *book { return newBook().add(robotsReq(0, "User-agent: *\nDisallow: /no\n")) }

// fiveWalls returns a ledger with the five challenges after which a host is given up, and with further requests.
func fiveWalls(between ...req) *book {
	b := polite()
	for i := range 5 {
		b.add(walled(2 + 2*float64(i)))
	}
	return b.add(between...)
}

// unheard returns a request for robots.txt that is answered with status 503.
func unheard(at float64) req {
	return req{url: "http://a.test/robots.txt", forURL: "http://a.test/", purpose: "robots", at: at, end: at + 0.1, status: 503}
}

func hostDelay(match string, d float64) func(c *Config) {
	return func(c *Config) { c.HostDelays = []HostDelay{{Match: match, Delay: d}} }
}

// optedOut returns a change of a Config: a name is on the opt-out list.
func optedOut(name string, at float64) func(c *Config) {
	return func(c *Config) {
		c.OptOut = append(c.OptOut, OptOut{Names: []string{name}, Since: base.Add(secs(at))})
	}
}

// forgivenAt returns a change of a Config: at the given time, the operator allowed requests to hosts that had been given up.
func forgivenAt(at float64) func(c *Config) {
	return func(c *Config) { c.Forgiven = []time.Time{base.Add(secs(at))} }
}

func hoursOf(texts ...string) func(*Config) { return func(c *Config) { c.Hours = texts } }

func rateOf(r float64) func(*Config) { return func(c *Config) { c.Rate = r } }

func shortDelay(c *Config) { c.Delay = 0.3 }

func backoffChecked(c *Config) { c.MaxBackoff = 300 }

func perDomain(c *Config) { c.PerDomain = true }

func with(r req, change func(*req)) req { change(&r); return r }

// in sets the registrable domain of a request.
func in(r req, domain string) req { r.clause += fmt.Sprintf(`,"domain":%q`, domain); return r }

func elsewhere(r req) req { r.addr = "192.0.2.99"; return r }

func TestInvariants(t *testing.T) {
	other := func(at float64) req {
		return req{url: "http://b.test/robots.txt", forURL: "http://b.test/", host: "b.test:80", purpose: "robots", at: at, end: at + 0.1, status: 404}
	}
	leading := func(at, wait float64) req {
		return req{url: "http://a.test/go", at: at, end: at + 0.1, status: 302, extra: fmt.Sprintf(`,"retry_after":"%v","location":"//B.test/robots.txt"`, wait)}
	}
	to := func(at float64) req { return elsewhere(other(at)) }
	limited := func(at float64, item string) req {
		return req{url: "http://a.test/1", at: at, end: at + 0.1, status: 200, extra: `,"rate_limit":"` + item + `"`}
	}
	for _, c := range []struct {
		name   string
		book   *book
		change func(*Config)
		want   []string
	}{
		{"polite", polite().add(page(1.1, "/"), page(2.2, "/x")), nil, nil},
		{"hours", polite().add(page(1.1, "/"), page(56, "/x")), hoursOf("02:00-03:04"), []string{"hours"}},
		{"hours around midnight", polite().add(page(1.1, "/")), hoursOf("22:00-03:04"), nil},
		{"hours of another zone", polite().add(page(1.1, "/")), hoursOf("04:00-04:30@Europe/Berlin"), nil},
		{"hours of another zone, missed", polite(), hoursOf("03:00-03:30@Europe/Berlin"), []string{"hours"}},
		{"one of several hours", polite(), hoursOf("12:00-13:00", "03:00-03:30"), nil},
		{"rate", polite().add(elsewhere(page(5, "/"))), rateOf(0.1), []string{"rate"}},
		{"rate, kept", polite().add(elsewhere(page(10, "/"))), rateOf(0.1), nil},
		{"P1 page first", newBook().add(page(0, "/")), nil, []string{"P1"}},
		{"P1 page before the answer", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 9, status: 404}, page(2, "/")), nil, []string{"P1", "P3"}},
		{"P1 rules older than a day", polite().add(page(86400+2, "/")), nil, []string{"P1"}},
		{"P1 after a challenge", newBook().add(
			req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 401, extra: `,"challenged":true`}, page(1.2, "/")), nil, []string{"P1"}},
		{"P1 a challenge that is answered", newBook().add(
			req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 403, extra: `,"challenged":true`}, robotsReq(1.2, ""), page(2.4, "/")), nil, nil},
		{"P1 a challenge of a redirected robots.txt", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/no", purpose: "robots", at: 1.1, end: 1.2, status: 401, extra: `,"challenged":true`},
			req{url: "http://a.test/r", forURL: "http://a.test/no", purpose: "robots", at: 2.3, end: 2.4, status: 200, body: "User-agent: bot\nDisallow: /no"},
			page(3.5, "/no")), nil, []string{"P2"}},
		{"P1 a challenge by another status", newBook().add(
			req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 404, extra: `,"challenged":true`}, page(1.2, "/")), nil, nil},
		{"P11 signed in clear text", polite().add(with(page(1.1, "/"), func(r *req) { r.clause = `,"signed":"key"` })), nil, []string{"P11"}},
		{"P2", polite().add(page(1.1, "/no/x")), nil, []string{"P2"}},
		{"P2 opted out", polite().add(page(1.1, "/"), page(2.3, "/x")), optedOut("test", 1.5), []string{"P2"}},
		{"P2 opted out, written with a dot", polite().add(req{url: "http://a.test./x", host: "a.test.:80", at: 1.1, end: 1.2, status: 200}), optedOut("a.test", 0.5), []string{"P1", "P2"}},
		{"P2 opted out before, and once more", polite().add(page(1.1, "/")), func(c *Config) {
			optedOut("a.test", 0.5)(c)
			optedOut("a.test", 5)(c)
		}, []string{"P2"}},
		{"P2 another host opted out", polite().add(page(1.1, "/")), optedOut("b.a.test", 0.5), nil},
		{"P2 robots.txt itself", polite().add(page(1.1, "/robots.txt")), nil, nil},
		{"P2 rules of a redirected robots.txt", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/no", purpose: "robots", at: 1.1, end: 1.2, status: 200, body: "User-agent: bot\nDisallow: /no"},
			page(2.2, "/no")), nil, []string{"P2"}},
		{"P2 the body is missing", func() *book { b := polite().add(page(1.1, "/")); clear(b.bodies); return b }(), nil, []string{"P2"}},
		{"P3", polite().add(req{url: "http://a.test/1", at: 1.1, end: 9, status: 200}, page(8, "/2")), nil, []string{"P3"}},
		{"P3 own host", polite().add(req{url: "http://a.test/1", at: 1.1, end: 9, status: 200}, page(1.1, "/2")), func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": 2} }, nil},
		{"P4", polite().add(page(1.0, "/")), nil, []string{"P4"}},
		{"P4 a host's own delay", polite().add(page(2, "/")), hostDelay("a.test", 3), []string{"P4"}},
		{"P4 a host's own delay is kept", polite().add(page(3.2, "/")), hostDelay("a.test:80", 3), nil},
		{"P4 a domain's own delay", polite().add(page(2, "/")), hostDelay("*.test", 3), []string{"P4"}},
		{"P4 another domain's", polite().add(page(2, "/")), hostDelay("*.b.test", 3), nil},
		{"P4 the first entry holds", polite().add(page(2, "/")), func(c *Config) { c.HostDelays = []HostDelay{{Match: "a.test", Delay: 0}, {Match: "*.test", Delay: 3}} }, nil},
		{"P4 an address's own delay", polite().add(page(2, "/")), hostDelay("192.0.2.0/24", 3), []string{"P4"}},
		{"P4 names come before addresses", polite().add(page(2, "/")), func(c *Config) {
			c.HostDelays = []HostDelay{{Match: "192.0.2.1", Delay: 3}, {Match: "a.test", Delay: 0}}
		}, nil},
		{"P4 a shorter delay", polite().add(page(0.5, "/")), hostDelay("a.test", 0.2), []string{"P4"}},
		{"P4 a shorter delay of an own host", polite().add(page(0.5, "/")), func(c *Config) {
			c.HostDelays, c.OwnHosts = []HostDelay{{Match: "a.test", Delay: 0.2}}, map[string]int{"a.test:80": 1}
		}, nil},
		{"P6 the pause of a host's own delay", newBook().add(robotsReq(0, ""), other(2)), hostDelay("a.test", 3), []string{"P6"}},
		{"P6 the pause of another's own delay", newBook().add(robotsReq(0, ""), other(2)), hostDelay("b.test", 3), nil},
		{"P4 robots.txt counts", newBook().add(robotsReq(0, ""), page(0.2, "/")), nil, []string{"P4"}},
		{"P5 Crawl-delay", newBook().add(robotsReq(0, "User-agent: *\nCrawl-delay: 3\n"), page(2, "/")), nil, []string{"P5"}},
		{"P5 Crawl-delay of another robot", newBook().add(robotsReq(0, "User-agent: slowbot\nCrawl-delay: 600\nUser-agent: *\nDisallow: /x\n"), page(1.2, "/"), page(2.4, "/x")), nil, []string{"P2"}},
		{"P5 Crawl-delay of the robots before", newBook().add(robotsReq(0, "User-agent: bot\nUser-agent: *\nCrawl-delay: 3\nUser-agent: x\nDisallow: /x\n"), page(1.2, "/")), nil, []string{"P5"}},
		{"P5 Crawl-delay of a robot that is named twice", newBook().add(robotsReq(0, "User-agent: bot\nCrawl-delay: 3\nUser-agent: bot\nDisallow: /x\n"), page(1.2, "/")), nil, []string{"P5"}},
		{"P5 Request-rate", newBook().add(robotsReq(0, "User-agent: *\nRequest-rate: 1/5\n"), page(2, "/")), nil, []string{"P5"}},
		{"P5 latency", polite().add(req{url: "http://a.test/1", at: 1.1, end: 6.1, status: 200}, page(8, "/2")), nil, []string{"P5"}},
		{"P5 latency capped", polite().add(req{url: "http://a.test/1", at: 1.1, end: 6.1, status: 200}, page(8.2, "/2")), func(c *Config) { c.MaxDelay = 2 }, nil},
		{"P6", newBook().add(robotsReq(0, ""), other(0.5)), nil, []string{"P6"}},
		{"P6 kept", newBook().add(robotsReq(0, ""), other(1.1)), nil, nil},
		{"P7 seconds", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"10"`}, page(11, "/2")), nil, []string{"P7"}},
		{"P7 date", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503, extra: `,"retry_after":"Fri, 02 Jan 2026 03:04:25 GMT"`}, page(19, "/2")), nil, []string{"P7"}},
		{"P7 obeyed", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"10"`}, page(11.3, "/2")), nil, nil},
		{"P7 said to another request of an own host, later", polite().add(req{url: "http://a.test/1", at: 2, end: 5, status: 429, extra: `,"retry_after":"400"`}, page(3, "/2")),
			func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": 2} }, nil},
		{"P7 too long", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"400"`}, page(500, "/2")), nil, []string{"P7"}},
		{"P8 5xx", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 503}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 202", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 202}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 a challenge", newBook().add(with(robotsReq(0, ""), func(r *req) { r.extra = `,"wall":"Anubis"` }), page(1.2, "/")), nil, []string{"P8"}},
		{"P8 a challenge with 404", newBook().add(with(robotsReq(0, ""), func(r *req) { r.status, r.extra = 404, `,"wall":"Anubis"` }), page(1.2, "/")), nil, []string{"P8"}},
		{"P8 network error", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, extra: `,"error":"reset"`}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 cut short", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 200, extra: `,"truncated":"cut_short"`}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 404 is no rules", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 404}, page(1.2, "/")), nil, nil},
		{"P8 a robots.txt that failed, again at once", newBook().add(unheard(0), unheard(0.6)), shortDelay, []string{"P8"}},
		{"P8 a robots.txt that failed, a second later", newBook().add(unheard(0), unheard(1.1)), shortDelay, nil},
		{"P8 a robots.txt that failed three times", newBook().add(unheard(0), unheard(1.1), unheard(6.2), unheard(36)), shortDelay, []string{"P8"}},
		{"P8 a robots.txt that failed three times, 30 s later", newBook().add(unheard(0), unheard(1.1), unheard(6.2), unheard(36.3), unheard(96.4), unheard(216.5)), shortDelay, nil},
		{"P8 a robots.txt that could not be connected to", refused(newBook(), 0, false).add(unheard(0.6)), shortDelay, []string{"P8"}},
		{"P8 a robots.txt that failed, across a restart", newBook().add(unheard(0), unheard(1.1)).restart().add(unheard(5)), shortDelay, []string{"P8"}},
		{"P8 a robots.txt that the crawler broke off", refused(newBook(), 0, true).add(unheard(0.6)), shortDelay, nil},
		{"P8 a robots.txt that the crawler broke off on the way", newBook().add(with(unheard(0), func(r *req) { r.status, r.extra = 0, `,"error":"canceled","aborted":true` }), unheard(0.6)), shortDelay, nil},
		{"P8 a copy serves no longer because the crawler broke off", polite().add(with(unheard(86402), func(r *req) { r.extra = `,"error":"canceled","aborted":true` }), page(86404, "/")), nil, []string{"P1"}},
		{"P8 a robots.txt that may have been answered", newBook().add(unheard(0), unheard(1.1), with(unheard(6.2), func(r *req) { r.open = true })).restart().add(unheard(7.5), unheard(8.6)), shortDelay, nil},
		{"P8 a robots.txt that failed and then redirects", newBook().add(unheard(0), unheard(1.1),
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/", purpose: "robots", at: 6.2, end: 6.3, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/", purpose: "robots", at: 6.8, end: 6.9, status: 500}, unheard(37)), shortDelay, nil},
		{"P8 a robots.txt that redirects and then fails", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/", purpose: "robots", at: 0.6, end: 0.7, status: 500}, unheard(1.5)), shortDelay, []string{"P8"}},
		{"P8 failures end with an answer", newBook().add(unheard(0), unheard(1.1), robotsReq(6.3, ""), unheard(86407), unheard(86409)), shortDelay, nil},
		{"P8 a failure that was told late", newBook().add(with(unheard(0), func(r *req) { r.extra = `,"reported":"` + at(5) + `"` }), unheard(5.5)), shortDelay, []string{"P8"}},
		{"P8 403 by choice", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 403}, page(1.2, "/")), func(c *Config) { c.ForbidDenies = true }, []string{"P2"}},
		{"P10 not allowed before", polite().add(req{url: "http://a.test/1", at: 1.2, end: 1.3, status: 200, clause: fmt.Sprintf(`,"clauses":[{"clause":"delay","until":%q}]`, at(1.5))}), nil, []string{"P10"}},
		{"P11", polite().add(req{url: "http://a.test/1", at: 1.2, end: 1.3, status: 200, agent: "Mozilla/5.0"}), nil, []string{"P11"}},
		{"P11 contact", polite(), func(c *Config) { c.Contact = "https://else.where" }, []string{"P11"}},
		{"P12", func() *book {
			b := polite().add(req{url: "http://a.test/1", at: 1.2, end: 5, status: 200})
			b.run = "r2"
			return b.add(page(3, "/2"))
		}(), nil, []string{"P12", "P3"}},
		{"P3 a request without an end, in the same process", polite().add(req{url: "http://a.test/1", at: 1.2, open: true}, page(9, "/2")), nil, []string{"P3"}},
		{"P5 back-off", polite().add(failing(1.1), failing(2.2), failing(4.3), page(7, "/2")), backoffChecked, []string{"P5"}},
		{"P5 back-off after challenges", polite().add(walled(1.1), walled(2.2), walled(4.3), page(7, "/2")), backoffChecked, []string{"P5"}},
		{"P5 back-off after challenges kept", polite().add(walled(1.1), walled(2.2), walled(4.3), page(8.4, "/2")), backoffChecked, nil},
		{"P5 back-off kept", polite().add(failing(1.1), failing(2.2), failing(4.3), page(8.4, "/2")), backoffChecked, nil},
		{"P5 back-off halves", polite().add(failing(1.1), failing(2.2), failing(4.3), page(8.4, "/2"), page(10.5, "/3"), page(11.6, "/4")), backoffChecked, nil},
		{"P5 back-off has a maximum", polite().add(failing(1.1), failing(2.2), failing(4.3), page(6.5, "/2")), func(c *Config) { c.MaxBackoff = 2 }, nil},
		{"P5 back-off is not halved by what may be the crawler's doing", polite().add(failing(1.1), failing(2.2),
			req{url: "http://a.test/1", at: 4.3, end: 4.3, extra: `,"error":"canceled"`}, page(5.4, "/2")), backoffChecked, []string{"P5"}},
		{"P6 the pause of the host before", newBook().add(robotsReq(0, "User-agent: *\nCrawl-delay: 5\n"), other(2)), nil, []string{"P6"}},
		{"P6 IPv4 in IPv6", newBook().add(robotsReq(0, ""), with(other(0.5), func(r *req) { r.addr = "::ffff:192.0.2.1" })), nil, []string{"P6"}},
		{"P6 own hosts have a clock of their own", newBook().add(robotsReq(0, ""), other(0.5)), func(c *Config) { c.OwnHosts = map[string]int{"b.test:80": 1} }, nil},
		{"P6 domains", newBook().add(in(robotsReq(0, ""), "test"), in(elsewhere(other(0.5)), "test")), perDomain, []string{"P6"}},
		{"P6 domains not requested", newBook().add(in(robotsReq(0, ""), "test"), in(elsewhere(other(0.5)), "test")), nil, nil},
		{"P6 domains kept", newBook().add(in(robotsReq(0, ""), "a.test"), in(elsewhere(other(0.5)), "b.test")), perDomain, nil},
		{"P10 a domain the host is not in", newBook().add(in(robotsReq(0, ""), "b.test")), perDomain, []string{"P10"}},
		{"P10 no domain", newBook().add(robotsReq(0, "")), perDomain, []string{"P10"}},
		{"P7 by the server's clock, which is behind", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503,
			extra: `,"retry_after":"Fri, 02 Jan 2026 02:04:25 GMT","date":"Fri, 02 Jan 2026 02:04:05 GMT"`}, page(19, "/2")), nil, []string{"P7"}},
		{"P7 by the server's clock, obeyed", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503,
			extra: `,"retry_after":"Fri, 02 Jan 2026 02:04:25 GMT","date":"Fri, 02 Jan 2026 02:04:05 GMT"`}, page(22.3, "/2")), nil, nil},
		{"P7 a long pause by a clock that is ahead", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503,
			extra: `,"retry_after":"Fri, 02 Jan 2026 03:10:45 GMT","date":"Fri, 02 Jan 2026 03:10:45 GMT"`}, page(501, "/2")), nil, []string{"P7"}},
		{"P7 a long pause by a clock that is ahead, reported when it was over", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503,
			extra: `,"retry_after":"Fri, 02 Jan 2026 03:10:45 GMT","date":"Fri, 02 Jan 2026 03:10:45 GMT","reported":"` + at(500) + `"`}, page(501, "/2")), nil, nil},
		{"P7 more seconds than a number holds", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"99999999999999999999"`}, page(99999, "/2")), nil, []string{"P1", "P7", "P7"}},
		{"P7 the longest counts, not the last", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"60"`},
			req{url: "http://a.test/1", at: 61.3, end: 61.4, status: 429, extra: `,"retry_after":"2"`}, page(62.5, "/2")), nil, []string{"P7"}},
		{"P2 a page passes for robots.txt", polite().add(req{url: "http://a.test/no/1", forURL: "http://a.test/", purpose: "robots", at: 1.1, end: 1.2, status: 200}), nil, []string{"P2"}},
		{"P2 what passes for robots.txt makes no rules", polite().add(req{url: "http://a.test/r", forURL: "http://a.test/", purpose: "robots", at: 1.1, end: 1.2, status: 200,
			body: "User-agent: *\nAllow: /"}, page(2.3, "/no/1")), nil, []string{"P2"}},
		{"P1 a redirect's target in another spelling", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":" HTTP://A.test:80\\x/../%7er"`},
			req{url: "http://a.test/~r", forURL: "http://a.test/no", purpose: "robots", at: 1.1, end: 1.2, status: 200, body: "User-agent: bot\nDisallow: /no"},
			page(2.3, "/no")), nil, []string{"P2"}},
		{"P1 a redirect that leads nowhere is no rules", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"mailto:x"`},
			page(1.2, "/no")), nil, nil},
		{"P1 a redirect to a name only browsers read", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"http://b\u00fccher.test/"`},
			with(other(1.2), func(r *req) {
				r.url, r.host, r.forURL = "http://xn--bcher-kva.test/", "xn--bcher-kva.test:80", "http://a.test/no"
			})), nil, nil},
		{"override", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), nil, nil},
		{"override: pauses count", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`},
			req{url: "http://a.test/2", at: 1, end: 1.1, status: 200, clause: `,"override":"a mandate"`}), nil, []string{"P4"}},
		{"another dialect", polite().add(page(1.2, "/no")), func(c *Config) { c.Dialect = "Original1994" }, nil},
		{"another dialect: P1 holds", newBook().add(page(0, "/no")), func(c *Config) { c.Dialect = "Original1994" }, []string{"P1"}},
		{"P10 a line for another host", polite().add(req{url: "http://b.test/", host: "a.test:80", at: 1.2, end: 1.3, status: 200}), nil, []string{"P1", "P10"}},
		{"P10 ended before it began", polite().add(req{url: "http://a.test/1", at: 9, end: 2, status: 200}), nil, []string{"P10"}},
		{"P10 no address", polite().add(req{url: "http://a.test/1", addr: "-", at: 1.2, end: 1.3, status: 200}), nil, []string{"P10"}},
		{"P10 one permit twice", func() *book { b := polite(); b.id--; return b.add(page(1.2, "/")) }(), nil, []string{"P10"}},
		{"P10 two ends", func() *book {
			b := polite().add(page(1.2, "/"))
			fmt.Fprintf(&b.b, `{"event":"end","run":"r1","id":2,"ended":%q,"status":200}`+"\n", at(0))
			return b
		}(), nil, []string{"P10"}},
		{"P9 a restart is no quicker", func() *book {
			b := polite().add(req{url: "http://a.test/1", at: 1.2, open: true})
			b.run = "r2"
			return b.add(page(1.5, "/2"))
		}(), nil, []string{"P4"}},
		{"P9 an unfinished request was not over before its process's last line", polite().add(req{url: "http://a.test/1", at: 1.2, open: true},
			elsewhere(moved(robotsReq(0, ""), "c.test", 5))).restart().add(page(5.5, "/2")), nil, []string{"P4"}},
		{"P9 an unfinished request, its pause kept", polite().add(req{url: "http://a.test/1", at: 1.2, open: true},
			elsewhere(moved(robotsReq(0, ""), "c.test", 5))).restart().add(page(6.2, "/2")), nil, nil},
		{"P9 a gap across a restart", polite().restart().add(page(0.9, "/")), nil, []string{"P4"}},
		{"P9 a gap across a restart, kept", polite().restart().add(page(1.1, "/")), nil, nil},
		{"P9 Crawl-delay across a restart", newBook().add(robotsReq(0, "User-agent: *\nCrawl-delay: 3\n")).restart().add(page(2, "/")), nil, []string{"P5"}},
		{"P9 latency across a restart", polite().add(req{url: "http://a.test/1", at: 1.1, end: 6.1, status: 200}).restart().add(page(8, "/2")), nil, []string{"P5"}},
		{"P9 back-off across a restart", polite().add(failing(1.1), failing(2.2), failing(4.3)).restart().add(page(7, "/2")), backoffChecked, []string{"P5"}},
		{"P9 back-off across a restart after the longest pause", polite().add(failing(1.1), failing(2.2), failing(4.3)).restart().
			add(page(305, "/2"), page(306.2, "/3")), backoffChecked, nil},
		{"P9 an address across a restart", newBook().add(robotsReq(0, "")).restart().add(other(0.5)), nil, []string{"P6"}},
		{"P9 Retry-After across a restart", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"10"`}).
			restart().add(page(9, "/2")), nil, []string{"P7"}},
		{"P7 Retry-After of a 404", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 404, extra: `,"retry_after":"10"`}, page(9, "/2")), nil, []string{"P7"}},
		{"P7 Retry-After of a 404, kept", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 404, extra: `,"retry_after":"10"`}, page(11.3, "/2")), nil, nil},
		{"P7 Retry-After of a redirect", polite().add(leading(1.1, 10), to(2.2)), nil, []string{"P7"}},
		{"P7 Retry-After of a redirect, kept", polite().add(leading(1.1, 10), to(11.3)), nil, nil},
		{"P7 Retry-After of a redirect that was not known yet", polite().add(with(leading(1.1, 10), func(r *req) { r.end = 3 }), to(2.2)), nil, nil},
		{"P7 Retry-After of a redirect that was reported later", polite().add(with(leading(1.1, 10), func(r *req) { r.extra += `,"reported":"` + at(2.2) + `"` }), to(2.2)), nil, nil},
		{"P7 Retry-After of a redirect that is left", polite().add(leading(1.1, 400), to(2.2)), nil, nil},
		{"P9 Retry-After of a redirect across a restart", polite().add(leading(1.1, 10)).restart().add(to(9)), nil, []string{"P7"}},
		{"P7 Retry-After of a redirect that another node was told", polite().add(leading(1.1, 10)).restart().add(to(9)), func(c *Config) {
			c.Processes = []Process{{Run: "r1"}, {Run: "r1r"}}
		}, nil},
		{"P7 RateLimit", polite().add(limited(1.1, `\"a\\\"b, c\";r=0;t=10`), page(9, "/2")), nil, []string{"P7"}},
		{"P7 RateLimit, kept", polite().add(limited(1.1, `\"a\\\"b, c\";r=0;t=10`), page(11.3, "/2")), nil, nil},
		{"P7 RateLimit that is not used up", polite().add(limited(1.1, `\"a\";r=1;t=10`), page(2.3, "/2")), nil, nil},
		{"P7 RateLimit too long", polite().add(limited(1.1, `a;t=400;r=0`), page(500, "/2")), nil, []string{"P7"}},
		{"P5 a host with five challenges in a row is left", fiveWalls(page(20, "/2")), nil, []string{"P5"}},
		{"P5 nor is its robots.txt requested", fiveWalls(robotsReq(20, "")), nil, []string{"P5"}},
		{"P5 five challenges", fiveWalls(), nil, nil},
		{"P5 a good answer ends the row", polite().add(walled(2), walled(4), page(6, "/2"), walled(8), walled(10), walled(12), walled(14), page(16, "/2")), nil, nil},
		{"P5 a robots.txt ends no row", polite().add(walled(2), walled(4), walled(6), walled(8), robotsReq(10, ""), walled(12), page(14, "/2")), nil, []string{"P5"}},
		{"P5 a failure ends no row", polite().add(walled(2), walled(4), walled(6), walled(8), failing(10), walled(12), page(14, "/2")), nil, []string{"P5"}},
		{"P5 what the crawler broke off is no challenge", polite().add(walled(2), walled(4), walled(6), walled(8),
			with(walled(10), func(r *req) { r.extra += `,"aborted":true` }), page(12, "/2")), nil, nil},
		{"P5 a challenge for robots.txt is none of the five", polite().add(walled(2), walled(4), walled(6), walled(8),
			with(robotsReq(10, ""), func(r *req) { r.status, r.extra = 404, `,"wall":"Anubis"` }), page(12, "/2")), nil, nil},
		{"P5 challenges in a row at several hosts", polite().add(walled(2), walled(4), walled(6), moved(robotsReq(0, ""), "b.test", 8), moved(walled(2), "b.test", 10), moved(walled(2), "b.test", 12), page(14, "/2")), nil, nil},
		{"P5 an own host with several requests at once", fiveWalls(page(20, "/2")), func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": 2} }, nil},
		{"P5 an own host with one request at once", fiveWalls(page(20, "/2")), func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": 1} }, []string{"P5"}},
		{"P5 a host that the operator has requested again", fiveWalls(page(20, "/2"), walled(22)), forgivenAt(19), nil},
		{"P5 a host that the operator has requested again, too late", fiveWalls(page(20, "/2")), forgivenAt(21), []string{"P5"}},
		{"P5 a host that was requested again, and left again", fiveWalls(walled(20), walled(22), walled(24), walled(26), walled(28), page(30, "/2")), forgivenAt(19), []string{"P5"}},
		{"P9 five challenges across a restart", fiveWalls().restart().add(page(20, "/2")), nil, []string{"P5"}},
		{"P9 challenges of two processes", polite().add(walled(2), walled(4), walled(6)).restart().add(walled(8), walled(10), page(12, "/2")), nil, []string{"P5"}},
		{"P5 challenges that another node was lost with", fiveWalls().restart().add(page(20, "/2")), func(c *Config) {
			c.Processes = []Process{{Run: "r1", Stored: base.Add(secs(9))}, {Run: "r1r"}}
		}, nil},
		{"P7 too long, and requested again by the operator", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"400"`}, page(500, "/2")), forgivenAt(450), nil},
		{"P7 requested again by the operator, too early", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"400"`}, page(300, "/2")), forgivenAt(200), []string{"P7"}},
		{"P9 Retry-After too long, across a restart", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"400"`}).
			restart().add(page(500, "/2")), nil, []string{"P7"}},
		{"P9 rules across a restart", polite().restart().add(page(1.2, "/no")), nil, []string{"P2"}},
		{"P9 rules across a restart, kept", polite().restart().add(page(86400, "/")), nil, nil},
		{"P9 rules older than a day across a restart", polite().restart().add(page(86400+2, "/")), nil, []string{"P1"}},
		{"P9 robots.txt unreachable across a restart", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 503}).
			restart().add(page(1.2, "/")), nil, []string{"P8"}},
		{"P9 robots.txt unanswered across a restart", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, open: true}).
			restart().add(page(1.2, "/")), nil, []string{"P1"}},
		{"P9 redirects begin anew after a restart", func() *book {
			b := newBook()
			for i := range 7 {
				at := float64(2 * i)
				b.restart().add(req{url: "http://a.test/robots.txt", forURL: "http://a.test/", purpose: "robots", at: at, end: at + .1, status: 301, extra: `,"location":"/r"`})
			}
			return b.add(page(20, "/"))
		}(), nil, []string{"P1"}},
		{"P1 rules for longer than the answer said", newBook().add(with(robotsReq(0, ""), func(r *req) {
			r.extra = `,"expires":"` + at(90) + `"`
		}), page(80, "/"), page(95, "/2")), nil, []string{"P1"}},
		{"P2 the body was lost, and the file requested again", func() *book {
			b := polite()
			clear(b.bodies)
			return b.restart().add(robotsReq(1.2, "User-agent: *"), page(2.4, "/"))
		}(), nil, nil},
		{"P1 redirects that are answered in no time", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/no", purpose: "robots", at: 1, end: 1, status: 301, extra: `,"location":"/s"`},
			req{url: "http://a.test/s", forURL: "http://a.test/no", purpose: "robots", at: 2, end: 2, status: 200, body: "User-agent: *"},
			page(3, "/")), nil, nil},
		{"P8 a copy serves while nobody can be connected to for the file", refused(polite().add(page(1.1, "/")), 86400.5, false).add(page(86400+2, "/")), nil, nil},
		{"P8 but not when it was the crawler that gave up", refused(polite().add(page(1.1, "/")), 86400.5, true).add(page(86400+2, "/")), nil, []string{"P1"}},
		{"unsent requests are none", func() *book {
			b := polite()
			b.b.WriteString(`{"event":"unsent","run":"r1","id":9,"url":"http://a.test/1","host":"a.test:80","ended":"` + at(0.5) + `","error":"refused"}` + "\n")
			return b.add(page(1.2, "/"))
		}(), nil, nil},
		{"a clock that was set back", polite().add(page(1.1, "/"), with(page(2.2, "/x"), func(r *req) { r.status, r.extra = 429, `,"retry_after":"100"` })).
			behind(3600, robotsReq(-3500, "User-agent: *\nDisallow: /no\n"), page(-3498, "/y"), page(2.5, "/z")), nil, nil},
		{"a clock that was set back: rules hold", polite().behind(3600, page(-3498, "/no")), nil, []string{"P2"}},
		{"a clock that was set back: pauses behind it", polite().behind(3600, page(-3498, "/y"), page(-3497.5, "/z")), nil, []string{"P4"}},
		{"a clock that was set back: robots.txt first", newBook().add(robotsReq(0, "")).behind(3600, moved(page(0, "/"), "b.test", -3498)), nil, []string{"P1"}},
		{"a clock that was set back: an address", newBook().add(robotsReq(0, "")).behind(3600, other(-3000), robotsReq(-2999.5, "")), nil, []string{"P6"}},
		{"a clock that was set back, and nobody says so", polite().add(page(1.1, "/")).restart().add(page(-3498, "/y")), nil, []string{"P1"}},
		{"a clock that is said to be behind, and is not", polite().behind(3600, page(0.5, "/y")), nil, []string{"P4"}},
		{"P10 a request without its lines", func() *book {
			b := polite()
			b.id++
			return b.add(page(1.1, "/"), with(page(2.2, "/x"), func(r *req) { r.extra = `,"through":4` }))
		}(), nil, []string{"P10"}},
		{"P10 the first and the last request without their lines", func() *book {
			b := newBook()
			b.id++
			return b.add(robotsReq(0, ""), with(page(1.1, "/"), func(r *req) { r.extra = `,"through":3` })).restart().add(with(page(2.2, "/"), func(r *req) { r.extra = `,"through":9` })) // Permit 4 is the first of the second process
		}(), nil, []string{"P10", "P10", "P10"}},
		{"P10 more requests without their lines than can be counted one by one", polite().add(with(page(1.1, "/"), func(r *req) { r.extra = `,"through":18446744073709551615` })), nil, []string{"P10"}},
		{"P10 a permit that nobody says has a line", func() *book {
			b := polite()
			b.id++
			return b.add(page(1.1, "/"))
		}(), nil, nil},
		{"P10 an attempt that was not sent has its line", func() *book {
			b := polite()
			b.b.WriteString(`{"event":"unsent","run":"r1","id":2,"url":"http://a.test/1","host":"a.test:80","ended":"` + at(0.5) + `","error":"refused"}` + "\n")
			b.id++
			return b.add(with(page(1.2, "/"), func(r *req) { r.extra = `,"through":3` }))
		}(), nil, nil},
		{"P2 a body that was changed", func() *book { b := polite().add(page(1.1, "/")); b.spoil("User-agent: *\nAllow: /\n"); return b }(), nil, []string{"P2"}},
		{"P2 a body that was emptied", func() *book { b := polite().add(page(1.1, "/no")); b.spoil(""); return b }(), nil, []string{"P2"}},
		{"an override as it was given", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), mandate("http://a.test", "a mandate", 9), nil},
		{"P2 an override that nobody has given", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), func(c *Config) { c.Overrides = []Mandate{} }, []string{"P2"}},
		{"P2 an override for another origin", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), mandate("https://a.test", "a mandate", 9), []string{"P2"}},
		{"P2 an override for another reason", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), mandate("http://a.test", "none", 9), []string{"P2"}},
		{"P2 an override that has ended", newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`}), mandate("http://a.test", "a mandate", -1), []string{"P2"}},
		{"P5 what the crawler broke off is no good answer", polite().add(failing(1.1), failing(2.2),
			req{url: "http://a.test/1", at: 4.3, end: 4.3, status: 200, extra: `,"aborted":true`}, page(5.4, "/2")), backoffChecked, []string{"P5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config()
			if c.change != nil {
				c.change(&cfg)
			}
			rep, err := Check(strings.NewReader(c.book.b.String()), cfg, c.book.body)
			if err != nil {
				t.Fatal(err)
			}
			samePaces(t, c.book.b.String(), cfg, c.book.body, rep.Violations)
			var got []string
			for _, v := range rep.Violations {
				got = append(got, v.Invariant)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", rep.Violations, c.want)
			}
		})
	}
}

func TestSmallestGapAndWhatWasDue(t *testing.T) {
	b := newBook().add(robotsReq(0, ""), page(1.1, "/"), page(3.2, "/x"))
	rep, err := Check(strings.NewReader(b.b.String()), config(), b.body)
	if err != nil || len(rep.Hosts) != 1 {
		t.Fatal(rep, err)
	}
	if h := rep.Hosts[0]; h.Least != time.Second || h.Required != time.Second || h.Requests != 3 {
		t.Errorf("got %+v", h)
	}
}

func TestLedgerAfterAKill(t *testing.T) {
	b := newBook().add(robotsReq(0, ""), req{url: "http://a.test/1", at: 2, open: true})
	rep, err := Check(strings.NewReader(b.b.String()+`{"event":"sta`), config(), b.body)
	if err != nil || !rep.Torn || rep.Unfinished != 1 || len(rep.Violations) != 0 {
		t.Errorf("%+v %v", rep, err)
	}
	for _, bad := range []string{"nonsense\n", `{"event":"end","id":9}` + "\n"} {
		if _, err := Check(strings.NewReader(bad), config(), b.body); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestPlainReadingOfRobots(t *testing.T) {
	for _, c := range []struct {
		file, target string
		ok           bool
	}{
		{"User-agent: *\nDisallow: /\nAllow: /x", "/x", true},
		{"User-agent: *\nDisallow: /x\nAllow: /x", "/x", true},
		{"User-agent: *\nDisallow: /*.gif$", "/a.gif", false},
		{"User-agent: *\nDisallow: /*.gif$", "/a.gif?x", true},
		{"User-agent: *\nDisallow: /a*b*c", "/aXbYc/z", false},
		{"User-agent: *\nDisallow: /caf%c3%a9", "/café", false},
		{"User-agent: *\nDisallow: /%7ejoe", "/~joe/", false},
		{"User-agent: *\nDisallow: /a/b", "/a%2Fb", true},
		{"User-agent: bot\n\nUser-agent: x\nDisallow: /", "/", false},
		{"User-agent: bot\nDisallow: /a\nUser-agent: *\nDisallow: /", "/", true},
		{"User-agent: bot/2.0\nDisallow: /", "/", false},
		{"User-agent: botx\nDisallow: /", "/", true},
		{"Disallow: /", "/", true},
		{"User-agent: *\nDisallow:", "/", true},
		{"User-agent: *\r\nDisallow: / # all\r\n", "/", false},
	} {
		if ok, _ := parse([]byte(c.file), "bot").allows(c.target); ok != c.ok {
			t.Errorf("%q %s: %v", c.file, c.target, ok)
		}
	}
}

// TestWithoutBodiesRulesAreNotChecked checks that if the bodies of robots.txt are missing, Check says that the rules were not checked, and
// still checks everything else.
func TestWithoutBodiesRulesAreNotChecked(t *testing.T) {
	b := newBook().add(robotsReq(0, "User-agent: *\nDisallow: /no\n"), page(1.1, "/no"), page(1.5, "/x"))
	rep, err := Check(strings.NewReader(b.b.String()), config(), nil)
	if err != nil || len(rep.Violations) != 1 || rep.Violations[0].Invariant != "P4" || !strings.Contains(strings.Join(rep.Notes, "\n"), "P2 was not checked") {
		t.Errorf("%+v %v", rep, err)
	}
}

func TestOverridesAndNotesAreReported(t *testing.T) {
	b := newBook().add(req{url: "http://a.test/1", at: 0, end: 0.1, status: 200, clause: `,"override":"a mandate"`},
		req{url: "http://a.test/2", at: 2, end: 2.1, status: 200, clause: `,"override":"a mandate"`})
	cfg := config()
	cfg.Dialect = "Draft1997"
	rep, err := Check(strings.NewReader(b.b.String()), cfg, b.body)
	if err != nil || len(rep.Violations) != 0 {
		t.Fatal(rep, err)
	}
	if want := (Override{Origin: "http://a.test", Reason: "a mandate", Requests: 2}); len(rep.Overrides) != 1 || rep.Overrides[0] != want {
		t.Errorf("overrides %v", rep.Overrides)
	}
	if notes := strings.Join(rep.Notes, "\n"); !strings.Contains(notes, "Draft1997") || !strings.Contains(notes, "override") {
		t.Errorf("notes %q", notes)
	}
}

func TestAReportIsStableJSON(t *testing.T) {
	b := newBook().add(robotsReq(0, "User-agent: *\nDisallow: /no\n"), page(1.6, "/no"))
	cfg := config()
	cfg.MaxBackoff = 300
	rep, err := Check(strings.NewReader(b.b.String()), cfg, b.body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(rep)
	const want = `{"requests":2,"unfinished":0,"torn":false,"runs":1,` +
		`"hosts":[{"host":"a.test:80","requests":2,"least_s":1.5,"required_s":1,"slack_s":0.5}],` +
		`"violations":[{"invariant":"P2","host":"a.test:80","lines":[3],"message":"http://a.test/no is forbidden by line 2 of robots.txt"}],` +
		`"overrides":[],"notes":[]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	one := newBook().add(robotsReq(0, ""))
	rep, _ = Check(strings.NewReader(one.b.String()), cfg, one.body)
	if got, _ := json.Marshal(rep.Hosts); string(got) != `[{"host":"a.test:80","requests":1}]` {
		t.Errorf("got %s", got)
	}
}

// TestTimeIsLinearWhateverTheLedgerSays checks worst-case ledgers, which would take hours if the time of a check were quadratic.
func TestTimeIsLinearWhateverTheLedgerSays(t *testing.T) {
	const n = 20_000
	flying, asking := newBook(), newBook()
	for i := range n {
		at := float64(i) / 1000
		flying.add(req{url: "http://a.test/1", at: at, end: at + n, status: 200})
		asking.add(req{url: "http://a.test/1", at: at, end: at, status: 429, extra: `,"retry_after":"100000"`})
	}
	for _, b := range []*book{flying, asking} {
		rep, err := Check(strings.NewReader(b.b.String()), config(), b.body)
		if err != nil || len(rep.Violations) < n {
			t.Errorf("%d violations, %v", len(rep.Violations), err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	bk := newBook()
	const hosts, pages = 500, 1000
	for i := range hosts {
		host, addr := fmt.Sprintf("h%d.test:80", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)
		bk.add(req{url: fmt.Sprintf("http://h%d.test/robots.txt", i), host: host, addr: addr, purpose: "robots", at: 0, end: 0.1, status: 200,
			body: "User-agent: *\nDisallow: /private/\nDisallow: /*?sid=\nCrawl-delay: 2\n"})
	}
	for p := range pages - 1 {
		for i := range hosts {
			at := float64(p+1) * 2.2
			bk.add(req{url: fmt.Sprintf("http://h%d.test/section/page%d.html", i, p), host: fmt.Sprintf("h%d.test:80", i), addr: fmt.Sprintf("10.0.%d.%d", i/250, i%250),
				at: at, end: at + 0.1, status: 200, clause: fmt.Sprintf(`,"queued":%q,"clauses":[{"clause":"crawl_delay","until":%q,"delay":2}]`, base.Format(time.RFC3339Nano), base.Format(time.RFC3339Nano))})
		}
	}
	text := bk.b.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		rep, err := Check(strings.NewReader(text), config(), bk.body)
		if err != nil || len(rep.Violations) != 0 {
			b.Fatal(rep.Violations[:1], err)
		}
	}
	b.ReportMetric(float64(2*hosts*pages)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
