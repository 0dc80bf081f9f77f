package politeness

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// TestSignedIsInTheLedger checks that a request's start line names the key of its signature, and that a key cannot be added later.
func TestSignedIsInTheLedger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ledger bytes.Buffer
		b := newClient(t, Config{Ledger: &ledger})
		p := b.must("https://a.test/")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		g.Sign("key")
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		g.Sign("another")
		b.gate.Report(p, Reply{Status: 403, Challenged: true})
		Grant{}.Sign("key")
		if n := strings.Count(ledger.String(), `"signed":"key"`); n != 1 || strings.Contains(ledger.String(), "another") {
			t.Errorf("%s", ledger.String())
		}
		if !strings.Contains(ledger.String(), `"challenged":true`) {
			t.Errorf("%s", ledger.String())
		}
	})
}

func TestPermitIsForOneUse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Redeem(); !errors.Is(err, ErrUsed) {
			t.Errorf("second Redeem: %v", err)
		}
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := g.Begin(); !errors.Is(err, ErrUsed) {
			t.Errorf("second Begin: %v", err)
		}
		first := b.gate.Report(p, Reply{Status: 404})
		if again := b.gate.Report(p, Reply{Status: 429, Header: http.Header{"Retry-After": {"60"}}}); again != first {
			t.Errorf("a second Report changed %v to %v", first, again)
		}
		if _, err := (Permit{}).Redeem(); !errors.Is(err, ErrNoPermit) {
			t.Errorf("zero Permit: %v", err)
		}
		if err := (Grant{}).Begin(); !errors.Is(err, ErrNoPermit) {
			t.Errorf("zero Grant: %v", err)
		}
	})
}

func TestPermitExpires(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if err := g.Begin(); !errors.Is(err, ErrExpired) {
			t.Errorf("Begin after expiry: %v", err)
		}
		b.gate.Report(p, Reply{})
		time.Sleep(time.Second)
		p = b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
			t.Errorf("Redeem after expiry: %v", err)
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		u := b.url("https://a.test/")
		p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr, Deadline: time.Now().Add(time.Second)})
		if err != nil || p.Expires() != time.Now().Add(time.Second) {
			t.Errorf("a Permit ends with its claim: %v %v", p.Expires(), err)
		}
	})
}

// TestAPermitExpiresByEitherClock sets the wall clock back, which must not prolong a Permit. It also sets the wall clock forward, as after
// a suspension of the machine, during which the monotonic clock stands still.
func TestAPermitExpiresByEitherClock(t *testing.T) {
	const life = 10 * time.Second
	for name, c := range map[string]struct {
		ttl   time.Duration
		claim time.Duration // time until the claim's deadline
		set   time.Duration // wall clock change between the claim and the Permit
	}{
		"by its own time":                      {ttl: life},
		"by its claim":                         {claim: life},
		"by its claim, the clock set back":     {claim: life, set: -time.Hour},
		"by its claim, the clock set forward":  {claim: life, set: time.Hour},
		"by its own time, the claim is longer": {ttl: life, claim: time.Minute, set: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := newClient(t, Config{PermitTTL: c.ttl})
			ask := Request{URL: b.url("https://a.test/robots.txt"), Addr: someAddr}
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

func TestP1APermitEndsWithTheRulesItWasJudgedBy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		b.send(p, 0, Reply{Status: 200, Header: http.Header{"Cache-Control": {"max-age=60"}}})
		time.Sleep(50 * time.Second)
		p = b.must("https://a.test/")
		if got := time.Until(p.Expires()); got != 10*time.Second {
			t.Errorf("expires in %v, the rules in 10s", got)
		}
	})
	inBubble(t, func(t *testing.T) {
		end := time.Now().Add(10 * time.Second)
		b := newClient(t, Config{Overrides: []Override{{Origin: "https://a.test", Skip: true, Reason: "x", Until: end}}})
		if p := b.must("https://a.test/"); !p.Expires().Equal(end) {
			t.Errorf("expires %v, the override %v", p.Expires(), end)
		}
	})
}

// TestAPermitThatRunsOutEarlyHoldsItsHost: an expired Permit cannot be used any more, but its host stays busy, because a connection that
// was opened with it may still be in progress.
func TestAPermitThatRunsOutEarlyHoldsItsHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: 5 * time.Second})
		b.rules("https://a.test/", "")
		time.Sleep(5 * time.Second)
		u := b.url("https://a.test/")
		p, err := b.gate.Admit(Request{URL: u, Addr: someAddr, Deadline: time.Now().Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
			t.Error(err)
		}
		time.Sleep(DefaultPermitTTL - 2*time.Second)
		if w := b.wait("https://a.test/", someAddr); w.Clauses[0].Name != ledger.ClauseBusy {
			t.Errorf("%v, want busy", w)
		}
		time.Sleep(time.Second)
		b.wait("https://a.test/", someAddr) // revokes the Permit
		time.Sleep(4 * time.Second)
		b.gate.Report(p, Reply{Aborted: true})
		time.Sleep(5*time.Second - 1)
		b.wait("https://a.test/", someAddr)
		time.Sleep(1)
		b.must("https://a.test/")
	})
}

