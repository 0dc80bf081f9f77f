package politeness

import (
	"bytes"
	"net"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// host holds the state of one host:port: its clocks, its origins and its health.
//
// A host is created when a URL of it is first seen. It waits only because of its slots' clocks, and
// may be forgotten only when it equals a new one (fresh).
type host struct {
	first   pace
	more    *[]pace    // clocks of the slots of an own host, except the first
	origins [2]*origin // http, https; nil: not known
	latency time.Duration

	failing  instant       // start of the current series of wholeFaults; 0: none since the last good response
	backoff  time.Duration // 0 if healthy
	failures int32         // faults without a good response in between
	entry    uint16        // number (from 1) of the entry of Config.HostDelays for the address used last; 0: none
	changed  changed
	walls    uint8 // consecutive challenges of a bot wall
	own      bool
	local    bool        // the last request was to a loopback address
	givenUp  *givenUp    // nil if the host was not given up
	ranged   *netip.Addr // the address used last, if entry is for a range of addresses
}

// givenUp is the reason why a host is no longer requested.
type givenUp struct{ reason, detail string }

// newHost returns the state of a host that was never requested.
func newHost(c *Config, key string) *host {
	own := c.OwnHosts(key)
	h := &host{own: own > 0, local: isLoopback(key), entry: c.entryOf(key)}
	if own > 1 {
		more := make([]pace, own-1)
		h.more = &more
	}
	return h
}

// isLoopback reports whether the name in a host:port is enough to tell that it is on loopback.
func isLoopback(key string) bool {
	name, _, _ := net.SplitHostPort(key)
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

// origin returns the state of u's origin, creating it if needed.
func (h *host) origin(u weburl.URL) *origin {
	i := originIndex(u)
	if h.origins[i] == nil {
		h.origins[i] = new(origin)
	}
	return h.origins[i]
}

func originIndex(u weburl.URL) int {
	if u.Scheme() == "http" {
		return 0
	}
	return 1
}

// slots goes through the host's clocks.
func (h *host) slots(yield func(*pace) bool) {
	if !yield(&h.first) {
		return
	}
	others := h.others()
	for i := range others {
		if !yield(&others[i]) {
			return
		}
	}
}

// others returns all clocks but the first.
func (h *host) others() []pace {
	if h.more == nil {
		return nil
	}
	return *h.more
}

// slot returns the clock that will be free first.
func (h *host) slot(now time.Time) *pace {
	best := &h.first
	others := h.others()
	for i := range others {
		if p := &others[i]; p.until(now).Before(best.until(now)) {
			best = p
		}
	}
	return best
}

// number returns the position of a clock among the host's, starting at 1; it is 0 for a host with a single clock.
func (h *host) number(slot *pace) int {
	if h.more == nil {
		return 0
	}
	n := 1
	for p := range h.slots {
		if p == slot {
			return n
		}
		n++
	}
	return 0
}

// numbered returns the clock at a position as number counts it, nil if there is none.
func (h *host) numbered(n int) *pace {
	for p := range h.slots {
		if n--; n == 0 {
			return p
		}
	}
	return nil
}

// hold makes every slot wait until t.
func (h *host) hold(t time.Time, d time.Duration, clause string) {
	for p := range h.slots {
		p.hold(t, d, clause)
	}
}

// ready returns when the host may be requested again.
func (h *host) ready(now time.Time) time.Time { return h.slot(now).until(now) }

// waits returns when a URL of the host may be requested, as far as is known, and the clause that determines it.
func (h *host) waits(now time.Time) (at time.Time, clause string) {
	p := h.slot(now)
	at, clause = p.notBefore, p.clause.String()
	var retry instant // the earliest time at which robots.txt of an origin may be tried again
	for _, o := range h.origins {
		if o != nil && !o.givenUp {
			if o.usable(now) || o.retryAt() == 0 {
				return at, clause
			}
			if retry == 0 || o.retryAt() < retry {
				retry = o.retryAt()
			}
		}
	}
	if retry != 0 && !retry.time().Before(at) {
		return retry.time(), ledger.ClauseRobots
	}
	return at, clause
}

// state returns the facts that h's delay depends on after a request; local reports whether the request was to a loopback address.
func (h *host) state(c *Config, local bool) HostState { return h.stateBy(c, h.entry, local) }

// stateBy is like state, with a given entry of Config.HostDelays.
func (h *host) stateBy(c *Config, entry uint16, local bool) HostState {
	s := HostState{Exempt: h.own || local, Latency: h.latency, Backoff: h.backoff}
	s.Operator, s.Entry = c.operatorDelay(entry, h.own)
	s.Requested, s.RequestedBy = h.requestedDelay()
	return s
}

// shortest returns the state of h at the address where the operator's delay is shortest, among the delays that may
// apply to h.
func (h *host) shortest(c *Config) HostState {
	s := h.state(c, true)
	switch {
	case !c.hosts.Ranges() || c.hosts.ByName(int(h.entry)-1):
	case h.own:
		s.Operator = NoDelay
	default:
		s.Operator = 0 // for other hosts, an entry for a range of addresses can only lengthen the delay
	}
	return s
}

// requestedDelay returns the delay that robots.txt requests: the longer one if two origins share host and port.
func (h *host) requestedDelay() (d time.Duration, clause string) {
	for _, o := range h.origins {
		if o != nil && o.requestedDelay > d {
			d, clause = o.requestedDelay, o.requestedBy.String()
		}
	}
	return d, clause
}

// slowDown adopts the delay requested by o, an origin of h. If its robots.txt was redirected to another host, the last
// request to h itself may have been some time ago: the delay counts from the end of that request.
func (h *host) slowDown(c *Config, o *origin, d time.Duration, clause string) {
	o.requestedDelay, o.requestedBy = d, ledger.ClauseIDOf(clause)
	if !c.Offline {
		for p := range h.slots {
			if d > 0 && p.ended != 0 {
				p.hold(p.ended.time().Add(d), d, clause)
			}
		}
	}
	if d > c.MaxCrawlDelay {
		h.giveUp(ReasonCrawlDelay, "the host requests a delay of "+d.String()+", longer than this crawl's maximum of "+c.MaxCrawlDelay.String())
	}
}

// giveUp gives the host up. If it was given up before, the first reason is kept.
func (h *host) giveUp(reason, detail string) {
	if h.givenUp == nil {
		h.givenUp = &givenUp{reason, detail}
	}
}

// fresh reports whether h waits for nothing and, after its next request at any address, would wait no longer than a new host.
func (h *host) fresh(c *Config, now time.Time) bool {
	for p := range h.slots {
		if !p.free(now) {
			return false
		}
	}
	state := h.shortest(c)
	d, _ := c.delayFor(state)
	least, _ := c.minimumDelay(state)
	return h.givenUp == nil && h.failures == 0 && h.walls == 0 && h.backoff == 0 && d <= least && h.origins[0].fresh(now) && h.origins[1].fresh(now)
}

// hosts holds the state of all known hosts, by host:port.
type hosts map[string]*host

// of returns the state of u's host, creating it if needed.
func (m hosts) of(c *Config, u weburl.URL) *host {
	h := m.find(u)
	if h == nil {
		key := u.Host()
		h = newHost(c, key)
		m[key] = h
	}
	return h
}

// find returns the state of u's host, nil if there is none. It looks up u.Host() without building that string.
func (m hosts) find(u weburl.URL) *host {
	var buf [128]byte
	key := append(buf[:0], u.Authority()...)
	if colon := bytes.LastIndexByte(key, ':'); colon < 0 || colon < bytes.LastIndexByte(key, ']') {
		key = append(append(key, ':'), u.Port()...)
	}
	return m[string(key)]
}

// origins yields all origins with known state.
func (m hosts) origins(yield func(*origin) bool) {
	for _, h := range m {
		for _, o := range h.origins {
			if o != nil && !yield(o) {
				return
			}
		}
	}
}

// paces yields the clocks of all hosts.
func (m hosts) paces(yield func(*pace) bool) {
	for _, h := range m {
		for p := range h.slots {
			if !yield(p) {
				return
			}
		}
	}
}
