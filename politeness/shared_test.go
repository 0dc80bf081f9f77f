package politeness

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// turns requests a page of each of n hosts at one address whenever the Gate allows it, for some rounds. A request of host i lasts took(i).
// It returns the hosts in the order in which they were served, and the times.
func turns(b *client, n, rounds int, took func(int) time.Duration) (hosts []int, at []time.Duration) {
	b.Helper()
	begin := time.Now()
	due := map[int]time.Time{}
	for i := range n {
		due[i] = begin
	}
	for len(hosts) < n*rounds {
		first := slices.MinFunc(slices.Sorted(maps.Keys(due)), func(a, b int) int { return due[a].Compare(due[b]) })
		time.Sleep(time.Until(due[first]))
		p, err := b.admit(fmt.Sprintf("http://h%d.test/", first), someAddr)
		var wait *NotYet
		switch {
		case err == nil:
			hosts, at = append(hosts, first), append(at, time.Since(begin))
			due[first] = b.send(p, took(first), Reply{Status: 404})
		case errors.As(err, &wait):
			due[first] = wait.Until
		default:
			b.Fatal(err)
		}
	}
	return hosts, at
}

// TestHostsAtOneAddressTakeTurns checks that no host is served again before all others at its address were served, however long requests
// last.
func TestHostsAtOneAddressTakeTurns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n, rounds = 40, 4
		b := newClient(t, Config{DelayFactor: NoFactor})
		hosts, at := turns(b, n, rounds, func(i int) time.Duration { return time.Duration(i%7) * 400 * time.Millisecond })
		for round := range rounds {
			now := slices.Sorted(slices.Values(hosts[round*n : (round+1)*n]))
			if len(slices.Compact(now)) != n {
				t.Fatalf("round %d serves some hosts twice, others not: %v", round, now)
			}
		}
		for i := 1; i < len(at); i++ {
			if idle := at[i] - at[i-1] - time.Duration(hosts[i-1]%7)*400*time.Millisecond - DefaultDelay; idle != 0 {
				t.Errorf("request %d comes %v after it could have", i, idle)
			}
		}
	})
}

// TestATurnThatIsNotTakenPassesSoon checks that a host that has nothing left to request does not delay those whose turn is later.
func TestATurnThatIsNotTakenPassesSoon(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for _, h := range []string{"a", "b", "c"} {
			if h == "a" {
				b.send(b.must("http://a.test/"), 0, Reply{Status: 404})
			} else {
				b.wait("http://"+h+".test/", someAddr)
			}
		}
		time.Sleep(DefaultDelay)
		b.wait("http://a.test/", someAddr) // a was served last
		b.wait("http://c.test/", someAddr) // c's turn is after b's
		time.Sleep(grace)
		b.must("http://c.test/")
	})
}

// TestWaitingForATurnIsNoFailure lets each attempt at a robots.txt fail. Each attempt is long overdue, as the host waits for its turn. Only
// the pauses that failures cause count towards giving the host up.
func TestWaitingForATurnIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for n := range 7 { // the pauses before the eighth attempt are 936 s in total
			time.Sleep(time.Hour)
			p, err := b.admit("http://a.test/", someAddr)
			if err != nil {
				t.Fatalf("attempt %d: %v", n+1, err)
			}
			b.send(p, 0, Reply{Status: 503})
		}
		time.Sleep(time.Hour)
		b.send(b.must("http://a.test/"), 0, Reply{Status: 503})
		if d := b.denied("http://a.test/"); d.Reason != ReasonRobotsUnreachable {
			t.Error(d)
		}
	})
}

// TestFewFailuresInALongTimeEndNoHost: at a crowded address, a host gets only few requests in the time MaxSilence, and is not given up.
func TestFewFailuresInALongTimeEndNoHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxFailures: Unlimited})
		b.ready("https://a.test/", "")
		for n := range minSilent {
			if gone := b.gate.Host("a.test:443").GivenUp; gone != "" {
				t.Fatalf("given up after %d failures: %s", n, gone)
			}
			b.send(b.patient("https://a.test/", someAddr.String()), 0, Reply{Status: 429})
			time.Sleep(DefaultMaxSilence)
		}
		if b.gate.Host("a.test:443").GivenUp == "" {
			t.Error("not given up")
		}
	})
}
