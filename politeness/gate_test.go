package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// bench is a Gate with a client that does what a crawler does, in virtual time.
type bench struct {
	*testing.T
	gate *Gate
}

func identity() Identity {
	return Identity{Product: "testbot", Version: "1.0", Contact: "https://lab.university.edu/crawl"}
}

func open(t *testing.T, c Config) *bench {
	t.Helper()
	if c.Identity == (Identity{}) {
		c.Identity = identity()
	}
	g, err := NewGate(c)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, g}
}

func (b *bench) url(s string) weburl.URL {
	b.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

var someAddr = netip.MustParseAddr("192.0.2.1")

// admit asks for what raw needs next at an address.
func (b *bench) admit(raw string, addr netip.Addr) (Permit, error) {
	u := b.url(raw)
	return b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: addr})
}

// must admits raw now.
func (b *bench) must(raw string) Permit {
	b.Helper()
	p, err := b.admit(raw, someAddr)
	if err != nil {
		b.Fatalf("%s: %v", raw, err)
	}
	return p
}

// send goes through the life of an admitted request that takes took and ends in r.
func (b *bench) send(p Permit, took time.Duration, r Reply) time.Time {
	b.Helper()
	g, err := p.Redeem()
	if err != nil {
		b.Fatal(err)
	}
	if err := g.Begin(); err != nil {
		b.Fatal(err)
	}
	r.Written = time.Now()
	time.Sleep(took)
	r.Ended = time.Now()
	return b.gate.Report(p, r)
}

// rules takes a host through its robots.txt with this body.
func (b *bench) rules(raw, body string) time.Time {
	b.Helper()
	p := b.must(raw)
	if p.Purpose() != Robots {
		b.Fatalf("%s: first request is for %s, want robots.txt (P1)", raw, p.URL())
	}
	return b.send(p, 0, Reply{Status: 200, Body: []byte(body)})
}

// wait expects NotYet and returns it.
func (b *bench) wait(raw string, addr netip.Addr) *NotYet {
	b.Helper()
	_, err := b.admit(raw, addr)
	var w *NotYet
	if !errors.As(err, &w) {
		b.Fatalf("%s: %v, want NotYet", raw, err)
	}
	return w
}

// denied expects Denied and returns it.
func (b *bench) denied(raw string) *Denied {
	b.Helper()
	_, err := b.admit(raw, someAddr)
	var d *Denied
	if !errors.As(err, &d) {
		b.Fatalf("%s: %v, want Denied", raw, err)
	}
	return d
}

func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestP1RobotsComesFirst(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		if next := b.gate.Next(b.url("https://a.test/x?y")); next.String() != "https://a.test/robots.txt" {
			t.Fatalf("next is %s", next)
		}
		ready := b.rules("https://a.test/x?y", "User-agent: *\nDisallow: /no\n")
		time.Sleep(time.Until(ready))
		if p := b.must("https://a.test/x?y"); p.URL().String() != "https://a.test/x?y" || p.Purpose() != Page {
			t.Fatalf("got a permit for %s (%v)", p.URL(), p.Purpose())
		}
		if p := b.must2("http://a.test/x", "192.0.2.9"); p.Purpose() != Robots {
			t.Error("http and https of one name are two origins: each has a robots.txt")
		}
	})
}

// must2 admits raw now at the given address.
func (b *bench) must2(raw, addr string) Permit {
	b.Helper()
	p, err := b.admit(raw, netip.MustParseAddr(addr))
	if err != nil {
		b.Fatalf("%s: %v", raw, err)
	}
	return p
}

func TestP2ForbiddenIsDeniedWithItsLine(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "User-agent: other\nDisallow: /\n\nUser-agent: TestBot\nDisallow: /no\n")
		d := b.denied("https://a.test/no/page")
		if d.Reason != ReasonRobots || d.Verdict.Line != 5 || d.Deferred() {
			t.Errorf("got %+v", d)
		}
	})
}

