package politeness

import (
	"testing"
	"time"
	"unsafe"
)

// set is t as time.Now gives it once the wall clock has been set forward by whole seconds, or back: the monotonic
// reading stays. Virtual time has no monotonic clock, so tests with two clocks run outside of it, by times of their own.
func set(t time.Time, d time.Duration) time.Time {
	const seconds = 30 // the lowest bit of time.Time.wall that counts seconds, where there is a monotonic reading
	(*struct{ wall uint64 })(unsafe.Pointer(&t)).wall += uint64(d/time.Second) << seconds
	return t
}

func TestSetMovesTheWallClockAlone(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		if then := set(now, d); then.Sub(now) != 0 || then.UnixNano()-now.UnixNano() != int64(d) {
			t.Errorf("set by %v: the monotonic clock is %v later, the wall clock %v", d, then.Sub(now), then.Round(0).Sub(now.Round(0)))
		}
	}
}

// TestAPermitExpiresByEitherClock sets the wall clock back, which must not prolong a Permit, and forward, as a machine
// that wakes up finds it: then the monotonic clock has stood still.
func TestAPermitExpiresByEitherClock(t *testing.T) {
	const life = 10 * time.Second
	for name, c := range map[string]struct {
		ttl   time.Duration
		claim time.Duration // until its deadline
		set   time.Duration // the wall clock, between the claim and the Permit
	}{
		"by its own time":                      {ttl: life},
		"by its claim":                         {claim: life},
		"by its claim, the clock set back":     {claim: life, set: -time.Hour},
		"by its claim, the clock set forward":  {claim: life, set: time.Hour},
		"by its own time, the claim is longer": {ttl: life, claim: time.Minute, set: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Config{PermitTTL: c.ttl})
			ask := Ask{URL: b.url("https://a.test/robots.txt"), Addr: someAddr}
			claimed := time.Now()
			if c.claim != 0 {
				ask.Deadline = claimed.Add(c.claim)
			}
			begin := set(claimed, c.set)
			p, err := b.gate.admit(begin, ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, then := range []struct {
				passed, set time.Duration
				want        bool
			}{
				{life, 0, false},
				{life + 1, 0, true},
				{life, -time.Hour, false},
				{life + 1, -time.Hour, true},
				{time.Second, time.Hour, true},
				{time.Second, life, true},
			} {
				if got := p.p.expired(set(begin.Add(then.passed), then.set)); got != then.want {
					t.Errorf("expired %v after %v, the wall clock set by %v", got, then.passed, then.set)
				}
			}
			if p.Expires().Sub(begin) != life {
				t.Errorf("Expires is %v later", p.Expires().Sub(begin))
			}
		})
	}
}
