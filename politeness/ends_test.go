package politeness

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAHostThatIsGivenUpKeepsNoURLWaiting(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		ready := b.send(b.must("https://a.test/"), 0, Reply{Status: 503, Header: http.Header{"Retry-After": {"99999999999"}}})
		if ready.After(time.Now()) {
			t.Errorf("its URLs are to wait until %v", ready)
		}
		b.denied("https://a.test/")
	})
}

// TestRulesOfWhoStillWaitsAreKept has two hosts on one address, and memory for the rules of none: after each
// robots.txt its host's page is asked about and has to wait, and the other host's robots.txt comes first.
func TestRulesOfWhoStillWaitsAreKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{MaxRulesBytes: 1})
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
				time.Sleep(DefaultDelay)
			}
		}
		if len(left) > 0 {
			t.Errorf("never asked for: %v", left)
		}
	})
}

func TestP7AnOwnHostIsHeardByWhatIsAboutToLeave(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{OwnHosts: func(string) int { return 2 }})
		b.ready("https://a.test/", "")
		time.Sleep(DefaultDelay)
		asked, waits := b.must("https://a.test/1"), b.must("https://a.test/2")
		g, err := waits.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		b.send(asked, time.Second, Reply{Status: 429, Header: http.Header{"Retry-After": {"20"}}})
		if err := g.Begin(); !errors.Is(err, ErrExpired) {
			t.Errorf("a request left before Retry-After was over: %v", err)
		}
	})
}

func TestP1NoPageIsAskedForByARobotsTxtThatTheLedgerDoesNotHave(t *testing.T) {
	in(t, func(t *testing.T) {
		out := &closing{lines: 1}
		b := open(t, Config{Ledger: out})
		b.rules("https://a.test/", "")
		if b.gate.Origin(b.url("https://a.test/")).Known {
			t.Error("its rules are known")
		}
	})
}

func TestP5AGoodAnswerThatTheLedgerDoesNotHaveShortensNoPause(t *testing.T) {
	in(t, func(t *testing.T) {
		out := &closing{lines: 5}
		b := open(t, Config{Delay: 100 * time.Millisecond, Ledger: out})
		b.ready("https://a.test/", "")
		b.send(b.must("https://a.test/"), 0, Reply{Status: 500})
		time.Sleep(time.Second)
		b.send(b.must("https://a.test/"), 0, Reply{Status: 200})
		if was := b.gate.Host("a.test:443").Backoff; was != time.Second {
			t.Errorf("the back-off is %v", was)
		}
	})
}

// closing takes so many lines.
type closing struct{ lines int }

func (c *closing) Write(b []byte) (int, error) {
	if c.lines--; c.lines < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestP9WhatIsReportedAfterItWasTakenBackIsInTheLedger(t *testing.T) {
	in(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Delay: 9 * time.Second, Ledger: &out}
		b := open(t, c)
		p := b.must("https://a.test/")
		if _, err := p.Redeem(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		b.wait("https://b.test/", someAddr) // takes it back
		b.gate.Report(p, Reply{Err: errors.New("timeout")})
		was := b.gate.Host("a.test:443").NotBefore
		r := replayed(t, c, out.String(), nil)
		if is := r.gate.Host("a.test:443").NotBefore; is.Before(was) || was.Before(time.Now()) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("may be asked at %v, the Gate before said %v; the ledger\n%s", is, was, &out)
		}
	})
}