func TestP3OneRequestInFlight(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		p := b.must("https://a.test/1")
		if w := b.wait("https://a.test/2", someAddr); w.Clauses[0].Name != ledger.ClauseBusy && w.Clauses[0].Name != ledger.ClauseAddress {
			t.Errorf("clauses %v", w.Clauses)
		}
		b.gate.Report(p, Reply{Status: 200})
		b.wait("https://a.test/2", someAddr)
		time.Sleep(time.Second)
		b.must("https://a.test/2")
	})
}

func TestP3OwnHostsMayHaveMore(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: None, DelayFactor: None, OwnHosts: func(h string) int {
			if h == "a.test:443" {
				return 3
			}
			return 0
		}})
		b.rules("https://a.test/", "")
		for range 3 {
			b.must("https://a.test/x")
		}
		b.wait("https://a.test/x", someAddr)
	})
}

func TestP4GapIsFromEndToStart(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: 2 * time.Second})
		ready := b.rules("https://a.test/", "")
		if got := time.Until(ready); got != 2*time.Second {
			t.Fatalf("after robots.txt: %v", got)
		}
		time.Sleep(2*time.Second - time.Nanosecond)
		b.wait("https://a.test/1", someAddr)
		time.Sleep(time.Nanosecond)
		p := b.must("https://a.test/1")
		ready = b.send(p, 1500*time.Millisecond, Reply{Status: 200})
		if got := time.Until(ready); got != 2*time.Second {
			t.Fatalf("after a slow page: %v, want the delay from its end", got)
		}
	})
}

func TestP5DelayInForceIsTheLargest(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		robots string
		took   time.Duration
		reply  Reply
		want   time.Duration
		clause string
	}{
		{"operator", Config{Delay: 3 * time.Second}, "User-agent: *\nCrawl-delay: 1\n", time.Second, Reply{Status: 200}, 3 * time.Second, ledger.ClauseDelay},
		{"Crawl-delay", Config{}, "User-agent: *\nCrawl-delay: 7.5\n", time.Second, Reply{Status: 200}, 7500 * time.Millisecond, ledger.ClauseCrawlDelay},
		{"Request-rate", Config{}, "User-agent: *\nRequest-rate: 1/20\nCrawl-delay: 7\n", time.Second, Reply{Status: 200}, 20 * time.Second, ledger.ClauseRequestRate},
		{"latency", Config{DelayFactor: 2}, "", 4 * time.Second, Reply{Status: 200}, 8 * time.Second, ledger.ClauseLatency},
		{"latency capped", Config{DelayFactor: 2, MaxDelay: 5 * time.Second}, "", 4 * time.Second, Reply{Status: 200}, 5 * time.Second, ledger.ClauseLatency},
		{"latency off", Config{DelayFactor: None}, "", 4 * time.Second, Reply{Status: 200}, time.Second, ledger.ClauseDelay},
		{"back-off", Config{Delay: 100 * time.Millisecond}, "", 0, Reply{Status: 500}, time.Second, ledger.ClauseBackoff},
		{"group of another robot", Config{}, "User-agent: x\nDisallow: /x\nCrawl-delay: 9\n\nUser-agent: *\nDisallow:\n", 0, Reply{Status: 200}, time.Second, ledger.ClauseDelay},
		{"no operator's delay", Config{Delay: None}, "User-agent: *\nCrawl-delay: 2\n", 0, Reply{Status: 200}, 2 * time.Second, ledger.ClauseCrawlDelay},
		{"not even that", Config{Delay: None}, "", 0, Reply{Status: 200}, MinDelay, ledger.ClauseDelay},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := open(t, c.config)
				time.Sleep(time.Until(b.rules("https://a.test/", c.robots)))
				ready := b.send(b.must("https://a.test/"), c.took, c.reply)
				if got := time.Until(ready); got != c.want {
					t.Errorf("delay %v, want %v", got, c.want)
				}
				if i := b.gate.Host("a.test:443"); i.Delay != c.want || i.Clause != c.clause || time.Until(i.NotBefore) != c.want || i.Waits != c.clause {
					t.Errorf("the Gate tells of %+v, want %v by %s", i, c.want, c.clause)
				}
				time.Sleep(c.want)
				if cl := b.must("https://a.test/").Clauses(); len(cl) == 0 || cl[0].Name != c.clause {
					t.Errorf("clauses %v, want %s first", cl, c.clause)
				}
			})
		})
	}
}

