package politeness

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// turns asks for a page of each of n hosts at one address whenever the Gate allows it, for the given number of rounds.
// It returns the hosts in the order they were served, and when. A request of host i lasts took(i).
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

// TestHostsAtOneAddressTakeTurns checks that no host is served again before all others were, however long requests
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

// TestATurnThatIsNotTakenPassesSoon checks that a host with nothing left to request does not delay those behind it.
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
		b.wait("http://a.test/", someAddr) // was served last
		b.wait("http://c.test/", someAddr) // comes after b
		time.Sleep(grace)
		b.must("http://c.test/")
	})
}

// TestWaitingForATurnIsNoFailure lets a robots.txt fail at each attempt, each long after it was due. Only the pauses
// caused by failures count towards giving up.
func TestWaitingForATurnIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for n := range 7 { // the pauses before the eighth attempt add up to 936 s
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

// TestFewFailuresInALongTimeEndNoHost: at a crowded address, a host gets few requests within MaxSilence.
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
