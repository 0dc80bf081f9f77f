package politeness

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestTakeOver continues a crawl on another machine from a snapshot, without the ledger. No pause is cut short, whatever the first Gate has
// requested since the snapshot.
func TestTakeOver(t *testing.T) {
	for name, c := range map[string]struct {
		url, addr string
		want      time.Duration // time from TakeOver to the first request
	}{
		"a host with a Crawl-delay":        {"https://slow.test/2", "192.0.2.7", 30 * time.Second},
		"another host on its address":      {"https://other.test/", "192.0.2.1", 30 * time.Second},
		"a host of which nothing is known": {"https://new.test/", "192.0.2.9", DefaultDelay},
		"a host that has failed twice":     {"https://weak.test/2", "192.0.2.3", 4 * time.Second},
		"a host with a Retry-After":        {"https://busy.test/2", "192.0.2.2", 100*time.Second - 25*time.Second + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				first := newClient(t, Config{})
				known := func(raw, addr string, robots string) {
					p := first.mustAt(raw, addr)
					first.send(p, 0, Reply{Status: 200, Body: []byte(robots)})
				}
				known("https://slow.test/", "192.0.2.1", "User-agent: *\nCrawl-delay: 30\n")
				known("https://busy.test/", "192.0.2.2", "")
				known("https://weak.test/", "192.0.2.3", "")
				time.Sleep(time.Minute)
				for range 2 { // after that, the back-off is 2 s
					first.send(first.mustAt("https://weak.test/", "192.0.2.3"), 0, Reply{Status: 503})
					time.Sleep(10 * time.Second)
				}
				first.send(first.mustAt("https://slow.test/", "192.0.2.1"), 0, Reply{Status: 200})
				first.send(first.mustAt("https://busy.test/", "192.0.2.2"), 0, Reply{Status: 503, Header: http.Header{"Retry-After": {"100"}}})
				time.Sleep(25 * time.Second)
				snapshot := first.gate.Snapshot()
				next := newClient(t, Config{Snapshot: snapshot})
				if err := next.gate.TakeOver(3 * time.Second); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				for {
					_, err := next.admit(c.url, netip.MustParseAddr(c.addr))
					var wait *NotYet
					if !errors.As(err, &wait) {
						break
					}
					time.Sleep(time.Until(wait.Until))
				}
				if got := time.Since(start); got != c.want {
					t.Errorf("admitted %v after the takeover, want %v", got, c.want)
				}
				if err := next.gate.TakeOver(0); !errors.Is(err, ErrReplay) {
					t.Errorf("a second TakeOver: %v", err)
				}
			})
		})
	}
}

// TestNothingIsSentWithoutTheFence checks that Begin asks the fence (a check of the process's lease) just before each request is sent.
func TestNothingIsSentWithoutTheFence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		over := errors.New("over")
		var fence error
		var lines strings.Builder
		b := newClient(t, Config{Ledger: &lines, Fence: func() error { return fence }})
		grant, err := b.must("https://a.test/").Redeem()
		if err != nil {
			t.Fatal(err)
		}
		fence = over
		if err := grant.Begin(); !errors.Is(err, over) || grant.Begun() || lines.Len() > 0 {
			t.Errorf("Begin: %v, begun %v, ledger %q; want the fence's error and nothing sent", err, grant.Begun(), lines.String())
		}
		fence = nil
		if err := grant.Begin(); err != nil {
			t.Errorf("Begin after the fence is back: %v", err)
		}
	})
}
