package politeness

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

func TestP2APageCannotPassForRobots(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\n")
		u := b.url("https://a.test/upload")
		p, err := b.gate.Admit(Request{URL: u, Next: u, Addr: someAddr, Purpose: Robots})
		if err != nil || p.Purpose() != Page {
			t.Fatal(p.Purpose(), err)
		}
		b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nAllow: /\n")})
		b.denied("https://a.test/no")
	})
}

func TestP2AnAddressIsNeeded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for _, a := range []Request{{}, {URL: b.url("https://a.test/")}, {Addr: someAddr}} {
			if _, err := b.gate.Admit(a); !errors.Is(err, errRequest) {
				t.Errorf("%+v: %v", a, err)
			}
		}
		b.gate.Failed(weburl.URL{}, weburl.URL{}, nil)
		if !b.gate.Next(weburl.URL{}).IsZero() || b.gate.Origin(weburl.URL{}).Known {
			t.Error("the zero URL is nobody's")
		}
	})
}

func TestContactlessIsForLoopbackOnly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Identity: Identity{Product: "x"}, Contactless: true})
		if d := b.denied("https://a.test/"); d.Reason != ReasonNoContact {
			t.Errorf("got %v", d)
		}
		b.mustAt("http://127.0.0.1/", "127.0.0.1")
	})
}

func TestOptOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		list := map[string]bool{}
		b := newClient(t, Config{OptOut: func(h string) bool { return list[h] }})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		list["a.test"] = true
		for _, url := range []string{"https://a.test/", "https://a.test./", "https://a.test.:8443/"} {
			if d := b.denied(url); d.Reason != ReasonOptOut || d.Deferred() {
				t.Errorf("%s: %v", url, d)
			}
		}
	})
}

func TestARobotsHopToAHostThatOptedOutIsNotMade(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{OptOut: func(h string) bool { return h == "b.test" }})
		b.send(b.must("https://a.test/x"), 0, redirect("https://b.test/r"))
		if d := b.denied("https://a.test/x"); d.Reason != ReasonOptOut {
			t.Error(d)
		}
	})
}

func TestARobotsHopToAHostThatWasGivenUpIsNotMade(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://b.test/", "User-agent: *\nCrawl-delay: 3600\n")
		time.Sleep(time.Second)
		b.send(b.mustAt("https://a.test/x", "192.0.2.2"), 0, redirect("https://b.test/r"))
		time.Sleep(time.Hour)
		if d := b.denied("https://a.test/x"); d.Reason != ReasonRobotsUnreachable {
			t.Error(d)
		}
	})
}

// TestOnlyAnAdmittedRequestCountsAsUse has two hosts at one address, and no memory for rules. After each response, the next request for the
// same host has to wait, so that the hosts alternate. Nevertheless, both pages are requested at some time.
func TestOnlyAnAdmittedRequestCountsAsUse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxRulesBytes: 1})
		raws := []string{"https://a.test/", "https://b.test/"}
		left := map[string]bool{raws[0]: true, raws[1]: true}
		for range 10 {
			for _, raw := range raws {
				p, err := b.admit(raw, someAddr)
				if err != nil {
					t.Fatal(err)
				}
				if p.Purpose() == Page {
					delete(left, raw)
				}
				b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
				b.wait(raw, someAddr)
				time.Sleep(DefaultDelay + strangers*grace)
			}
		}
		if len(left) > 0 {
			t.Errorf("never requested: %v", left)
		}
	})
}

func TestRobotsIsRequestedByOneAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T) { // an own host allows several requests at once, but only one for robots.txt
		b := newClient(t, Config{Delay: NoDelay, OwnHosts: func(string) int { return 4 }})
		p := b.must("https://a.test/1")
		if w := b.wait("https://a.test/2", someAddr); w.Clauses[0].Name != ledger.ClauseBusy || !w.Until.After(time.Now()) {
			t.Errorf("got %v", w)
		}
		b.send(p, 0, Reply{Status: 404})
		for range 4 {
			b.must("https://a.test/2")
		}
	})
	inBubble(t, func(t *testing.T) { // one request at a time includes redirects to another host
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/1"), 0, redirect("https://b.test/r"))
		time.Sleep(time.Second)
		b.mustAt("https://a.test/1", "192.0.2.2")
		_, err := b.admit("https://a.test/2", netip.MustParseAddr("192.0.2.3"))
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseBusy {
			t.Errorf("got %v", err)
		}
	})
}
