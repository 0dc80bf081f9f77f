package politeness

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// TestSlow lengthens the delays of single hosts while they are requested: at once, in the place of what held for them, and
// without an effect on others.
func TestSlow(t *testing.T) {
	own := func(host string) int { return map[string]int{"own.test:80": 1}[host] }
	for _, c := range []struct{ url, addr, entry string }{
		{"http://www.a.test/", "198.51.100.1", ""},
		{"http://127.0.0.1:8080/", "127.0.0.1", ""},
		{"http://[::1]:8080/", "::1", ""},
		{"https://named.test/", "198.51.100.2", "named.test:443"},
		{"http://www.below.test/", "198.51.100.3", "*.below.test"},
		{"http://ranged.test/", "192.0.2.9", "192.0.2.0/24"},
		{"http://own.test/", "198.51.100.4", ""},
	} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{OwnHosts: own, HostDelays: []HostDelay{
				{"named.test:443", 2 * time.Second}, {"*.below.test", 2 * time.Second}, {"192.0.2.0/24", 2 * time.Second},
			}})
			key := mustURL(t, c.url).Host()
			other := b.mustAt("http://z.below.test/", "198.51.100.9")
			b.send(other, 0, Reply{Status: 404})
			b.send(b.mustAt(c.url, c.addr), 0, Reply{Status: 404})
			if info := b.gate.Host(key); info.Entry != c.entry {
				t.Fatalf("%s has the entry %q", key, info.Entry)
			}
			for _, d := range []time.Duration{time.Millisecond, 999 * time.Millisecond} {
				if err := b.gate.Slow(key, d); err == nil || !strings.Contains(err.Error(), "can only be lengthened") {
					t.Errorf("%s: %v: %v", key, d, err)
				}
			}
			if err := b.gate.Slow(key, 7*time.Second); err != nil {
				t.Fatal(err)
			}
			info := b.gate.Host(key)
			if info.Delay != 7*time.Second || info.Clause != ledger.ClauseHostDelay || info.Entry != key || time.Until(info.NotBefore) != 7*time.Second {
				t.Errorf("%s: %+v, in %v", key, info, time.Until(info.NotBefore))
			}
			time.Sleep(6 * time.Second)
			if err := b.gate.Slow(key, 6*time.Second); err == nil {
				t.Errorf("%s: shortened", key)
			}
			if err := b.gate.Slow(key, 9*time.Second); err != nil {
				t.Error(err)
			}
			if at := b.gate.Host(key).NotBefore; time.Until(at) != 3*time.Second {
				t.Errorf("%s: may be requested in %v", key, time.Until(at))
			}
			if info := b.gate.Host("z.below.test:80"); info.Delay != 2*time.Second || info.Entry != "*.below.test" {
				t.Errorf("the other host: %+v", info)
			}
			if info := b.gate.Host("named.test:443"); key != "named.test:443" && info.Delay != 2*time.Second {
				t.Errorf("a host not met yet: %+v", info)
			}
		})
	}
	g, err := NewGate(Config{Identity: Identity{Product: "testbot", Version: "1", Contact: "https://lab.university.edu/crawl"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "a.test", "http://a.test:80", "A.test:80", "a.test:80/x"} {
		if err := g.Slow(key, time.Minute); err == nil || !strings.Contains(err.Error(), "is not host:port") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func mustURL(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
