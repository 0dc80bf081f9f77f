package politeness

import (
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Resting returns each host, address and domain with a pause and the end of that pause, so that other processes can be told.
func TestRestingClocks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{PerDomain: true})
		b.send(b.mustAt("https://a.one.test/", "192.0.2.1"), 0, Reply{Status: 200})
		time.Sleep(time.Minute)
		b.send(b.mustAt("https://a.two.test/", "192.0.2.2"), 0, Reply{Status: 503, Header: http.Header{"Retry-After": {"100"}}})
		time.Sleep(500 * time.Millisecond)
		d := b.gate.Host("a.two.test:443").Delay - 500*time.Millisecond
		want := map[Rest]time.Duration{
			{Host: "a.two.test:443"}:                 99500 * time.Millisecond,
			{Addr: netip.MustParseAddr("192.0.2.2")}: d,
			{Domain: "two.test"}:                     d,
		}
		for _, r := range b.gate.Resting() {
			until := time.Until(r.Until)
			r.Until = time.Time{}
			if until != want[r] {
				t.Errorf("%+v rests for %v, want %v", r, until, want[r])
			}
			delete(want, r)
		}
		if len(want) > 0 {
			t.Errorf("not told: %v", want)
		}
	})
}
