package politeness

import (
	"net"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// host holds the state of one host:port: its clocks, its origins and its health.
//
// It is made when a URL of it is first seen, waits only through its slots' clocks, and may be forgotten only when it equals
// a new one (fresh).
type host struct {
	first   pace
	more    *[]pace    // of an own host, the other slots it may have
	origins [2]*origin // http, https; nil: nothing is known
	latency time.Duration

	failing  instant       // since when wholeFaults have come; 0: none since the last good answer
	backoff  time.Duration // 0 when healthy
	failures int32         // faults with no good answer between
	entry    uint16        // of Config.HostDelays, from 1, that holds at the address met last; 0: none
	changed  changed
	walls    uint8 // consecutive challenges of a bot wall
	own      bool
	local    bool        // requested at a loopback address last
	givenUp  *givenUp    // nil while the host is served
	ranged   *netip.Addr // the address of entry, if that is one of a range of addresses
}

// givenUp is why a host is not served any more.
type givenUp struct{ reason, detail string }

// newHost is a host of which nothing is known but its key.
func newHost(c *Config, key string) *host {
	own := c.OwnHosts(key)
	h := &host{own: own > 0, local: isLoopback(key), entry: c.entryOf(key)}
	if own > 1 {
		more := make([]pace, own-1)
		h.more = &more
	}
	return h
}

// isLoopback reports whether a host:port is on loopback by its name alone.
func isLoopback(key string) bool {
	name, _, _ := net.SplitHostPort(key)
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

// origin is the state of u's origin, made when new.
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

// others are the clocks besides the first.
func (h *host) others() []pace {
	if h.more == nil {
		return nil
	}
	return *h.more
}

// slot is the clock that is free earliest.
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

// number is the place of a clock among the host's, from 1, and 0 for a host that has one alone.
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

// numbered is the clock with that number, nil if there is none.
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

// ready is when the host may be requested again.
func (h *host) ready(now time.Time) time.Time { return h.slot(now).until(now) }

// waits is when a URL of the host may be requested, as far as is known, and the clause that says so.
func (h *host) waits(now time.Time) (at time.Time, clause string) {
	p := h.slot(now)
	at, clause = p.notBefore, p.clause.String()
	var retry instant // of the origin that is to be tried again first
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

// state returns the facts that h's delay depends on after a request, which was at a loopback address or not.
func (h *host) state(c *Config, local bool) HostState { return h.stateBy(c, h.entry, local) }

// stateBy is state, for which an entry of Config.HostDelays holds.
func (h *host) stateBy(c *Config, entry uint16, local bool) HostState {
	s := HostState{Exempt: h.own || local, Latency: h.latency, Backoff: h.backoff}
	s.Operator, s.Entry = c.operatorDelay(entry, h.own)
	s.Requested, s.RequestedBy = h.requestedDelay()
	return s
}

// shortest returns the state of h at those of its possible addresses at which the operator's delay is shortest.
func (h *host) shortest(c *Config) HostState {
	s := h.state(c, true)
	switch {
	case !c.hosts.Ranges() || c.hosts.ByName(int(h.entry)-1):
	case h.own:
		s.Operator = NoDelay
	default:
		s.Operator = 0 // ranges only lengthen the delay of other hosts
	}
	return s
}

// requestedDelay is the delay that robots.txt requests: of two origins on one host and port, the longer one.
func (h *host) requestedDelay() (d time.Duration, clause string) {
	for _, o := range h.origins {
		if o != nil && o.requestedDelay > d {
			d, clause = o.requestedDelay, o.requestedBy.String()
		}
	}
	return d, clause
}

// slowDown adopts the delay that o, an origin of h, requests. Its robots.txt may have been redirected elsewhere, so that the
// last request to the host itself was some time ago.
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

// giveUp ends the service of the host. The first reason stays.
func (h *host) giveUp(reason, detail string) {
	if h.givenUp == nil {
		h.givenUp = &givenUp{reason, detail}
	}
}

// fresh reports whether h waits for nothing and would wait after its next request, at whatever address, no longer than a host
// of which nothing is known.
func (h *host) fresh(c *Config, now time.Time) bool {
	for p := range h.slots {
		if !p.free(now) {
			return false
		}
	}
	state := h.shortest(c)
	d, _ := c.delayFor(state)
	least, _ := c.leastDelay(state)
	return h.givenUp == nil && h.failures == 0 && h.walls == 0 && h.backoff == 0 && d <= least && h.origins[0].fresh(now) && h.origins[1].fresh(now)
}