// TestTheDelayThatAHostInfoTellsOfHasItsFloor, which depends on whose host it is and where.
func TestTheDelayThatAHostInfoTellsOfHasItsFloor(t *testing.T) {
	in(t, func(t *testing.T) {
		own := func(host string) int {
			if host == "own.test:443" {
				return 2
			}
			return 0
		}
		b := open(t, Config{Delay: None, OwnHosts: own})
		told := func(when, host string, want time.Duration) {
			t.Helper()
			if i := b.gate.Host(host); i.Delay != want || i.Exempt != (want == 0) {
				t.Errorf("%s: %s: %v, exempt %v, want %v", when, host, i.Delay, i.Exempt, want)
			}
		}
		for host, want := range map[string]time.Duration{
			"a.test:443": MinDelay, "own.test:443": 0, "127.0.0.1:80": 0, "[::1]:80": 0, "localhost:80": 0, "192.0.2.1:80": MinDelay, "near.test:443": MinDelay,
		} {
			told("before the first request", host, want)
		}
		for raw, addr := range map[string]string{"https://a.test/": "192.0.2.2", "https://near.test/": "127.0.0.1", "https://own.test/": "192.0.2.3"} {
			b.send(b.must2(raw, addr), 0, Reply{Status: 404})
		}
		told("after a request", "a.test:443", MinDelay)
		told("after a request", "own.test:443", 0)
		told("after a request to loopback", "near.test:443", 0)
		r := b.restored(Config{Delay: None, OwnHosts: own})
		if d := r.gate.Host("near.test:443").Delay; d != 0 {
			t.Errorf("after a restart: %v", d)
		}
	})
}

func TestP5ADelayLearnedElsewhereCountsFromTheLastRequest(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.send(b.must("https://a.test/x"), 0, Reply{Status: 302, Header: http.Header{"Location": {"https://b.test/r"}}})
		p := b.must2("https://a.test/x", "192.0.2.2")
		ready := b.send(p, 2*time.Second, Reply{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 9\n")})
		if got := time.Until(ready); got != 7*time.Second {
			t.Errorf("ready in %v, want 9 s from the end of the last request to a.test", got)
		}
	})
}

func TestAbortedRequestsSayNothingAboutTheHost(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		time.Sleep(time.Until(b.send(b.must("https://a.test/"), time.Minute, Reply{Aborted: true, Err: errors.New("canceled")})))
		if p := b.must("https://a.test/"); p.Purpose() != Robots {
			t.Fatal("robots.txt is asked for again")
		} else {
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 404})))
		}
		b.send(b.must("https://a.test/"), 0, Reply{Aborted: true, Err: errors.New("canceled")})
		if i := b.gate.Host("a.test:443"); i.Failures != 0 || i.Backoff != 0 {
			t.Errorf("got %+v", i)
		}
	})
}

func TestLoopbackMayHaveNoDelay(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: None, DelayFactor: None})
		ready := b.send(b.must2("http://127.0.0.1/", "127.0.0.1"), 0, Reply{Status: 404})
		if got := time.Until(ready); got > 0 {
			t.Errorf("waits %v", got)
		}
	})
}

func TestP6HostsOnOneAddressShareItsClock(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "")
		w := b.wait("https://b.test/", someAddr)
		if w.Clauses[0].Name != ledger.ClauseAddress || time.Until(w.Until) != time.Second {
			t.Errorf("got %v", w)
		}
		if p := b.must2("https://c.test/", "192.0.2.2"); p.Purpose() != Robots {
			t.Error("another address waits for nothing")
		}
		time.Sleep(time.Second)
		p := b.must("https://b.test/")
		b.wait("https://a.test/", someAddr)
		b.gate.Report(p, Reply{Status: 404})
	})
}

