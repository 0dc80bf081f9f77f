package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// book writes a ledger line by line.
type book struct {
	b      strings.Builder
	id     int
	run    string
	bodies map[string][]byte
}

func newBook() *book { return &book{run: "r1", bodies: map[string][]byte{}} }

// req is one request, times in seconds from base.
type req struct {
	url, host, addr, purpose, forURL string
	agent                            string
	at, end                          float64
	status                           int
	body                             string
	extra                            string // further JSON of the end line
	clause                           string // further JSON of the start line
	open                             bool   // never ended
}

func at(s float64) string { return base.Add(secs(s)).Format(time.RFC3339Nano) }

func (b *book) add(rs ...req) *book {
	for _, r := range rs {
		b.id++
		if r.host == "" {
			r.host = "a.test:80"
		}
		if r.addr == "" {
			r.addr = "192.0.2.1"
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

func TestInvariants(t *testing.T) {
	polite := func() *book { return newBook().add(robotsReq(0, "User-agent: *\nDisallow: /no\n")) }
	other := func(at float64) req {
		return req{url: "http://b.test/robots.txt", forURL: "http://b.test/", host: "b.test:80", purpose: "robots", at: at, end: at + 0.1, status: 404}
	}
	for _, c := range []struct {
		name   string
		book   *book
		change func(*Config)
		want   []string
	}{
		{"polite", polite().add(page(1.1, "/"), page(2.2, "/x")), nil, nil},
		{"P1 page first", newBook().add(page(0, "/")), nil, []string{"P1"}},
		{"P1 page before the answer", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 9, status: 404}, page(2, "/")), nil, []string{"P1", "P3"}},
		{"P1 rules older than a day", polite().add(page(86400+2, "/")), nil, []string{"P1"}},
		{"P2", polite().add(page(1.1, "/no/x")), nil, []string{"P2"}},
		{"P2 robots.txt itself", polite().add(page(1.1, "/robots.txt")), nil, nil},
		{"P2 rules of a redirected robots.txt", newBook().add(
			req{url: "http://a.test/robots.txt", forURL: "http://a.test/no", purpose: "robots", at: 0, end: 0.1, status: 301, extra: `,"location":"/r"`},
			req{url: "http://a.test/r", forURL: "http://a.test/no", purpose: "robots", at: 1.1, end: 1.2, status: 200, body: "User-agent: bot\nDisallow: /no"},
			page(2.2, "/no")), nil, []string{"P2"}},
		{"P2 the body is missing", func() *book { b := polite().add(page(1.1, "/")); clear(b.bodies); return b }(), nil, []string{"P2"}},
		{"P3", polite().add(req{url: "http://a.test/1", at: 1.1, end: 9, status: 200}, page(8, "/2")), nil, []string{"P3"}},
		{"P3 own host", polite().add(req{url: "http://a.test/1", at: 1.1, end: 9, status: 200}, page(1.1, "/2")), func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": 2} }, nil},
		{"P4", polite().add(page(1.0, "/")), nil, []string{"P4"}},
		{"P4 robots.txt counts", newBook().add(robotsReq(0, ""), page(0.2, "/")), nil, []string{"P4"}},
		{"P5 Crawl-delay", newBook().add(robotsReq(0, "User-agent: *\nCrawl-delay: 3\n"), page(2, "/")), nil, []string{"P5"}},
		{"P5 Request-rate", newBook().add(robotsReq(0, "User-agent: *\nRequest-rate: 1/5\n"), page(2, "/")), nil, []string{"P5"}},
		{"P5 latency", polite().add(req{url: "http://a.test/1", at: 1.1, end: 6.1, status: 200}, page(8, "/2")), nil, []string{"P5"}},
		{"P5 latency capped", polite().add(req{url: "http://a.test/1", at: 1.1, end: 6.1, status: 200}, page(8.2, "/2")), func(c *Config) { c.MaxDelay = 2 }, nil},
		{"P6", newBook().add(robotsReq(0, ""), other(0.5)), nil, []string{"P6"}},
		{"P6 kept", newBook().add(robotsReq(0, ""), other(1.1)), nil, nil},
		{"P7 seconds", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"10"`}, page(11, "/2")), nil, []string{"P7"}},
		{"P7 date", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 503, extra: `,"retry_after":"Fri, 02 Jan 2026 03:04:25 GMT"`}, page(19, "/2")), nil, []string{"P7"}},
		{"P7 obeyed", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"10"`}, page(11.3, "/2")), nil, nil},
		{"P7 too long", polite().add(req{url: "http://a.test/1", at: 1.1, end: 1.2, status: 429, extra: `,"retry_after":"400"`}, page(500, "/2")), nil, []string{"P7"}},
		{"P8 5xx", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 503}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 network error", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, extra: `,"error":"reset"`}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 cut short", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 200, extra: `,"truncated":"cut_short"`}, page(1.2, "/")), nil, []string{"P8"}},
		{"P8 404 is no rules", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 404}, page(1.2, "/")), nil, nil},
		{"P8 403 by choice", newBook().add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 403}, page(1.2, "/")), func(c *Config) { c.ForbidDenies = true }, []string{"P2"}},
		{"P10 not allowed before", polite().add(req{url: "http://a.test/1", at: 1.2, end: 1.3, status: 200, clause: fmt.Sprintf(`,"clauses":[{"clause":"delay","until":%q}]`, at(1.5))}), nil, []string{"P10"}},
		{"P11", polite().add(req{url: "http://a.test/1", at: 1.2, end: 1.3, status: 200, agent: "Mozilla/5.0"}), nil, []string{"P11"}},
		{"P11 contact", polite(), func(c *Config) { c.Contact = "https://else.where" }, []string{"P11"}},
		{"P12", func() *book {
			b := polite().add(req{url: "http://a.test/1", at: 1.2, end: 5, status: 200})
			b.run = "r2"
			return b.add(page(3, "/2"))
		}(), nil, []string{"P12", "P3"}},
		{"P9 a restart is no quicker", func() *book {
			b := polite().add(req{url: "http://a.test/1", at: 1.2, open: true})
			b.run = "r2"
			return b.add(page(1.5, "/2"))
		}(), nil, []string{"P4"}},
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
		if ok, _ := parse([]byte(c.file)).allows("bot", c.target); ok != c.ok {
			t.Errorf("%q %s: %v", c.file, c.target, ok)
		}
	}
}
