package politeness

import (
	"net"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// host is what one host:port asked for and how it fared.
//
// It is born when a URL of it is first seen, waits only through its slots' clocks, and may be
// forgotten only when it equals a new one (fresh).
type host struct {
	first   pace
	more    *[]pace    // of an own host, the others it may have
	origins [2]*origin // http, https; nil: nothing is known
	latency time.Duration

	failing  instant       // since when wholeFaults come; 0: none since the last good answer
	backoff  time.Duration // 0 when healthy
	failures int32         // faults with no good answer between
	own      bool
	local    bool     // requested at a loopback address last
	gone     *givenUp // nil while the host is served
}

// givenUp is why a host or an origin is not served any more.
type givenUp struct{ reason, detail string }

// newHost is a host that nothing is known of but its key.
func (g *Gate) newHost(key string) *host {
	own := g.cfg.OwnHosts(key)
	h := &host{own: own > 0, local: isLoopback(key)}
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

// hold makes every slot wait until t.
func (h *host) hold(t time.Time, d time.Duration, clause string) {
	for p := range h.slots {
		p.hold(t, d, clause)
	}
}

// ready is when the host may be asked again.
func (h *host) ready(now time.Time) time.Time { return h.slot(now).until(now) }

// waits is when a URL of the host may be requested, as far as is known, and the clause that says so.
func (h *host) waits(now time.Time) (at time.Time, clause string) {
	p := h.slot(now)
	at, clause = p.notBefore, p.clause.String()
	var retry instant // of the origin that is to be tried again first
	for _, o := range h.origins {
		if o != nil && !o.gone {
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

// giveUp ends the service of the host. The first reason stays.
func (h *host) giveUp(reason, detail string) {
	if h.gone == nil {
		h.gone = &givenUp{reason, detail}
	}
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

// state is what h's delay depends on after a request, which was at a loopback address or not.
func (h *host) state(local bool) HostState {
	s := HostState{Exempt: h.own || local, Latency: h.latency, Backoff: h.backoff}
	s.Requested, s.RequestedBy = h.requestedDelay()
	return s
}

// delay is the delay in force at h after a request that was at a loopback address or not, and the clause that sets it.
func (g *Gate) delay(h *host, local bool) (time.Duration, string) {
	return g.cfg.delayFor(h.state(local))
}

// succeed notes an answer that shows the host in health: back-off halves with each.
func (h *host) succeed() {
	h.failures, h.failing = 0, 0
	if h.backoff /= 2; h.backoff < firstBackoff {
		h.backoff = 0
	}
}

const firstBackoff = time.Second

// fault is what a failure says against a host.
type fault int32

const (
	noFault    fault = 0 // nothing new: another attempt at a page that has failed before
	pageFault  fault = 1 // a page failed; many say that it is the host
	wholeFault fault = 2 // the host failed
)

// fail notes a failure at now: back-off doubles with each. By faults the host is given up.
func (g *Gate) fail(h *host, now time.Time, f fault) {
	h.backoff = min(max(firstBackoff, 2*h.backoff), g.cfg.MaxBackoff)
	if f == noFault {
		return
	}
	if f == wholeFault && h.failing == 0 {
		h.failing = at(now)
	}
	if h.failures < 1<<30 {
		h.failures += int32(f)
	}
	switch {
	case int(h.failures)/int(wholeFault) >= g.cfg.MaxFailures:
		h.giveUp(ReasonHostFailed, "the host failed too often, with no good answer between")
	case f == wholeFault && h.failing.since(now) >= g.cfg.MaxSilence:
		h.giveUp(ReasonHostFailed, "the host has not answered well for too long")
	}
}