func TestP6WaitersOfOneAddressComeBackOneByOne(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "")
		seen := map[time.Time]bool{}
		for _, h := range []string{"b", "c", "d", "e"} {
			seen[b.wait("https://"+h+".test/", someAddr).Until] = true
		}
		if len(seen) != 4 {
			t.Errorf("4 waiters were given %d times", len(seen))
		}
	})
}

func TestP6DomainByOption(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{PerDomain: true})
		b.rules("https://a.site.test/", "")
		_, err := b.admit("https://b.site.test/", netip.MustParseAddr("192.0.2.7"))
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseDomain {
			t.Errorf("got %v", err)
		}
	})
}

func TestP7RetryAfterIsObeyedInFull(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header func(now time.Time) http.Header
		want   time.Duration
	}{
		{"seconds", 429, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"date", 503, func(now time.Time) http.Header {
			return http.Header{"Retry-After": {now.Add(2 * time.Minute).UTC().Format(http.TimeFormat)}}
		}, 2 * time.Minute},
		{"date of a slow clock", 503, func(now time.Time) http.Header {
			return http.Header{
				"Retry-After": {now.Add(-58 * time.Minute).UTC().Format(http.TimeFormat)},
				"Date":        {now.Add(-time.Hour).UTC().Format(http.TimeFormat)},
			}
		}, 2 * time.Minute},
		{"not on 200", 200, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := open(t, Config{})
				time.Sleep(time.Until(b.rules("https://a.test/", "")))
				ready := b.send(b.must("https://a.test/"), 0, Reply{Status: c.status, Header: c.header(time.Now())})
				if got := time.Until(ready); got != c.want {
					t.Errorf("waits %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestP7ARobotsHopHoldsTheHostThatAnswered(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.send(b.must("https://a.test/x"), 0, Reply{Status: 302, Header: http.Header{"Location": {"https://b.test/r"}}})
		p := b.must2("https://a.test/x", "192.0.2.2")
		b.send(p, 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"60"}}})
		_, err := b.admit("https://b.test/", netip.MustParseAddr("192.0.2.2"))
		var w *NotYet
		if !errors.As(err, &w) || time.Until(w.Until) != time.Minute || w.Clauses[0].Name != ledger.ClauseRetryAfter {
			t.Errorf("got %v", err)
		}
	})
}

func TestP7TooLongIsGivenUpNotClamped(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		b.send(b.must("https://a.test/"), 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"301"}}})
		if d := b.denied("https://a.test/"); d.Reason != ReasonRetryAfter || !d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{MaxRetryAfter: None})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		ready := b.send(b.must("https://a.test/"), 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"99999999999999"}}})
		if ready.Before(time.Now().AddDate(100, 0, 0)) {
			t.Errorf("ready at %v", ready)
		}
	})
}

func TestCrawlDelayTooLongIsGivenUp(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nCrawl-delay: 3600\n")
		if d := b.denied("https://a.test/"); d.Reason != ReasonCrawlDelay {
			t.Errorf("got %v", d)
		}
	})
}

func TestP8UnreachableRobotsMeansNoPages(t *testing.T) {
	for _, r := range []Reply{{Status: 500}, {Status: 503}, {Status: 429}, {Err: errors.New("timeout")}, {Status: 200, Truncated: "cut_short"}} {
		in(t, func(t *testing.T) {
			b := open(t, Config{})
			var waits []time.Duration
			for {
				p, err := b.admit("https://a.test/", someAddr)
				var w *NotYet
				var d *Denied
				switch {
				case errors.As(err, &w):
					time.Sleep(time.Until(w.Until))
					continue
				case errors.As(err, &d):
					if d.Reason != ReasonRobotsUnreachable || !d.Deferred() {
						t.Errorf("given up with %v", d)
					}
					if len(waits) < 4 || waits[0] != time.Second || waits[1] != 5*time.Second || waits[2] != 30*time.Second || waits[3] != time.Minute {
						t.Errorf("pauses %v", waits)
					}
					return
				case p.Purpose() != Robots:
					t.Fatalf("got a permit for %s", p.URL())
				}
				waits = append(waits, time.Until(b.send(p, 0, r)))
			}
		})
	}
}

