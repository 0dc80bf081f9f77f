package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

func TestP1RobotsComesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		if next := b.gate.Next(b.url("https://a.test/x?y")); next.String() != "https://a.test/robots.txt" {
			t.Fatalf("next is %s", next)
		}
		ready := b.rules("https://a.test/x?y", "User-agent: *\nDisallow: /no\n")
		time.Sleep(time.Until(ready))
		if p := b.must("https://a.test/x?y"); p.URL().String() != "https://a.test/x?y" || p.Purpose() != Page {
			t.Fatalf("got a permit for %s (%v)", p.URL(), p.Purpose())
		}
		if p := b.mustAt("http://a.test/x", "192.0.2.9"); p.Purpose() != Robots {
			t.Error("http and https of one name are two origins: each has a robots.txt")
		}
	})
}

func TestP2ForbiddenIsDeniedWithItsLine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "User-agent: other\nDisallow: /\n\nUser-agent: TestBot\nDisallow: /no\n")
		d := b.denied("https://a.test/no/page")
		if d.Reason != ReasonRobots || d.Verdict.Line != 5 || d.Deferred() {
			t.Errorf("got %+v", d)
		}
	})
}

// TestP1ChallengedRobotsIsRequestedAgain: a response that asks for a signature says nothing about robots.txt. It means neither that there
// are no rules, nor that the file is unreachable. The next attempt follows after the usual pause.
func TestP1ChallengedRobotsIsRequestedAgain(t *testing.T) {
	for _, status := range []int{401, 403, 429} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{})
			p := b.must("https://a.test/x")
			ready := b.send(p, 0, Reply{Status: status, Challenged: true})
			if wait := time.Until(ready); wait != time.Second && status != 429 {
				t.Errorf("%d: the host rests for %v", status, wait)
			}
			time.Sleep(time.Until(ready))
			p = b.must("https://a.test/x")
			if p.URL().String() != "https://a.test/robots.txt" || p.Purpose() != Robots {
				t.Fatalf("%d: requested next is %s", status, p.URL())
			}
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /x")})))
			b.denied("https://a.test/x")
		})
	}
}

// TestP1ChallengedHopIsRequestedAgain checks the same for the target of a redirected robots.txt.
func TestP1ChallengedHopIsRequestedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		time.Sleep(time.Until(b.send(b.must("https://a.test/x"), 0, redirect("/hop"))))
		for range 2 {
			p := b.must("https://a.test/x")
			if p.URL().String() != "https://a.test/hop" {
				t.Fatalf("requested next is %s", p.URL())
			}
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 401, Challenged: true})))
		}
	})
}

func TestP1RulesAgeFromTheEndOfTheirAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		ended := time.Now()
		time.Sleep(time.Minute)
		b.gate.Report(p, Reply{Status: 404, Ended: ended})
		if got := b.gate.Origin(b.url("https://a.test/")).Expires; !got.Equal(ended.Add(24 * time.Hour)) {
			t.Errorf("expires %v after the answer", got.Sub(ended))
		}
	})
}

func TestChangedRulesApplyToWhatIsQueued(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/x", "")
		b.gate.Report(b.must("https://a.test/x"), Reply{})
		time.Sleep(25 * time.Hour)
		b.ready("https://a.test/x", "User-agent: *\nDisallow: /x\n")
		b.denied("https://a.test/x")
	})
}

func TestRobotsRedirects(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: NoDelay})
		to := func(u string) Reply { return Reply{Status: 302, Header: http.Header{"Location": {u}}} }
		p := b.must("https://a.test/x")
		b.send(p, 0, to("https://other.test/r"))
		if next := b.gate.Next(b.url("https://a.test/x")); next.String() != "https://other.test/r" {
			t.Fatalf("next is %s", next)
		}
		_, err := b.gate.Admit(Request{URL: b.url("https://a.test/x"), Addr: someAddr})
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseStale {
			t.Fatalf("an address of the page's host serves no hop on another: %v", err)
		}
		p = b.mustAt("https://a.test/x", "192.0.2.2")
		b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n")})
		time.Sleep(time.Second)
		if d := b.denied("https://a.test/x"); len(d.Verdict.Rule) == 0 {
			t.Errorf("the rules bind the origin first asked: %v", d)
		}
		if p := b.mustAt("https://other.test/x", "192.0.2.2"); p.Purpose() != Robots {
			t.Error("and no other")
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: NoDelay})
		for i := range 6 {
			p := b.must("https://a.test/x")
			if p.Purpose() != Robots {
				t.Fatalf("hop %d is a %v", i, p.Purpose())
			}
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 301, Header: http.Header{"Location": {"/robots.txt"}}})))
		}
		if p := b.must("https://a.test/x"); p.Purpose() != Page {
			t.Error("a sixth redirect must mean the same as a 404")
		}
	})
}

func TestP8UnreachableRobotsMeansNoPages(t *testing.T) {
	for _, r := range []Reply{{Status: 500}, {Status: 503}, {Status: 429}, {Err: errors.New("timeout")}, {Status: 200, Truncated: "cut_short"}} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{})
			var waits []time.Duration
			for {
				p, err := b.admit("https://a.test/", someAddr)
				var w *NotYet
				var d *Denied
				switch {
				case errors.As(err, &w):
					time.Sleep(time.Until(w.Until))
					continue
				case errors.As(err, &d):
					if d.Reason != ReasonRobotsUnreachable || !d.Deferred() {
						t.Errorf("given up with %v", d)
					}
					if len(waits) < 4 || waits[0] != time.Second || waits[1] != 5*time.Second || waits[2] != 30*time.Second || waits[3] != time.Minute {
						t.Errorf("pauses %v", waits)
					}
					return
				case p.Purpose() != Robots:
					t.Fatalf("got a permit for %s", p.URL())
				}
				waits = append(waits, time.Until(b.send(p, 0, r)))
			}
		})
	}
}

