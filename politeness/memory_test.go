package politeness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func addrOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

func TestIdleHostsAreForgotten(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{PerDomain: true})
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
		if most > 6*49 { // what a day and a half keeps: three clocks each, doubled between sweeps
			t.Errorf("%d clocks kept for hosts that are done", most)
		}
	})
}

func TestAddressesAreForgottenEvenOfOneHost(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
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

// TestP9ForgettingShortensNoWait drives a Gate that sweeps and evicts all the time beside one that
// never does, through the same requests: the first never admits what the other would not.
func TestP9ForgettingShortensNoWait(t *testing.T) {
	for seed := range uint64(60) {
		in(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			c := randomConfig(rng)
			forgetful, whole := open(t, c), open(t, c)
			forgetful.gate.idle.at, forgetful.gate.idle.min = 1, 1
			forgetful.gate.cfg.MaxRulesBytes, forgetful.gate.rules.evictAt = 1, 1
			for range 400 {
				forgetful.gate.idle.at = 1
				raw, addr := randomAsk(rng)
				pf, errF := forgetful.admit(raw, addr)
				if errF == nil {
					pw := whole.follow(pf)
					both(forgetful, whole, pf, pw, time.Duration(rng.IntN(3000))*time.Millisecond, randomReply(rng))
				}
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(2*time.Second)))
				if rng.IntN(40) == 0 {
					time.Sleep(time.Duration(rng.IntN(30)) * time.Hour)
				}
			}
		})
	}
}

// follow mints the Permit that another Gate has minted, and fails when this one would have made its
// request wait.
func (b *bench) follow(p Permit) Permit {
	b.Helper()
	g, now := b.gate, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	h, target := g.host(p.p.wanted), g.host(p.p.url)
	c := g.clocks(now, target, p.p.url, p.p.addr)
	if err := g.pacer.wait(now, &c); err != nil {
		b.Fatalf("%s (%v) at %v, but %v", p.URL(), p.Purpose(), now, err)
	}
	o := h.origin(p.p.wanted)
	s := step{url: p.p.url, purpose: p.p.purpose}
	switch {
	case s.purpose == Page && !o.usable(now):
		b.Fatalf("%s at %v, but no rules are in force", p.URL(), now)
	case s.purpose == Page:
		if err := g.rules.judge(now, o, p.p.wanted); err != nil {
			b.Fatalf("%s at %v, but %v", p.URL(), now, err)
		}
	case o.retryAt().after(now):
		b.Fatalf("%s at %v, but robots.txt is to be tried again at %v", p.URL(), now, o.retryAt().time())
	}
	return g.mint(now, Request{URL: p.p.wanted, Addr: p.p.addr}, h, s, c)
}