// TestP8ARobotsTxtThatIsFetchedAgainSaysWhatItWaitedFor, in its Permit and the ledger, and while it waits.
func TestP8ARobotsTxtThatIsFetchedAgainSaysWhatItWaitedFor(t *testing.T) {
	in(t, func(t *testing.T) {
		var out bytes.Buffer
		b := open(t, Config{Ledger: &out})
		const raw = "https://a.test/"
		b.send(b.must(raw), 0, Reply{Status: 503})
		for i, pause := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
			if i == 2 {
				pause = 100 * time.Second
			}
			until := time.Now().Add(pause)
			if h := b.gate.Host("a.test:443"); !h.NotBefore.Equal(until) || h.Waits != ledger.ClauseRobots {
				t.Errorf("the host waits until %v by %s, want %v", h.NotBefore, h.Waits, until)
			}
			if h := b.gate.Host("b.test:443"); h.Waits != "" || !h.NotBefore.IsZero() {
				t.Errorf("nothing is known of b.test, and it waits until %v by %s", h.NotBefore, h.Waits)
			}
			time.Sleep(pause)
			p := b.must(raw)
			if cs := p.Clauses(); cs[0].Name != ledger.ClauseRobots || !cs[0].Until.Equal(until) || len(cs) != 3 {
				t.Errorf("waited for %v, want %s until %v first", cs, ledger.ClauseRobots, until)
			}
			want := fmt.Sprintf(`"clauses":[{"clause":"robots_retry","until":%q}`, until.Format("2006-01-02T15:04:05.000000Z07:00"))
			r := Reply{Status: 500}
			if i == 1 {
				r = Reply{Status: 429, Header: http.Header{"Retry-After": {"100"}}}
			}
			b.send(p, 0, r)
			if lines := strings.Split(out.String(), "\n"); !strings.Contains(lines[len(lines)-3], want) {
				t.Errorf("the ledger has %s\nwant %s", lines[len(lines)-3], want)
			}
		}
	})
	in(t, func(t *testing.T) { // a hop of a redirect waits for its host alone, and so does another origin of the host
		b := open(t, Config{})
		b.send(b.must("https://a.test/"), 0, Reply{Status: 503})
		time.Sleep(time.Second)
		b.send(b.must("https://a.test/"), 0, redirect("/r"))
		time.Sleep(time.Second)
		if cs := b.must("https://a.test/").Clauses(); len(cs) != 2 || cs[0].Name == ledger.ClauseRobots {
			t.Errorf("a hop waited for %v", cs)
		}
	})
}

// TestForgiveKeepsThePauseBeforeARobotsTxt, and lets it fail once more before it is given up again.
func TestForgiveKeepsThePauseBeforeARobotsTxt(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{RobotsGiveUp: 20 * time.Second})
		const raw = "https://a.test/"
		for range 3 { // after 0, 1 and 6 s; then 30 s are due
			b.page(raw, "192.0.2.1", Reply{Status: 503})
		}
		b.page(raw, "192.0.2.1", Reply{Status: 503}) // after 36 s; then a minute is due
		if d := b.denied(raw); d.Reason != ReasonRobotsUnreachable {
			t.Fatal(d)
		}
		b.gate.Forgive()
		if w := b.wait(raw, someAddr); time.Until(w.Until) != time.Minute || w.Clauses[0].Name != ledger.ClauseRobots {
			t.Errorf("forgiven: %v", w)
		}
		time.Sleep(time.Minute)
		b.send(b.must(raw), 0, Reply{Status: 503})
		if d := b.denied(raw); d.Reason != ReasonRobotsUnreachable {
			t.Error(d)
		}
	})
}

