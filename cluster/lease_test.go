package cluster

import (
	"testing"
	"time"
)

// Invariant I3: a lease ends by the monotonic clock or by the wall clock, whichever is first. Its life is counted from before the first
// attempt to send the record that renews the lease.
func TestLeaseEndsByEitherClock(t *testing.T) {
	const ttl, life = 10 * time.Second, 9 * time.Second
	sent := time.Now()
	for name, tc := range map[string]struct {
		passed, set time.Duration
		over        bool
	}{
		"in time":                              {life - 1, 0, false},
		"over":                                 {life, 0, true},
		"the wall clock is set back":           {life, -time.Hour, true},
		"the machine was asleep":               {time.Second, 8 * time.Second, true},
		"the machine was asleep for a moment":  {time.Second, 7 * time.Second, false},
		"the wall clock is set back in time":   {life - 1, -time.Hour, false},
		"the wall clock is set back, and over": {life + 1, -time.Second, true},
	} {
		l := newLease(ttl)
		l.renew(sent)
		if got := l.left(set(sent.Add(tc.passed), tc.set)) <= 0; got != tc.over {
			t.Errorf("%s: over %t, want %t", name, got, tc.over)
		}
	}
}

func TestLeaseThatWasGivenUpStaysSo(t *testing.T) {
	l := newLease(10 * time.Second)
	if l.check() == nil {
		t.Error("a lease that has not begun lasts")
	}
	l.renew(time.Now())
	if err := l.check(); err != nil {
		t.Error(err)
	}
	l.renew(time.Now().Add(-time.Hour)) // a late answer does not shorten the lease
	if err := l.check(); err != nil {
		t.Error(err)
	}
	l.giveUp()
	l.renew(time.Now())
	if l.check() == nil {
		t.Error("a lease that was given up lasts again")
	}
}