// both lets two gates see one request.
func both(a, b *bench, pa, pb Permit, took time.Duration, r Reply) {
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

func randomConfig(rng *rand.Rand) Config {
	c := Config{
		Delay: time.Duration(rng.IntN(3000)) * time.Millisecond, DelayFactor: float64(rng.IntN(3)), PerDomain: rng.IntN(2) == 0,
		MaxRetryAfter: None, MaxCrawlDelay: None, MaxFailures: None, MaxSilence: None, RobotsGiveUp: None,
	}
	if rng.IntN(3) == 0 {
		c.Rate = 0.2 + rng.Float64()*3
	}
	return c
}

func randomAsk(rng *rand.Rand) (string, netip.Addr) {
	h := rng.IntN(5)
	scheme := []string{"https", "https", "http"}[rng.IntN(3)]
	return fmt.Sprintf("%s://h%d.site%d.test:8080/%d", scheme, h, h/2, rng.IntN(3)), addrOf(h / 2)
}

func randomReply(rng *rand.Rand) Reply {
	header := map[string][]string{}
	if rng.IntN(4) == 0 {
		header["Cache-Control"] = []string{"max-age=" + []string{"0", "90", "7200"}[rng.IntN(3)]}
	}
	switch rng.IntN(8) {
	case 0:
		return Reply{Err: errors.New("reset")}
	case 1:
		header["Retry-After"] = []string{[]string{"0", "7", "200"}[rng.IntN(3)]}
		if rng.IntN(3) == 0 { // a date, by a clock that may be behind
			clock := time.Now().Add(-time.Duration(rng.IntN(2)*rng.IntN(3600)) * time.Second).UTC()
			header["Date"] = []string{clock.Format(http.TimeFormat)}
			header["Retry-After"] = []string{clock.Add(time.Duration(rng.IntN(200)) * time.Second).Format(http.TimeFormat)}
		}
		return Reply{Status: []int{429, 503}[rng.IntN(2)], Header: header}
	case 2:
		header["Location"] = []string{[]string{"/r", "https://h4.site2.test:8080/x", ""}[rng.IntN(3)]}
		return Reply{Status: 302, Header: header}
	case 3:
		return Reply{Status: 404, Header: header}
	case 4:
		return Reply{Aborted: true, Err: errors.New("canceled")}
	}
	body := fmt.Sprintf("User-agent: *\nDisallow: /%d\nCrawl-delay: %d\n", rng.IntN(4), rng.IntN(12)) + strings.Repeat("#\n", rng.IntN(40))
	return Reply{Status: 200, Header: header, Body: []byte(body)}
}

func TestRulesAreEvictedAndAskedForAgain(t *testing.T) {
	in(t, func(t *testing.T) {
		const hosts = 200
		b := open(t, Config{MaxRulesBytes: 20 * (512 + 10*1000)})
		body := "User-agent: *\nDisallow: /no\nCrawl-delay: 3\n" + strings.Repeat("#\n", 478)
		again := 0
		for range 2 {
			for i := range hosts {
				raw := fmt.Sprintf("https://h%d.test/", i)
				for {
					p, err := b.admit(raw, addrOf(i))
					if err != nil {
						t.Fatal(err)
					}
					if p.Purpose() == Page {
						b.send(p, 0, Reply{Status: 200})
						break
					}
					again++
					time.Sleep(time.Until(b.send(p, 0, Reply{Status: 200, Body: []byte(body)})))
				}
			}
			if limit := b.gate.cfg.MaxRulesBytes; b.gate.rules.size > limit*5/4 {
				t.Fatalf("%d octets of rules, %d allowed", b.gate.rules.size, limit)
			}
		}
		if again < hosts+hosts/2 {
			t.Errorf("%d robots.txt requests: nothing was evicted", again)
		}
		if d := b.gate.Host("h0.test:443").Delay; d != 3*time.Second {
			t.Errorf("the pause a site asked for was evicted with its rules: %v", d)
		}
	})
}

func TestRulesThatHaveDecidedNothingYetAreKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{MaxRulesBytes: 1})
		for i := range 20 {
			p, err := b.admit(fmt.Sprintf("https://h%d.test/", i), addrOf(i))
			if err != nil {
				t.Fatal(err)
			}
			b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
		}
		time.Sleep(time.Second)
		for i := range 20 { // one page each, or nothing would ever be fetched
			if p, err := b.admit(fmt.Sprintf("https://h%d.test/", i), addrOf(i)); err != nil || p.Purpose() != Page {
				t.Fatal(p, err)
			}
		}
	})
}

func TestRulesSizeIsCounted(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.gate.idle.at, b.gate.idle.min = 1, 1
		for i := range 30 {
			b.ready(fmt.Sprintf("https://h%d.test/", i%4), strings.Repeat("Disallow: /\n", i))
			time.Sleep(25 * time.Hour)
			b.gate.idle.at = 1
		}
		var sum int64
		for _, h := range b.gate.hosts {
			for _, o := range h.origins {
				if o != nil {
					sum += o.rules.size()
				}
			}
		}
		if sum != b.gate.rules.size || len(b.gate.hosts) > 2 {
			t.Errorf("%d octets counted, %d there, %d hosts", b.gate.rules.size, sum, len(b.gate.hosts))
		}
	})
}

func TestACopyThatServesWhileItsFileIsUnreachableIsKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{MaxRulesBytes: 1})
		b.ready("https://a.test/x", "User-agent: *\nDisallow: /no\n")
		b.gate.Report(b.must("https://a.test/x"), Reply{Aborted: true})
		time.Sleep(25 * time.Hour)
		for range 2 {
			b.send(b.must("https://a.test/x"), 0, Reply{Status: 503})
			time.Sleep(time.Second)
		}
		if p := b.must("https://a.test/x"); p.Purpose() != Page {
			t.Fatal("the copy serves until the third attempt")
		}
		b.rules2("https://other.test/", "192.0.2.9", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
		if i := b.gate.Origin(b.url("https://a.test/")); !i.Known || i.Group == nil {
			t.Errorf("evicted: %+v", i)
		}
	})
}

// TestP9ABackoffShorterThanTheDelayIsKept: the next failure doubles it.
func TestP9ABackoffShorterThanTheDelayIsKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Delay: 2 * time.Second, MaxFailures: None})
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

// TestAHostThatOnlyWaitsIsKept: it answered a hop of another host's robots.txt, so nothing else is known
// of it.
func TestAHostThatOnlyWaitsIsKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules2("https://c.test/x", "192.0.2.3", redirect("https://d.test/r"))
		time.Sleep(time.Second)
		b.rules2("https://c.test/x", "192.0.2.4", Reply{Status: 503, Header: http.Header{"Retry-After": {"200"}}})
		time.Sleep(100 * time.Second)
		b.gate.idle.at, b.gate.idle.min = 1, 1
		b.gate.Next(b.url("https://other.test/"))
		if w := b.wait("https://d.test/", addrOf(9)); w.Clauses[0].Name != ledger.ClauseRetryAfter || time.Until(w.Until) != 100*time.Second {
			t.Error(w)
		}
	})
}
