package politeness

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// pace is one clock: of a host's slot, of an address, of a registrable domain. It allows one request
// at a time, and the next one a pause after the end of the last.
//
// It is a token bucket that is written down rather than kept: it holds one token, which comes back
// at notBefore, delay after it was taken; full makes it when it is asked. A million hosts that rest take
// no more than these fields. The zero pace is free.
type pace struct {
	holder    *permit // whose request is under way, or may be
	notBefore time.Time
	ended     instant         // of the last request
	delay     time.Duration   // what set notBefore
	clause    ledger.ClauseID // of delay
}

// slack is what a bucket may round: far below anything a host could notice. Of a pace, notBefore is exact.
const slack = time.Microsecond

// recheck is when to ask again about a clock that is busy for an unknown time and has no delay.
const recheck = 5 * time.Millisecond

// until is the earliest instant at which a request may start, as far as this clock knows at now.
func (p *pace) until(now time.Time) time.Time {
	if p.holder != nil {
		return now.Add(max(p.delay, recheck))
	}
	return p.notBefore
}

func (p *pace) free(now time.Time) bool {
	return p.holder == nil && !now.Before(p.notBefore)
}

// full reports whether p's bucket has its token at now. It is made of b: for one token, and emptied a delay
// before notBefore.
func (p *pace) full(now time.Time, b *rate.Limiter) bool {
	if p.notBefore.IsZero() { // nothing was ever taken
		return true
	}
	emptied := p.notBefore.Add(-p.delay)
	*b = rate.Limiter{}
	b.SetLimitAt(emptied, rate.Every(p.delay))
	b.SetBurstAt(emptied, 1)
	return b.TokensAt(now.Add(slack)) >= 1
}

// take starts a request. The caller has asked free.
func (p *pace) take(by *permit) { p.holder = by }

// rest ends a request at end: the bucket is emptied at that instant and refills in d. An older,
// later notBefore stays in force, nothing shortens a wait.
func (p *pace) rest(end time.Time, d time.Duration, clause string) {
	p.holder, p.ended = nil, max(p.ended, at(end))
	p.hold(end.Add(d), d, clause)
}

// hold makes the clock wait until t at least.
func (p *pace) hold(t time.Time, d time.Duration, clause string) {
	if p.notBefore.Before(t) {
		p.notBefore, p.clause, p.delay = t, ledger.ClauseIDOf(clause), d
	}
}

// shared is a clock that several hosts go by.
type shared struct {
	pace
	promised time.Time // the last instant told to somebody who has to wait
}

// promise is an instant for one more waiter: each gets one of its own, a pause apart, so that they
// do not all come back at once to find one place.
func (p *shared) promise(now time.Time) time.Time {
	t := p.until(now)
	if next := p.promised.Add(max(p.delay, recheck)); next.After(t) && p.promised.After(now) {
		t = next
	}
	p.promised = t
	return t
}

// idle reports whether forgetting the clock at now would change nothing.
func (p *shared) idle(now time.Time) bool { return p.free(now) && !p.promised.After(now) }

// instant is a point of wall-clock time in nanoseconds since 1970; 0 is none. What has a date, such as
// the age of a robots.txt, is counted by it: unlike a monotonic clock it goes on while a machine is
// suspended. What is a pause is counted by time.Time.
type instant int64

func at(t time.Time) instant {
	if t.IsZero() {
		return 0
	}
	return instant(t.UnixNano())
}

func (i instant) time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i))
}

// after reports whether i is still to come at now.
func (i instant) after(now time.Time) bool { return i > at(now) }

// since is the time passed from i to now.
func (i instant) since(now time.Time) time.Duration { return time.Duration(at(now) - i) }

// until is the time from now to i.
func (i instant) until(now time.Time) time.Duration { return time.Duration(i - at(now)) }

func (i instant) add(d time.Duration) instant { return i + instant(d) }
