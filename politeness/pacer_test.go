package politeness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestP3OneRequestInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		p := b.must("https://a.test/1")
		if w := b.wait("https://a.test/2", someAddr); w.Clauses[0].Name != ledger.ClauseBusy && w.Clauses[0].Name != ledger.ClauseAddress {
			t.Errorf("clauses %v", w.Clauses)
		}
		b.gate.Report(p, Reply{Status: 200})
		b.wait("https://a.test/2", someAddr)
		time.Sleep(time.Second)
		b.must("https://a.test/2")
	})
}

func TestP3OwnHostsMayHaveMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: NoDelay, DelayFactor: NoFactor, OwnHosts: func(h string) int {
			if h == "a.test:443" {
				return 3
			}
			return 0
		}})
		b.rules("https://a.test/", "")
		for range 3 {
			b.must("https://a.test/x")
		}
		b.wait("https://a.test/x", someAddr)
	})
}

func TestP4GapIsFromEndToStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: 2 * time.Second})
		ready := b.rules("https://a.test/", "")
		if got := time.Until(ready); got != 2*time.Second {
			t.Fatalf("after robots.txt: %v", got)
		}
		time.Sleep(2*time.Second - time.Nanosecond)
		b.wait("https://a.test/1", someAddr)
		time.Sleep(time.Nanosecond)
		p := b.must("https://a.test/1")
		ready = b.send(p, 1500*time.Millisecond, Reply{Status: 200})
		if got := time.Until(ready); got != 2*time.Second {
			t.Fatalf("after a slow page: %v, want the delay from its end", got)
		}
	})
}

func TestP6HostsOnOneAddressShareItsClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "")
		w := b.wait("https://b.test/", someAddr)
		if w.Clauses[0].Name != ledger.ClauseAddress || time.Until(w.Until) != time.Second {
			t.Errorf("got %v", w)
		}
		if p := b.mustAt("https://c.test/", "192.0.2.2"); p.Purpose() != Robots {
			t.Error("another address waits for nothing")
		}
		time.Sleep(time.Second)
		p := b.must("https://b.test/")
		b.wait("https://a.test/", someAddr)
		b.gate.Report(p, Reply{Status: 404})
	})
}

func TestP6WaitersOfOneAddressComeBackOneByOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "")
		seen := map[time.Time]bool{}
		for _, h := range []string{"b", "c", "d", "e"} {
			seen[b.wait("https://"+h+".test/", someAddr).Until] = true
		}
		if len(seen) != 4 {
			t.Errorf("4 waiters were given %d times", len(seen))
		}
	})
}

func TestP6DomainByOption(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{PerDomain: true})
		b.rules("https://a.site.test/", "")
		_, err := b.admit("https://b.site.test/", netip.MustParseAddr("192.0.2.7"))
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseDomain {
			t.Errorf("got %v", err)
		}
	})
}

func TestP6AddressesAreOneInEitherForm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.must("https://a.test/")
		_, err := b.admit("https://b.test/", netip.MustParseAddr("::ffff:192.0.2.1"))
		var w *NotYet
		if !errors.As(err, &w) {
			t.Error(err)
		}
	})
}

func TestGlobalRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Rate: 10})
		start := time.Now()
		for i := range 30 {
			raw := fmt.Sprintf("https://h%d.test/", i)
			for {
				_, err := b.admit(raw, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				var w *NotYet
				if !errors.As(err, &w) {
					break
				}
				time.Sleep(time.Until(w.Until))
			}
		}
		if got := time.Since(start); got < 2900*time.Millisecond || got > 3*time.Second {
			t.Errorf("30 requests at 10/s took %v", got)
		}
	})
}

func TestGlobalRateAtOddTimes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Rate: 7.3})
		for i := range 200 {
			raw := fmt.Sprintf("https://h%d.test/", i)
			asked := 0
			for {
				_, err := b.admit(raw, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				var w *NotYet
				if !errors.As(err, &w) {
					break
				}
				if asked++; asked > 2 || !w.Until.After(time.Now()) {
					t.Fatalf("host %d has to wait until %v at %v", i, w.Until, time.Now())
				}
				time.Sleep(time.Until(w.Until))
			}
			time.Sleep(time.Duration(i*i) * 9973)
		}
	})
}

// TestTheBucketAgreesWithTheExactInstant checks that the token bucket of golang.org/x/time/rate, which is built on demand, is full at the
// stored time of the next request and not earlier. They may differ by slack, because of rounding.
func TestTheBucketAgreesWithTheExactInstant(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b rate.Limiter
	now := time.Now()
	for range 100_000 {
		d := time.Duration(rng.Int64N(int64(time.Millisecond) << rng.IntN(30)))
		var p pace
		p.rest(now, d, ledger.ClauseDelay)
		if !p.full(p.notBefore, &b) {
			t.Fatalf("%v after a request the bucket is not full", d)
		}
		if d > 4*slack && p.full(p.notBefore.Add(-2*slack), &b) {
			t.Fatalf("%v after a request the bucket is full %v too soon", d, 2*slack)
		}
	}
}

// TestAPauseHasPassedByBothClocks sets the wall clock back a little during a host's pause. The times in the ledger are those of the
// wall clock, and by these times, too, the next request must not be too early. If the wall clock is set back further, the Gate ignores
// it.
func TestAPauseHasPassedByBothClocks(t *testing.T) {
	end := time.Now()
	var p shared
	h := &host{}
	p.rest(end, 10*time.Second, ledger.ClauseDelay)
	later := end.Add(10 * time.Second)
	back := set(later, -time.Second)
	if p.free(back) || p.opens(back, h) {
		t.Error("free, although by the wall clock one second is left")
	}
	if until := p.until(back); until.Sub(back) != time.Second || p.promise(back, h, 0).Sub(back) != time.Second {
		t.Errorf("until %v, in %v", until, until.Sub(back))
	}
	if back = back.Add(time.Second); !p.free(back) || !p.opens(back, h) {
		t.Error("not free, although the pause has passed by both clocks")
	}
	if back := set(later, -2*time.Second); !p.free(back) {
		t.Error("the wall clock is waited for, although it was set back far")
	}
}
