package politeness

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// pace is one clock: of one of a host's slots, of an address, or of a registrable domain. It allows one request at a time,
// and the next request a pause after the end of the last.
//
// It represents a token bucket without storing it: the bucket has one token, which comes back at notBefore, delay after it
// was taken; full builds it when needed. A million paused hosts need no more memory than these fields. The zero pace is
// free.
type pace struct {
	holder    *permit // the Permit whose request is, or may be, under way
	notBefore time.Time
	ended     instant         // end of the last request
	delay     time.Duration   // the delay that set notBefore
	clause    ledger.ClauseID // the clause that requires the delay
}

// slack is the rounding allowed to a bucket: far below anything that a host could notice. The notBefore of a pace is exact.
const slack = time.Microsecond

// recheck is the time after which a caller tries again at a clock that is busy for an unknown time and has no delay.
const recheck = 5 * time.Millisecond

// until returns the earliest instant at which a request may start, as far as this clock knows at the time now.
func (p *pace) until(now time.Time) time.Time {
	if p.holder != nil {
		return now.Add(max(p.delay, recheck))
	}
	return p.ready(now)
}

func (p *pace) free(now time.Time) bool {
	return p.holder == nil && !now.Before(p.ready(now))
}

// ready returns notBefore or, after a wall clock was set back a little, the instant at which notBefore has passed by that clock,
// too: the ledger shows pauses by the wall clock alone. If the wall clock was set back further, it is ignored.
func (p *pace) ready(now time.Time) time.Time {
	if wait := at(p.notBefore).until(now); !p.notBefore.After(now) && 0 < wait && wait <= unsteady {
		return now.Add(wait)
	}
	return p.notBefore
}

// full reports whether p's bucket has its token at the time now. The bucket is built in b: for one token, and emptied a delay
// before notBefore.
func (p *pace) full(now time.Time, b *rate.Limiter) bool {
	if p.notBefore.IsZero() { // no request so far has used the clock
		return true
	}
	emptied := p.notBefore.Add(-p.delay)
	*b = rate.Limiter{}
	b.SetLimitAt(emptied, rate.Every(p.delay))
	b.SetBurstAt(emptied, 1)
	return b.TokensAt(now.Add(slack)) >= 1
}

// rest ends a request at the time end: the bucket is emptied at that instant and refills in d. A later
// notBefore stays in force: nothing shortens a wait.
func (p *pace) rest(end time.Time, d time.Duration, clause string) {
	p.holder, p.ended = nil, max(p.ended, at(end))
	p.hold(end.Add(d), d, clause)
}

// release frees the clock if by holds it, without a pause.
func (p *pace) release(by *permit) {
	if p.holder == by {
		p.holder = nil
	}
}

// hold makes the clock wait until t at least.
func (p *pace) hold(t time.Time, d time.Duration, clause string) {
	if p.notBefore.Before(t) {
		p.notBefore, p.clause, p.delay = t, ledger.ClauseIDOf(clause), d
	}
}

// held returns the clause because of which p makes a request wait.
func (p *pace) held(now time.Time) ledger.Clause {
	name := p.clause.String()
	if p.holder != nil {
		name = ledger.ClauseBusy
	}
	return ledger.Clause{Name: name, Until: p.until(now), Delay: ledger.Duration(p.delay)}
}

// rewind corrects times of p that are later than now: a pause that would begin later begins now. It reports whether that
// changes the wait.
func (p *pace) rewind(now time.Time) bool {
	p.ended = min(p.ended, at(now))
	if !p.notBefore.Add(-p.delay).After(now) {
		return false
	}
	p.notBefore = now.Add(p.delay)
	return true
}

// latest returns the time of the last event recorded in p.
func (p *pace) latest() time.Time { return later(p.ended.time(), p.notBefore.Add(-p.delay)) }