func TestP8ADecentCopyServesWhileUnreachable(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /no\n")
		time.Sleep(25 * time.Hour)
		if p := b.must("https://a.test/"); p.Purpose() != Robots {
			t.Fatal("rules older than 24 h are asked for again")
		} else {
			b.send(p, 0, Reply{Status: 503})
		}
		time.Sleep(time.Second - time.Millisecond)
		if d := b.denied("https://a.test/no"); !b.gate.Origin(b.url("https://a.test/")).Source.Stale || d.Reason != ReasonRobots {
			t.Errorf("got %v", d)
		}
	})
}

func TestRobotsRedirects(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: None})
		to := func(u string) Reply { return Reply{Status: 302, Header: http.Header{"Location": {u}}} }
		p := b.must("https://a.test/x")
		b.send(p, 0, to("https://other.test/r"))
		if next := b.gate.Next(b.url("https://a.test/x")); next.String() != "https://other.test/r" {
			t.Fatalf("next is %s", next)
		}
		_, err := b.gate.Admit(Request{URL: b.url("https://a.test/x"), Addr: someAddr})
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseStale {
			t.Fatalf("an address of the page's host serves no hop on another: %v", err)
		}
		p = b.must2("https://a.test/x", "192.0.2.2")
		b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n")})
		time.Sleep(time.Second)
		if d := b.denied("https://a.test/x"); len(d.Verdict.Rule) == 0 {
			t.Errorf("the rules bind the origin first asked: %v", d)
		}
		if p := b.must2("https://other.test/x", "192.0.2.2"); p.Purpose() != Robots {
			t.Error("and no other")
		}
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: None})
		for i := range 6 {
			p := b.must("https://a.test/x")
			if p.Purpose() != Robots {
				t.Fatalf("hop %d is a %v", i, p.Purpose())
			}
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 301, Header: http.Header{"Location": {"/robots.txt"}}})))
		}
		if p := b.must("https://a.test/x"); p.Purpose() != Page {
			t.Error("a sixth redirect means what 404 means")
		}
	})
}

func TestPermitIsForOneUse(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Redeem(); !errors.Is(err, ErrUsed) {
			t.Errorf("second Redeem: %v", err)
		}
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := g.Begin(); !errors.Is(err, ErrUsed) {
			t.Errorf("second Begin: %v", err)
		}
		first := b.gate.Report(p, Reply{Status: 404})
		if again := b.gate.Report(p, Reply{Status: 429, Header: http.Header{"Retry-After": {"60"}}}); again != first {
			t.Errorf("a second Report changed %v to %v", first, again)
		}
		if _, err := (Permit{}).Redeem(); !errors.Is(err, ErrNoPermit) {
			t.Errorf("zero Permit: %v", err)
		}
		if err := (Grant{}).Begin(); !errors.Is(err, ErrNoPermit) {
			t.Errorf("zero Grant: %v", err)
		}
	})
}

func TestPermitExpires(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if err := g.Begin(); !errors.Is(err, ErrExpired) {
			t.Errorf("Begin after expiry: %v", err)
		}
		b.gate.Report(p, Reply{})
		time.Sleep(time.Second)
		p = b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
			t.Errorf("Redeem after expiry: %v", err)
		}
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		u := b.url("https://a.test/")
		p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr, Deadline: time.Now().Add(time.Second)})
		if err != nil || p.Expires() != time.Now().Add(time.Second) {
			t.Errorf("a Permit ends with its claim: %v %v", p.Expires(), err)
		}
	})
}