// TestP8ARobotsTxtThatIsFetchedAgainSaysWhatItWaitedFor checks the reason for a repeated request of robots.txt: in the Permit, in the
// ledger, and while it waits.
func TestP8ARobotsTxtThatIsFetchedAgainSaysWhatItWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		const raw = "https://a.test/"
		b.send(b.must(raw), 0, Reply{Status: 503})
		for i, pause := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
			if i == 2 {
				pause = 100 * time.Second
			}
			until := time.Now().Add(pause)
			if h := b.gate.Host("a.test:443"); !h.NotBefore.Equal(until) || h.Waits != ledger.ClauseRobots {
				t.Errorf("the host waits until %v by %s, want %v", h.NotBefore, h.Waits, until)
			}
			if h := b.gate.Host("b.test:443"); h.Waits != "" || !h.NotBefore.IsZero() {
				t.Errorf("nothing is known of b.test, and it waits until %v by %s", h.NotBefore, h.Waits)
			}
			time.Sleep(pause)
			p := b.must(raw)
			if cs := p.Clauses(); cs[0].Name != ledger.ClauseRobots || !cs[0].Until.Equal(until) || len(cs) != 3 {
				t.Errorf("waited for %v, want %s until %v first", cs, ledger.ClauseRobots, until)
			}
			want := fmt.Sprintf(`"clauses":[{"clause":"robots_retry","until":%q}`, until.Format("2006-01-02T15:04:05.000000Z07:00"))
			r := Reply{Status: 500}
			if i == 1 {
				r = Reply{Status: 429, Header: http.Header{"Retry-After": {"100"}}}
			}
			b.send(p, 0, r)
			if lines := strings.Split(out.String(), "\n"); !strings.Contains(lines[len(lines)-3], want) {
				t.Errorf("the ledger has %s\nwant %s", lines[len(lines)-3], want)
			}
		}
	})
	inBubble(t, func(t *testing.T) { // the target of a redirect, like another origin of the host, waits only for its host
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/"), 0, Reply{Status: 503})
		time.Sleep(time.Second)
		b.send(b.must("https://a.test/"), 0, redirect("/r"))
		time.Sleep(time.Second)
		if cs := b.must("https://a.test/").Clauses(); len(cs) != 2 || cs[0].Name == ledger.ClauseRobots {
			t.Errorf("a hop waited for %v", cs)
		}
	})
}

func TestP8ADecentCopyServesWhileUnreachable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /no\n")
		time.Sleep(25 * time.Hour)
		if p := b.must("https://a.test/"); p.Purpose() != Robots {
			t.Fatal("rules older than 24 h are requested again")
		} else {
			b.send(p, 0, Reply{Status: 503})
		}
		time.Sleep(time.Second - time.Millisecond)
		if d := b.denied("https://a.test/no"); !b.gate.Origin(b.url("https://a.test/")).Source.Stale || d.Reason != ReasonRobots {
			t.Errorf("got %v", d)
		}
	})
}

func TestP8ACopyTooOldIsGivenUpLikeNone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /no\n")
		start := time.Now()
		time.Sleep(24 * time.Hour)
		for {
			p, err := b.admit("https://a.test/", someAddr)
			var w *NotYet
			var d *Denied
			switch {
			case errors.As(err, &w):
				time.Sleep(time.Until(w.Until))
			case errors.As(err, &d):
				if age := time.Since(start); age < 30*24*time.Hour || age > 31*24*time.Hour || d.Reason != ReasonRobotsUnreachable {
					t.Errorf("given up after %v: %v", age, d)
				}
				return
			case p.Purpose() == Page:
				if time.Since(start) >= 30*24*time.Hour {
					t.Fatal("a copy older than 30 days served")
				}
				b.gate.Report(p, Reply{Aborted: true})
				time.Sleep(10 * time.Minute)
			default:
				b.send(p, 0, Reply{Status: 503})
			}
		}
	})
}

func TestDialectAndUsage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Dialect: robots.Original1994})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /\nAllow: /x\n")
		b.denied("https://a.test/x")
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{RefuseUsage: []string{robots.UseTrainAI}})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /z\nContent-Usage: /x train-ai=n\n")
		if d := b.denied("https://a.test/x"); d.Reason != ReasonUsage {
			t.Errorf("got %v", d)
		}
		time.Sleep(time.Second)
		b.must("https://a.test/y")
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Purposes: []consent.Purpose{consent.TrainAI}})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /z\nContent-Usage: /x train-ai=n\n")
		if d := b.denied("https://a.test/x"); d.Reason != ReasonUsage {
			t.Errorf("got %v", d)
		}
		time.Sleep(time.Second)
		b.must("https://a.test/y")
	})
}

func TestP1ARobotsTxtThatTheLedgerDoesNotHaveAllowsNoPage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		out := &closing{lines: 1}
		b := newClient(t, Config{Ledger: out})
		b.rules("https://a.test/", "")
		if b.gate.Origin(b.url("https://a.test/")).Known {
			t.Error("its rules are known")
		}
	})
}
