package politeness

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// TestTheDelayOfAHostInfoHasItsFloor checks that the delay is at least the minimum for the host, which depends on its owner and address.
func TestTheDelayOfAHostInfoHasItsFloor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		own := func(host string) int {
			if host == "own.test:443" {
				return 2
			}
			return 0
		}
		b := newClient(t, Config{Delay: NoDelay, OwnHosts: own})
		told := func(when, host string, want time.Duration) {
			t.Helper()
			if i := b.gate.Host(host); i.Delay != want || i.Exempt != (want == 0) {
				t.Errorf("%s: %s: %v, exempt %v, want %v", when, host, i.Delay, i.Exempt, want)
			}
		}
		for host, want := range map[string]time.Duration{
			"a.test:443": MinDelay, "own.test:443": 0, "127.0.0.1:80": 0, "[::1]:80": 0, "localhost:80": 0, "192.0.2.1:80": MinDelay, "near.test:443": MinDelay,
		} {
			told("before the first request", host, want)
		}
		for raw, addr := range map[string]string{"https://a.test/": "192.0.2.2", "https://near.test/": "127.0.0.1", "https://own.test/": "192.0.2.3"} {
			b.send(b.mustAt(raw, addr), 0, Reply{Status: 404})
		}
		told("after a request", "a.test:443", MinDelay)
		told("after a request", "own.test:443", 0)
		told("after a request to loopback", "near.test:443", 0)
		r := b.restored(Config{Delay: NoDelay, OwnHosts: own})
		if d := r.gate.Host("near.test:443").Delay; d != 0 {
			t.Errorf("after a restart: %v", d)
		}
	})
}

// TestForgiveKeepsThePauseBeforeARobotsTxt also checks that after Forgive, robots.txt may fail once more before the host is given up
// again.
func TestForgiveKeepsThePauseBeforeARobotsTxt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{RobotsGiveUp: 20 * time.Second})
		const raw = "https://a.test/"
		for range 3 { // attempts at 0, 1 and 6 s; the next pause is 30 s
			b.page(raw, "192.0.2.1", Reply{Status: 503})
		}
		b.page(raw, "192.0.2.1", Reply{Status: 503}) // attempt at 36 s; the next pause is a minute
		if d := b.denied(raw); d.Reason != ReasonRobotsUnreachable {
			t.Fatal(d)
		}
		b.gate.Forgive()
		if w := b.wait(raw, someAddr); time.Until(w.Until) != time.Minute || w.Clauses[0].Name != ledger.ClauseRobots {
			t.Errorf("forgiven: %v", w)
		}
		time.Sleep(time.Minute)
		b.send(b.must(raw), 0, Reply{Status: 503})
		if d := b.denied(raw); d.Reason != ReasonRobotsUnreachable {
			t.Error(d)
		}
	})
}

func TestAHostThatIsGivenUpKeepsNoURLWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		ready := b.send(b.must("https://a.test/"), 0, Reply{Status: 503, Header: http.Header{"Retry-After": {"99999999999"}}})
		if ready.After(time.Now()) {
			t.Errorf("its URLs are to wait until %v", ready)
		}
		b.denied("https://a.test/")
	})
}

func TestHostsAreFoundUnderTheirKeys(t *testing.T) {
	g := newClient(t, Config{}).gate
	for _, raw := range []string{
		"http://a.test/", "https://a.test/", "http://a.test:443/", "https://a.test:80/", "http://[::1]/", "https://[2001:db8::1]:8443/x:1",
		"http://192.0.2.7/", "https://" + strings.Repeat("a.", 120) + "test/",
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		h := g.host(u)
		if g.hosts[u.Host()] != h || g.hosts.find(u) != h || len(g.hosts) == 0 {
			t.Errorf("%s: not under %s", raw, u.Host())
		}
	}
}