func TestFailingHostIsGivenUpAndBackOffDecays(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		var last time.Duration
		for i := range 3 {
			last = time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 502}))
			if want := time.Second << i; last != want {
				t.Errorf("after %d failures: %v, want %v", i+1, last, want)
			}
			time.Sleep(last)
		}
		for _, want := range []time.Duration{2 * time.Second, time.Second, time.Second} {
			last = time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 200}))
			if last != want {
				t.Errorf("in recovery: %v, want %v", last, want)
			}
			time.Sleep(last)
		}
		for b.gate.Host("a.test:443").GivenUp == "" {
			time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, Reply{Err: errors.New("reset")})))
		}
		if d := b.denied("https://a.test/"); d.Reason != ReasonHostFailed || !d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
}

func TestGlobalRate(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Rate: 10})
		start := time.Now()
		for i := range 30 {
			raw := fmt.Sprintf("https://h%d.test/", i)
			for {
				_, err := b.admit(raw, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				var w *NotYet
				if !errors.As(err, &w) {
					break
				}
				time.Sleep(time.Until(w.Until))
			}
		}
		if got := time.Since(start); got < 2900*time.Millisecond || got > 3*time.Second {
			t.Errorf("30 requests at 10/s took %v", got)
		}
	})
}

func TestGlobalRateAtOddTimes(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Rate: 7.3})
		for i := range 200 {
			raw := fmt.Sprintf("https://h%d.test/", i)
			asked := 0
			for {
				_, err := b.admit(raw, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				var w *NotYet
				if !errors.As(err, &w) {
					break
				}
				if asked++; asked > 2 || !w.Until.After(time.Now()) {
					t.Fatalf("host %d is told %v at %v", i, w.Until, time.Now())
				}
				time.Sleep(time.Until(w.Until))
			}
			time.Sleep(time.Duration(i*i) * 9973)
		}
	})
}

func TestContactlessIsForLoopbackOnly(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Identity: Identity{Product: "x"}, Contactless: true})
		if d := b.denied("https://a.test/"); d.Reason != ReasonNoContact {
			t.Errorf("got %v", d)
		}
		b.must2("http://127.0.0.1/", "127.0.0.1")
	})
}

// TestAPermitThatRunsOutEarlyHoldsItsHost: the Permit cannot be used any more, but a connection made by it
// may still be coming about.
func TestAPermitThatRunsOutEarlyHoldsItsHost(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: 5 * time.Second})
		b.rules("https://a.test/", "")
		time.Sleep(5 * time.Second)
		u := b.url("https://a.test/")
		p, err := b.gate.Admit(Request{URL: u, Addr: someAddr, Deadline: time.Now().Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
			t.Error(err)
		}
		time.Sleep(DefaultPermitTTL - 2*time.Second)
		if w := b.wait("https://a.test/", someAddr); w.Clauses[0].Name != ledger.ClauseBusy {
			t.Errorf("%v, want busy", w)
		}
		time.Sleep(time.Second)
		b.wait("https://a.test/", someAddr) // taken back now
		time.Sleep(4 * time.Second)
		b.gate.Report(p, Reply{Aborted: true})
		time.Sleep(5*time.Second - 1)
		b.wait("https://a.test/", someAddr)
		time.Sleep(1)
		b.must("https://a.test/")
	})
}

// TestTheBucketAgreesWithTheExactInstant holds the token bucket of golang.org/x/time/rate, which is made
// when a clock is asked, to the instant that is kept: it rounds, but by no more than slack.
func TestTheBucketAgreesWithTheExactInstant(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b rate.Limiter
	now := time.Now()
	for range 100_000 {
		d := time.Duration(rng.Int64N(int64(time.Millisecond) << rng.IntN(30)))
		var p pace
		p.rest(now, d, ledger.ClauseDelay)
		if !p.full(p.notBefore, &b) {
			t.Fatalf("%v after a request the bucket is not full", d)
		}
		if d > 4*slack && p.full(p.notBefore.Add(-2*slack), &b) {
			t.Fatalf("%v after a request the bucket is full %v too soon", d, 2*slack)
		}
	}
}
