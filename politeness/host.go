package politeness

import (
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// host is what one host:port asked for and how it fared.
//
// It is born when a URL of it is first seen, waits only through its slots' clocks, and may be
// forgotten only when it equals a new one (fresh).
type host struct {
	slots   []pace // one, or the number configured for an own host
	own     bool
	origins [2]origin // http, https

	latency    time.Duration // of the last answer
	wish       time.Duration // Crawl-delay or Request-rate, the larger
	wishClause string

	failures int
	failing  time.Time     // since when without success
	backoff  time.Duration // 0 when healthy
	gone     string        // reason code, "" while the host is served
	detail   string
}

func newHost(own int) *host {
	return &host{slots: make([]pace, max(1, own)), own: own > 0}
}

func (h *host) origin(u weburl.URL) *origin {
	if u.Scheme() == "http" {
		return &h.origins[0]
	}
	return &h.origins[1]
}

// slot is the clock that is free earliest.
func (h *host) slot(now time.Time) *pace {
	best := &h.slots[0]
	for i := range h.slots[1:] {
		if p := &h.slots[i+1]; p.until(now).Before(best.until(now)) {
			best = p
		}
	}
	return best
}

// hold makes every slot wait until t.
func (h *host) hold(t time.Time, d time.Duration, clause string) {
	for i := range h.slots {
		h.slots[i].hold(t, d, clause)
	}
}

// ready is when the host may be asked again.
func (h *host) ready(now time.Time) time.Time { return h.slot(now).until(now) }

func (h *host) fresh(now time.Time) bool {
	for i := range h.slots {
		if !h.slots[i].idle(now) {
			return false
		}
	}
	return h.gone == "" && h.failures == 0 && h.backoff == 0 &&
		h.origins[0].fresh(now) && h.origins[1].fresh(now)
}

// giveUp ends the service of the host. The first reason stays.
func (h *host) giveUp(reason, detail string) {
	if h.gone == "" {
		h.gone, h.detail = reason, detail
	}
}

// delay is the delay in force for h and the clause that sets it (P5): a site can lengthen it, never
// shorten it.
func (g *Gate) delay(h *host) (time.Duration, string) {
	d, clause := g.cfg.Delay, ClauseDelay
	if l := g.latencyDelay(h); l > d {
		d, clause = l, ClauseLatency
	}
	if h.wish > d {
		d, clause = h.wish, h.wishClause
	}
	if h.backoff > d {
		d, clause = h.backoff, ClauseBackoff
	}
	return d, clause
}

func (g *Gate) latencyDelay(h *host) time.Duration {
	return min(time.Duration(g.cfg.DelayFactor*float64(h.latency)), g.cfg.MaxDelay)
}

// succeed notes an answer that shows the host in health: back-off halves with each.
func (h *host) succeed() {
	h.failures, h.failing = 0, time.Time{}
	if h.backoff /= 2; h.backoff < firstBackoff {
		h.backoff = 0
	}
}

const firstBackoff = time.Second

// fail notes a failure at now: back-off doubles with each.
func (g *Gate) fail(h *host, now time.Time) {
	if h.failures == 0 {
		h.failing = now
	}
	h.failures++
	h.backoff = min(max(firstBackoff, 2*h.backoff), g.cfg.MaxBackoff)
	switch {
	case h.failures >= g.cfg.MaxFailures:
		h.giveUp(ReasonHostFailed, "the host failed too often in a row")
	case now.Sub(h.failing) >= g.cfg.MaxSilence:
		h.giveUp(ReasonHostFailed, "the host has not answered well for too long")
	}
}
