package politeness

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

// TestDelayFor is a Config's delay for each state of a host; P5: a site lengthens the operator's delay, never shortens it.
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
		{"no delay", Config{Delay: None}, HostState{}, MinDelay, ledger.ClauseDelay},
		{"no delay, exempt", Config{Delay: None}, HostState{Exempt: true}, 0, ledger.ClauseDelay},
		{"slow", Config{DelayFactor: 2}, HostState{Latency: 3 * time.Second}, 6 * time.Second, ledger.ClauseLatency},
		{"very slow", Config{MaxDelay: 4 * time.Second}, HostState{Latency: time.Hour}, 4 * time.Second, ledger.ClauseLatency},
		{"slow, without a factor", Config{DelayFactor: None}, HostState{Latency: time.Hour}, DefaultDelay, ledger.ClauseDelay},
		{"less requested", Config{Delay: 9 * time.Second}, Config{}.HostState("a.test:443", rules), 9 * time.Second, ledger.ClauseDelay},
		{"more requested", Config{}, Config{}.HostState("a.test:443", rules), 5 * time.Second, ledger.ClauseRequestRate},
		{"failing", Config{}, HostState{Requested: 5 * time.Second, RequestedBy: ledger.ClauseCrawlDelay, Backoff: time.Minute}, time.Minute, ledger.ClauseBackoff},
		{"unknown, on loopback", Config{Delay: None}, Config{}.HostState("[::1]:80", nil), 0, ledger.ClauseDelay},
		{"unknown, own", Config{Delay: None}, Config{OwnHosts: own}.HostState("own.test:443", nil), 0, ledger.ClauseDelay},
		{"unknown, of others", Config{Delay: None}, Config{OwnHosts: own}.HostState("a.test:443", nil), MinDelay, ledger.ClauseDelay},
	} {
		if d, clause := c.config.DelayFor(c.state); d != c.want || clause != c.clause {
			t.Errorf("%s: %v by %s, want %v by %s", c.name, d, clause, c.want, c.clause)
		}
	}
}