func TestAPermitThatIsNeverReportedIsTakenBackWhenItExpires(t *testing.T) {
	for _, redeem := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{})
			b.ready("https://a.test/", "")
			p := b.must("https://a.test/1")
			var g Grant
			if redeem {
				g, _ = p.Redeem()
			}
			time.Sleep(DefaultPermitTTL)
			b.wait("https://a.test/2", someAddr)
			time.Sleep(time.Nanosecond)
			if c := b.wait("https://a.test/2", someAddr).Clauses; time.Until(c[0].Until) != time.Second || c[0].Name != ledger.ClauseDelay {
				t.Errorf("taken back, then a delay: %v", c)
			}
			time.Sleep(time.Second)
			b.must("https://a.test/2")
			if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
				t.Errorf("Redeem: %v", err)
			}
			if err := g.Begin(); redeem && !errors.Is(err, ErrExpired) {
				t.Errorf("Begin: %v", err)
			}
			b.gate.Report(p, Reply{Status: 200})
			b.wait("https://a.test/2", someAddr) // the second Permit is still outstanding
		})
	}
}

// TestALateReportHoldsClocksThatWereForgottenMeanwhile revokes a Permit, and lets the Gate forget its host and address. When the Permit's
// holder then reports that the connection failed, both have to pause.
func TestALateReportHoldsClocksThatWereForgottenMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		b.wait("https://a.test/", someAddr)
		time.Sleep(time.Minute)
		SweepNext(b.gate)
		b.gate.Next(b.url("https://other.test/"))
		b.rules("http://a.test:443/", "User-agent: *\nCrawl-delay: 9\n") // the rules of a host that was forgotten and is known again
		time.Sleep(9 * time.Second)
		b.gate.Report(p, Reply{Err: errors.New("timeout")})
		for _, raw := range []string{"https://a.test/", "https://b.test/"} {
			if w := b.wait(raw, someAddr); time.Until(w.Until) < 9*time.Second {
				t.Errorf("%s: %v", raw, w)
			}
		}
	})
}

func TestAnUnreportedPermitOfAnAddressIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		time.Sleep(time.Until(b.wait("https://b.test/", someAddr).Until))
		b.must("https://b.test/")
	})
}

func TestAnUnreportedRobotsPermitIsTakenBackAlsoFromItsOrigin(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/x"), 0, redirect("https://b.test/r"))
		b.mustAt("https://a.test/x", "192.0.2.2")
		b.wait("https://a.test/x", someAddr)
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if p := b.must("https://a.test/x"); p.URL().String() != "https://a.test/robots.txt" {
			t.Errorf("begins anew, not with %v", p.URL())
		}
	})
}

func TestP3ABegunRequestIsNeverTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Hour)
		b.wait("https://a.test/", someAddr)
	})
}

func TestP9WhatIsReportedAfterItWasTakenBackIsInTheLedger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Delay: 9 * time.Second, Ledger: &out}
		b := newClient(t, c)
		p := b.must("https://a.test/")
		if _, err := p.Redeem(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		b.wait("https://b.test/", someAddr) // revokes it
		b.gate.Report(p, Reply{Err: errors.New("timeout")})
		was := b.gate.Host("a.test:443").NotBefore
		r := replayed(t, c, out.String(), nil)
		if is := r.gate.Host("a.test:443").NotBefore; is.Before(was) || was.Before(time.Now()) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("may be asked at %v, the Gate before said %v; the ledger\n%s", is, was, &out)
		}
	})
}

// A Permit that is reported as unused causes no pause and no ledger line, with two exceptions: a redeemed Permit, whose holder may have
// connected, and a Permit for robots.txt.
func TestAnUnusedPermitLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		b := newClient(t, Config{Ledger: &lines, Delay: time.Second, PerDomain: true})
		p := b.must("https://a.test/")
		if ready := b.gate.Report(p, Reply{Unused: true}); time.Until(ready) <= 0 || p.Purpose() != Robots {
			t.Errorf("no pause after %v", p.Purpose())
		}
		time.Sleep(time.Minute)
		b.ready("https://a.test/", "")
		before := lines.Len()
		for range 3 {
			p := b.must("https://a.test/page")
			if ready := b.gate.Report(p, Reply{Unused: true, Status: 200, Header: http.Header{"Retry-After": {"60"}}}); time.Until(ready) > 0 || lines.Len() != before {
				t.Errorf("ready in %v; lines:\n%s", time.Until(ready), lines.Bytes()[before:])
			}
			if _, err := p.Redeem(); !errors.Is(err, ErrUsed) {
				t.Errorf("Redeem after it was given back: %v", err)
			}
		}
		p = b.must("https://a.test/page")
		if _, err := p.Redeem(); err != nil {
			t.Fatal(err)
		}
		if ready := b.gate.Report(p, Reply{Unused: true}); time.Until(ready) < time.Second {
			t.Errorf("a redeemed Permit: ready in %v", time.Until(ready))
		}
	})
}
