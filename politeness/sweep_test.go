package politeness

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestIdleHostsAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{PerDomain: true})
		b.gate.idle.at, b.gate.idle.min = 64, 64
		most := 0
		for i := range 3000 {
			raw := fmt.Sprintf("https://h%d.test/", i)
			if p, err := b.admit(raw, addrOf(i)); err == nil {
				b.send(p, 0, Reply{Status: 404})
			}
			time.Sleep(30 * time.Minute)
			most = max(most, len(b.gate.hosts)+b.gate.pacer.size())
		}
		if most > 6*49 { // hosts of a day and a half with three clocks each; twice as many between sweeps
			t.Errorf("%d clocks kept for hosts that are done", most)
		}
	})
}

func TestAddressesAreForgottenEvenOfOneHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.gate.idle.at, b.gate.idle.min = 64, 64
		for i := range 1000 {
			if p, err := b.admit("https://a.test/", addrOf(i)); err == nil {
				b.send(p, 0, Reply{Status: 404})
			}
			time.Sleep(2 * time.Second)
		}
		if n := len(b.gate.pacer.addrs); n > 130 {
			t.Errorf("%d addresses kept", n)
		}
	})
}

// TestP9SlowHostIsKeptWhileAnotherAddressHasAShorterDelay requests a slow host at an address with a long configured delay, and then at an
// address with a shorter delay, after which the pause depends on the host's latency.
func TestP9SlowHostIsKeptWhileAnotherAddressHasAShorterDelay(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		config              Config
		took                time.Duration
	}{
		{"range", "192.0.2.1", "198.51.100.1", Config{HostDelays: []HostDelay{{Match: "192.0.2.0/24", Delay: 10 * time.Second}}}, 5 * time.Second},
		{"loopback", "192.0.2.1", "127.0.0.1", Config{Delay: 20 * time.Millisecond}, 80 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, c.config)
				b.send(b.mustAt("https://a.test/", c.first), c.took, Reply{Status: 404})
				time.Sleep(25 * time.Hour) // until the robots.txt has expired
				b.gate.idle.at = 1
				p := b.mustAt("https://a.test/", c.second)
				if pause := time.Until(b.gate.Report(p, Reply{Aborted: true})); pause < c.took {
					t.Errorf("the host responded in %v, the pause is %v", c.took, pause)
				}
			})
		})
	}
}

// TestP9ForgettingShortensNoWait sends the same requests through two Gates: one forgets hosts and rules as often as possible, the other one
// never. The first Gate never admits a request that the second one would not.
func TestP9ForgettingShortensNoWait(t *testing.T) {
	for seed := range uint64(60) {
		inBubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			c := randomConfig(rng)
			forgetful, whole := newClient(t, c), newClient(t, c)
			forgetful.gate.idle.at, forgetful.gate.idle.min = 1, 1
			forgetful.gate.cfg.MaxRulesBytes, forgetful.gate.rules.evictAt = 1, 1
			for range 400 {
				forgetful.gate.idle.at = 1
				raw, addr := randomRequest(rng)
				pf, errF := forgetful.admit(raw, addr)
				if errF == nil {
					pw := whole.mintSame(pf)
					sendBoth(forgetful, whole, pf, pw, time.Duration(rng.IntN(3000))*time.Millisecond, randomReply(rng))
				}
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(2*time.Second)))
				if rng.IntN(40) == 0 {
					time.Sleep(time.Duration(rng.IntN(30)) * time.Hour)
				}
			}
		})
	}
}

// mintSame issues the same Permit as another Gate has issued. The test fails if this Gate would have let the request
// wait.
func (b *client) mintSame(p Permit) Permit {
	b.Helper()
	g, now := b.gate, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	h, target := g.host(p.p.wanted), g.host(p.p.url)
	c := g.clocks(now, target, p.p.url, p.p.addr)
	if c.addr != nil { // other requests are waiting in the other Gate
		c.addr.line, c.addr.tickets = nil, nil
	}
	if c.domain != nil {
		c.domain.line, c.domain.tickets = nil, nil
	}
	if err := g.pacer.wait(now, &c); err != nil {
		b.Fatalf("%s (%v) at %v, but %v", p.URL(), p.Purpose(), now, err)
	}
	o := h.origin(p.p.wanted)
	s := step{url: p.p.url, purpose: p.p.purpose}
	switch {
	case s.purpose == Page && !o.usable(now):
		b.Fatalf("%s at %v, but no rules are in force", p.URL(), now)
	case s.purpose == Page:
		if err := g.rules.judge(now, o, p.p.wanted, Page); err != nil {
			b.Fatalf("%s at %v, but %v", p.URL(), now, err)
		}
	case o.retryAt().after(now):
		b.Fatalf("%s at %v, but robots.txt is to be tried again at %v", p.URL(), now, o.retryAt().time())
	}
	return g.mint(now, Request{URL: p.p.wanted, Addr: p.p.addr}, admission{h, s, c}, new(permit))
}

// sendBoth reports one request to both Gates.
func sendBoth(a, b *client, pa, pb Permit, took time.Duration, r Reply) {
	for _, p := range []Permit{pa, pb} {
		g, err := p.Redeem()
		if err != nil {
			a.Fatal(err)
		}
		if err := g.Begin(); err != nil {
			a.Fatal(err)
		}
	}
	r.Written = time.Now()
	time.Sleep(took)
	r.Ended = time.Now()
	a.gate.Report(pa, r)
	b.gate.Report(pb, r)
}

// TestP9ABackoffShorterThanTheDelayIsKept: a back-off that is shorter than the delay must be kept, because the next failure doubles it.
func TestP9ABackoffShorterThanTheDelayIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: 2 * time.Second, MaxFailures: Unlimited})
		b.send(b.must("https://a.test/"), 0, Reply{Status: 404, Header: http.Header{"Cache-Control": {"max-age=60"}}})
		for _, status := range []int{500, 500, 200} {
			time.Sleep(4 * time.Second)
			b.send(b.must("https://a.test/"), 0, Reply{Status: status})
		}
		time.Sleep(time.Hour)
		SweepNext(b.gate)
		b.gate.Next(b.url("https://other.test/"))
		if was := b.gate.Host("a.test:443").Backoff; was != time.Second {
			t.Errorf("the back-off is %v", was)
		}
	})
}

// TestAHostThatOnlyWaitsIsKept: a host that has only served the target of another host's redirected robots.txt is kept until its pause has
// ended, although nothing else is known about it.
func TestAHostThatOnlyWaitsIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.answerAt("https://c.test/x", "192.0.2.3", redirect("https://d.test/r"))
		time.Sleep(time.Second)
		b.answerAt("https://c.test/x", "192.0.2.4", Reply{Status: 503, Header: http.Header{"Retry-After": {"200"}}})
		time.Sleep(100 * time.Second)
		b.gate.idle.at, b.gate.idle.min = 1, 1
		b.gate.Next(b.url("https://other.test/"))
		if w := b.wait("https://d.test/", addrOf(9)); w.Clauses[0].Name != ledger.ClauseRetryAfter || time.Until(w.Until) != 100*time.Second {
			t.Error(w)
		}
	})
}
