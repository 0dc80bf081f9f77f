package politeness

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

const firstBackoff = time.Second

// maxWalls is the number of consecutive challenges after which a host is given up: further requests would be refused, too.
const maxWalls = 5

// minSilent is the number of failures from which Config.MaxSilence applies: at an address with many hosts, one host gets
// only a few requests in a long time.
const minSilent = 5

// fault is the weight of a failure against a host.
type fault int32

const (
	noFault    fault = 0 // a repeated failure of the same page, which does not count again
	pageFault  fault = 1 // a page failed; many such failures count against the host
	wholeFault fault = 2 // the host failed
)

// learn updates the host's health with the response to p's request at the time now.
func (h *host) learn(c *Config, now time.Time, p *permit, r Reply) {
	begun := p.started.Load()
	if begun && r.Err == nil && r.Status != 0 {
		h.latency = max(0, orTime(r.Ended, now).Sub(p.began)) // Ended and not Written, so that a check of the ledger gets the same value
	}
	switch {
	case r.Aborted, !begun && r.Err == nil:
		// The reply says nothing about the host.
	case p.unrecorded != nil && !failed(r):
		// The reply does not shorten back-off, because the ledger would not show why.
	case failed(r):
		if p.purpose != Robots { // robots.txt has its own pauses and its own limit of attempts
			h.fail(c, now, p.fault(r))
			h.meetWall(c, r.Wall)
		}
	default:
		h.succeed()
		if p.purpose != Robots { // a good robots.txt does not count: many bot walls let it pass
			h.walls = 0
		}
	}
	h.obeyRetryAfter(c, now, r)
	h.obeyRateLimit(c, now, r)
}

// fault returns the weight of p's failure against its host: full if the host is unreachable, does not answer in time or asks
// for fewer requests; half if only a page fails.
func (p *permit) fault(r Reply) fault {
	switch {
	case !p.started.Load(), r.Status == http.StatusTooManyRequests, r.Truncated == CutIdle, isTimeout(r.Err):
		return wholeFault
	case p.attempt == 0:
		return pageFault
	}
	return noFault
}

func isTimeout(err error) bool {
	var e interface{ Timeout() bool }
	return errors.As(err, &e) && e.Timeout()
}

// failed reports whether a reply indicates trouble at the host.
func failed(r Reply) bool {
	return r.Err != nil || r.Wall != "" || r.Status >= 500 || r.Status == http.StatusTooManyRequests ||
		r.Truncated == CutShort || r.Truncated == CutIdle
}

// succeed records a healthy answer, which halves the back-off.
func (h *host) succeed() {
	h.failures, h.failing = 0, 0
	if h.backoff /= 2; h.backoff < firstBackoff {
		h.backoff = 0
	}
}

// meetWall counts consecutive challenges of a bot wall and gives the host up after maxWalls. A failure that is not a challenge
// does not reset the count.
func (h *host) meetWall(c *Config, wall string) {
	if wall == "" || c.Offline {
		return
	}
	if h.walls++; h.walls >= maxWalls {
		h.giveUp(ReasonChallenge, "the host answered with a challenge of "+wall+", "+strconv.Itoa(maxWalls)+" times in a row")
	}
}

// fail records a failure at the time now, which doubles the back-off. After enough faults the host is given up.
func (h *host) fail(c *Config, now time.Time, f fault) {
	h.backoff = min(max(firstBackoff, 2*h.backoff), c.MaxBackoff)
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
	case Limit(h.failures)/Limit(wholeFault) >= c.MaxFailures:
		h.giveUp(ReasonHostFailed, "the host failed too often without a good answer in between")
	case f == wholeFault && h.failing.since(now) >= c.MaxSilence && int(h.failures)/int(wholeFault) >= minSilent:
		h.giveUp(ReasonHostFailed, "the host has not answered well for too long")
	}
}
