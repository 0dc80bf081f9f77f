package politeness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRulesAreEvictedAndRequestedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const hosts = 200
		b := newClient(t, Config{MaxRulesBytes: 20 * (512 + 10*1000)})
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
			if limit := int64(b.gate.cfg.MaxRulesBytes); b.gate.rules.size > limit*5/4 {
				t.Fatalf("%d bytes of rules, %d allowed", b.gate.rules.size, limit)
			}
		}
		if again < hosts+hosts/2 {
			t.Errorf("%d robots.txt requests: nothing was evicted", again)
		}
		if d := b.gate.Host("h0.test:443").Delay; d != 3*time.Second {
			t.Errorf("the pause that a site requested was evicted with its rules: %v", d)
		}
	})
}

// TestRulesArePackedFirst checks that rules are compressed before any are dropped, so that no robots.txt is requested again, and that
// decisions stay the same.
func TestRulesArePackedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const hosts = 200
		body := "User-agent: *\nDisallow: /no\n" + strings.Repeat("#\n", 485)
		limit := Limit(hosts*(256+len(body))) * 4 / 3
		b := newClient(t, Config{MaxRulesBytes: limit})
		for i := range hosts {
			b.ready(fmt.Sprintf("https://h%d.test/", i), body)
		}
		for range 3 {
			for i := range hosts {
				time.Sleep(time.Second)
				var denied *Denied
				if _, err := b.admit(fmt.Sprintf("https://h%d.test/no", i), addrOf(i)); !errors.As(err, &denied) || denied.Reason != ReasonRobots {
					t.Fatalf("host %d: %v", i, err)
				}
				if size := b.gate.rules.size; Limit(size) > limit*5/4+10_000 {
					t.Fatalf("%d bytes of rules, %d allowed", size, limit)
				}
			}
		}
		packed, size := 0, int64(0)
		for o := range b.gate.hosts.origins {
			size += o.rules.size()
			if o.rules.rules == nil {
				packed++
			}
		}
		if packed < hosts/2 || size != b.gate.rules.size {
			t.Errorf("%d of %d files are packed; %d bytes counted, %d there", packed, hosts, b.gate.rules.size, size)
		}
	})
}

func TestRulesThatHaveDecidedNothingYetAreKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxRulesBytes: 1})
		for i := range 20 {
			p, err := b.admit(fmt.Sprintf("https://h%d.test/", i), addrOf(i))
			if err != nil {
				t.Fatal(err)
			}
			b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
		}
		time.Sleep(time.Second)
		for i := range 20 { // a page is admitted for each robots.txt: none was dropped before use
			if p, err := b.admit(fmt.Sprintf("https://h%d.test/", i), addrOf(i)); err != nil || p.Purpose() != Page {
				t.Fatal(p, err)
			}
		}
	})
}

func TestRulesSizeIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
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
			t.Errorf("%d bytes counted, %d there, %d hosts", b.gate.rules.size, sum, len(b.gate.hosts))
		}
	})
}

func TestACopyThatServesWhileItsFileIsUnreachableIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxRulesBytes: 1})
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
		b.answerAt("https://other.test/", "192.0.2.9", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
		if i := b.gate.Origin(b.url("https://a.test/")); !i.Known || i.Group == nil {
			t.Errorf("evicted: %+v", i)
		}
	})
}
