package politeness

import (
	"errors"
	"math"
	"time"
)

// Errors of Permits that are used in the wrong mode.
var (
	// ErrOffline is the error for a Permit of a Gate with Config.Offline that is used for a request.
	ErrOffline = errors.New("politeness: the permit is for replaying a recorded answer, not for a request")
	// ErrOnline is the error for a Permit of any other Gate that is used for a recorded answer.
	ErrOnline = errors.New("politeness: the permit is for a request, not for a recorded answer: set Config.Offline")
)

// Replay uses up a Permit of a Gate with Config.Offline, for an answer that was recorded earlier. It succeeds once, before
// expiry. The error is ErrNoPermit, ErrUsed or ErrExpired; for a Permit of any other Gate it is ErrOnline.
func (p Permit) Replay() error {
	switch {
	case p.p == nil:
		return ErrNoPermit
	case !p.p.gate.cfg.Offline:
		return ErrOnline
	}
	return p.p.advance(time.Now(), minted, redeemed)
}

// goOffline removes all waits from a Config whose defaults are filled in. Pauses that a site requests are ignored where they
// would apply. Without waits nothing can be retried later: a robots.txt's first failure is final, and a page's failure says
// nothing about other pages.
func (c *Config) goOffline() {
	c.Delay, c.DelayFactor, c.Rate, c.RobotsGiveUp = 0, 0, 0, 0
	c.Hours, c.VisitTime = Hours{}, false
	c.Shared = nil
	c.MaxRetryAfter, c.MaxFailures, c.MaxSilence = Forever, math.MaxInt64, Forever
}
