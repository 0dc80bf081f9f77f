package politeness

import (
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

// HostState holds the facts on which the delay of a host depends, besides the [Config].
type HostState struct {
	Exempt      bool          // an own host or one on loopback: MinDelay does not apply
	Operator    time.Duration // delay from Config.HostDelays, replacing Config.Delay; 0: none; NoDelay
	Entry       string        // Match of the entry of Config.HostDelays that applies to the host, "" without one
	Latency     time.Duration // response time of the host's last response
	Requested   time.Duration // requested by robots.txt: Crawl-delay or Request-rate, whichever is longer
	RequestedBy string        // ledger.ClauseCrawlDelay or ledger.ClauseRequestRate, "" without either
	Backoff     time.Duration // back-off after failures; 0 if the host is healthy
}

// HostState returns the state of a host (host:port) that has never been requested, whose robots.txt has these rules for the
// crawler; rules may be nil. Config.HostDelays applies to it only by name.
func (c Config) HostState(key string, rules *robots.Group) HostState {
	c = c.withDefaults()
	own := c.OwnHosts(key) > 0
	s := HostState{Exempt: isLoopback(key) || own}
	s.Operator, s.Entry = c.operatorDelay(c.entryOf(key), own)
	s.Requested, s.RequestedBy = requestedDelay(rules)
	return s
}

// DelayFor returns the delay from the end of a request to a host in state s to the start of the next, and the clause that sets
// it. A [Gate] with this Config applies this delay: a site can lengthen the operator's delay, never shorten it. Everything
// that shows or predicts a delay takes it from here or from [Gate.Host].
func (c Config) DelayFor(s HostState) (d time.Duration, clause string) {
	c = c.withDefaults()
	return c.delayFor(s)
}

// delayFor is DelayFor for a Config with its defaults filled in (P5).
func (c *Config) delayFor(s HostState) (d time.Duration, clause string) {
	if c.Offline {
		return 0, ledger.ClauseDelay
	}
	d, clause = c.minimumDelay(s)
	if l := c.latencyDelay(s.Latency); l > d {
		d, clause = l, ledger.ClauseLatency
	}
	if s.Requested > d {
		d, clause = s.Requested, s.RequestedBy
	}
	if s.Backoff > d {
		d, clause = s.Backoff, ledger.ClauseBackoff
	}
	return d, clause
}

// minimumDelay returns the operator's delay, raised to MinDelay where that applies.
func (c *Config) minimumDelay(s HostState) (d time.Duration, clause string) {
	d, clause = c.Delay, ledger.ClauseDelay
	if s.Operator != 0 {
		d, clause = max(0, s.Operator), ledger.ClauseHostDelay
	}
	if !s.Exempt {
		d = max(d, MinDelay)
	}
	return d, clause
}

// usualDelay returns the operator's delay for hosts that have no entry in Config.HostDelays and are not own hosts.
func (c *Config) usualDelay() time.Duration { return max(c.Delay, MinDelay) }

// latencyDelay returns the delay that a response time of latency causes.
func (c *Config) latencyDelay(latency time.Duration) time.Duration {
	l := c.DelayFactor * float64(latency)
	if l >= float64(c.MaxDelay) {
		return c.MaxDelay
	}
	return time.Duration(l)
}

// requestedDelay is the delay that a group of robots.txt requests.
func requestedDelay(group *robots.Group) (d time.Duration, clause string) {
	if group == nil {
		return 0, ""
	}
	if c, ok := group.CrawlDelay(); ok {
		d, clause = c, ledger.ClauseCrawlDelay
	}
	if r, ok := group.RequestRate(); ok && r > d {
		d, clause = r, ledger.ClauseRequestRate
	}
	return d, clause
}
