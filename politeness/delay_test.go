package politeness

import (
	"net/http"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

// TestDelayFor checks the delay of a Config for each state of a host. Rule P5: a site may lengthen the operator's delay, but never shorten
// it.
func TestDelayFor(t *testing.T) {
	own := func(host string) int {
		if host == "own.test:443" {
			return 1
		}
		return 0
	}
	rules := robots.Parse([]byte("User-agent: *\nCrawl-delay: 3\nRequest-rate: 1/5s\n")).For("x")
	for _, c := range []struct {
		name   string
		config Config
		state  HostState
		want   time.Duration
		clause string
	}{
		{"defaults", Config{}, HostState{}, DefaultDelay, ledger.ClauseDelay},
		{"no delay", Config{Delay: NoDelay}, HostState{}, MinDelay, ledger.ClauseDelay},
		{"no delay, exempt", Config{Delay: NoDelay}, HostState{Exempt: true}, 0, ledger.ClauseDelay},
		{"slow", Config{DelayFactor: 2}, HostState{Latency: 3 * time.Second}, 6 * time.Second, ledger.ClauseLatency},
		{"very slow", Config{MaxDelay: 4 * time.Second}, HostState{Latency: time.Hour}, 4 * time.Second, ledger.ClauseLatency},
		{"slow, without a factor", Config{DelayFactor: NoFactor}, HostState{Latency: time.Hour}, DefaultDelay, ledger.ClauseDelay},
		{"less requested", Config{Delay: 9 * time.Second}, Config{}.HostState("a.test:443", rules), 9 * time.Second, ledger.ClauseDelay},
		{"more requested", Config{}, Config{}.HostState("a.test:443", rules), 5 * time.Second, ledger.ClauseRequestRate},
		{"failing", Config{}, HostState{Requested: 5 * time.Second, RequestedBy: ledger.ClauseCrawlDelay, Backoff: time.Minute}, time.Minute, ledger.ClauseBackoff},
		{"unknown, on loopback", Config{Delay: NoDelay}, Config{}.HostState("[::1]:80", nil), 0, ledger.ClauseDelay},
		{"unknown, own", Config{Delay: NoDelay}, Config{OwnHosts: own}.HostState("own.test:443", nil), 0, ledger.ClauseDelay},
		{"unknown, of others", Config{Delay: NoDelay}, Config{OwnHosts: own}.HostState("a.test:443", nil), MinDelay, ledger.ClauseDelay},
	} {
		if d, clause := c.config.DelayFor(c.state); d != c.want || clause != c.clause {
			t.Errorf("%s: %v by %s, want %v by %s", c.name, d, clause, c.want, c.clause)
		}
	}
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
		{"latency off", Config{DelayFactor: NoFactor}, "", 4 * time.Second, Reply{Status: 200}, time.Second, ledger.ClauseDelay},
		{"back-off", Config{Delay: 100 * time.Millisecond}, "", 0, Reply{Status: 500}, time.Second, ledger.ClauseBackoff},
		{"group of another robot", Config{}, "User-agent: x\nDisallow: /x\nCrawl-delay: 9\n\nUser-agent: *\nDisallow:\n", 0, Reply{Status: 200}, time.Second, ledger.ClauseDelay},
		{"no operator's delay", Config{Delay: NoDelay}, "User-agent: *\nCrawl-delay: 2\n", 0, Reply{Status: 200}, 2 * time.Second, ledger.ClauseCrawlDelay},
		{"not even that", Config{Delay: NoDelay}, "", 0, Reply{Status: 200}, MinDelay, ledger.ClauseDelay},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, c.config)
				time.Sleep(time.Until(b.rules("https://a.test/", c.robots)))
				ready := b.send(b.must("https://a.test/"), c.took, c.reply)
				if got := time.Until(ready); got != c.want {
					t.Errorf("delay %v, want %v", got, c.want)
				}
				if i := b.gate.Host("a.test:443"); i.Delay != c.want || i.Clause != c.clause || time.Until(i.NotBefore) != c.want || i.Waits != c.clause {
					t.Errorf("the Gate reports %+v, want %v by %s", i, c.want, c.clause)
				}
				time.Sleep(c.want)
				if cl := b.must("https://a.test/").Clauses(); len(cl) == 0 || cl[0].Name != c.clause {
					t.Errorf("clauses %v, want %s first", cl, c.clause)
				}
			})
		})
	}
}

func TestP5ADelayLearnedElsewhereCountsFromTheLastRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/x"), 0, Reply{Status: 302, Header: http.Header{"Location": {"https://b.test/r"}}})
		p := b.mustAt("https://a.test/x", "192.0.2.2")
		ready := b.send(p, 2*time.Second, Reply{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 9\n")})
		if got := time.Until(ready); got != 7*time.Second {
			t.Errorf("ready in %v, want 9 s from the end of the last request to a.test", got)
		}
	})
}

func TestP5TwoOriginsOfOneHostKeepBothTheirDelays(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("http://a.test:8080/", "User-agent: *\nCrawl-delay: 5\n")
		b.ready("https://a.test:8080/", "User-agent: *\nDisallow: /x\n")
		if got := time.Until(b.send(b.must("https://a.test:8080/"), 0, Reply{Status: 200})); got != 5*time.Second {
			t.Errorf("waits %v: one host, the longer wish", got)
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Overrides: []Override{{Origin: "https://a.test:8080", Body: "User-agent: *\nCrawl-delay: 9", Reason: "x"}}})
		b.ready("http://a.test:8080/", "User-agent: *\nCrawl-delay: 5\n")
		time.Sleep(time.Until(b.wait("https://a.test:8080/", someAddr).Until))
		if got := time.Until(b.send(b.must("https://a.test:8080/"), 0, Reply{Status: 200})); got != 9*time.Second {
			t.Errorf("waits %v", got)
		}
	})
}

func TestLoopbackMayHaveNoDelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: NoDelay, DelayFactor: NoFactor})
		ready := b.send(b.mustAt("http://127.0.0.1/", "127.0.0.1"), 0, Reply{Status: 404})
		if got := time.Until(ready); got > 0 {
			t.Errorf("waits %v", got)
		}
	})
}

func TestCrawlDelayTooLongIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nCrawl-delay: 3600\n")
		if d := b.denied("https://a.test/"); d.Reason != ReasonCrawlDelay {
			t.Errorf("got %v", d)
		}
	})
}

func TestP5LatencyIsMeasuredAsTheLedgerHasIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Ledger: slow{}})
		b.ready("https://a.test/", "")
		if got := time.Until(b.send(b.must("https://a.test/"), 3*time.Second, Reply{Status: 200})); got != 4*time.Second {
			t.Errorf("waits %v after 1 s of ledger and 3 s of answer", got)
		}
	})
}
