package politeness

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"
)

// TestOfflineGateWaitsForNothing gives an offline Gate the responses that cause the longest waits for an ordinary Gate.
func TestOfflineGateWaitsForNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Offline: true, Rate: 0.001, Hours: Hours{{From: time.Hour, To: 2 * time.Hour}}, VisitTime: true, PerDomain: true})
		begun := time.Now()
		answer := func(url string, r Reply) {
			t.Helper()
			p := b.must(url)
			if err := p.Replay(); err != nil {
				t.Fatal(err)
			}
			b.gate.Report(p, r)
			time.Sleep(time.Microsecond) // the Gate rounds times up to whole microseconds
		}
		answer("https://a.test/", Reply{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 100\nDisallow: /no\nVisit-time: 0100-0200\n")})
		answer("https://a.test/", Reply{Status: 429, Header: http.Header{"Retry-After": {"100000"}}})
		for range 100 {
			answer("https://a.test/", Reply{Status: 503, Header: http.Header{"Retry-After": {"60"}}})
			answer("https://a.test/", Reply{Err: errors.New("reset")})
		}
		if _, err := b.admit("https://a.test/no", someAddr); !denied(err, ReasonRobots) {
			t.Errorf("what robots.txt disallows: %v", err)
		}
		answer("https://b.test/", Reply{Status: 503})
		if _, err := b.admit("https://b.test/", someAddr); !denied(err, ReasonRobotsUnreachable) {
			t.Errorf("a robots.txt that failed once: %v", err)
		}
		answer("https://c.test/", redirect("https://a.test/robots.txt"))
		answer("https://c.test/", Reply{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 100\n")})
		answer("https://c.test/", Reply{Status: 200})
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func denied(err error, reason string) bool {
	var d *Denied
	return errors.As(err, &d) && d.Reason == reason
}

// TestOfflinePermitsSendNothing checks that the Permit of an offline Gate cannot be used to send a request, and that an ordinary Permit
// cannot be used offline.
func TestOfflinePermitsSendNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		off := newClient(t, Config{Offline: true})
		p := off.must("https://a.test/")
		if _, err := p.Redeem(); !errors.Is(err, ErrOffline) {
			t.Errorf("redeemed: %v", err)
		}
		if err := p.Replay(); err != nil {
			t.Fatal(err)
		}
		if err := p.Replay(); !errors.Is(err, ErrUsed) {
			t.Errorf("replayed twice: %v", err)
		}
		on := newClient(t, Config{}).must("https://a.test/")
		if err := on.Replay(); !errors.Is(err, ErrOnline) {
			t.Errorf("replayed: %v", err)
		}
		if _, err := on.Redeem(); err != nil {
			t.Errorf("spent by that: %v", err)
		}
		if err := (Permit{}).Replay(); !errors.Is(err, ErrNoPermit) {
			t.Errorf("no permit: %v", err)
		}
		if _, err := NewGate(Config{Identity: identity(), Offline: true, Ledger: new(bytes.Buffer)}); err == nil {
			t.Error("a ledger without requests")
		}
	})
}
