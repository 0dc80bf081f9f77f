package politeness

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// TestSlow lengthens the delays of some hosts while they are crawled. The new delay of a host applies at once, and no other host's delay
// changes.
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
	for _, key := range []string{"", "a.test:", "http://a.test:80", "A.test:80", "A.test", "a.test:80/x", "a.test/", "::1"} {
		if err := g.Slow(key, time.Minute); err == nil || !strings.Contains(err.Error(), "is neither host:port nor a host") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestSlowNameHoldsAllPorts lengthens the delay of a host by its name alone. All of its ports wait, whether known or new, even if the name
// is an address. A port with a longer delay keeps that delay, and no other host waits.
func TestSlowNameHoldsAllPorts(t *testing.T) {
	for _, c := range []struct{ name, addr, entry, other string }{
		{"www.a.test", "198.51.100.1", "www.a.test", "http://a.test:8080/"},
		{"www.below.test", "198.51.100.1", "www.below.test", "http://z.below.test:8080/"},
		{"127.0.0.1", "127.0.0.1", "127.0.0.1:*", "http://localhost:8080/"},
		{"[::1]", "::1", "[::1]", "http://localhost:8080/"},
	} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{HostDelays: []HostDelay{
				{c.name + ":9000", 20 * time.Second}, {c.name + ":9001", 3 * time.Second}, {"*.below.test", 2 * time.Second}, {"192.0.2.0/24", 2 * time.Second},
			}})
			for _, port := range []string{"80", "8080", "9000", "9001"} {
				b.send(b.mustAt("http://"+c.name+":"+port+"/", c.addr), 0, Reply{Status: 404})
				time.Sleep(time.Minute)
			}
			b.send(b.mustAt(c.other, c.addr), 0, Reply{Status: 404})
			before := b.gate.Host(mustURL(t, c.other).Host())
			time.Sleep(10 * time.Second)
			b.send(b.mustAt("http://"+c.name+":8080/", c.addr), 0, Reply{Status: 404})
			if err := b.gate.Slow(c.name, 500*time.Millisecond); err == nil || !strings.Contains(err.Error(), "can only be lengthened") {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, d := range []time.Duration{15 * time.Second, 17 * time.Second} {
				if err := b.gate.Slow(c.name, d); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				for port, want := range map[string]time.Duration{"80": d, "443": d, "8080": d, "9001": d, "65535": d, "9000": 20 * time.Second} {
					info := b.gate.Host(c.name + ":" + port)
					if info.Delay != want || info.Clause != ledger.ClauseHostDelay || want == d && info.Entry != c.entry {
						t.Errorf("%s:%s after %v: %+v", c.name, port, d, info)
					}
				}
			}
			if info := b.gate.Host(c.name + ":8080"); !info.NotBefore.After(time.Now().Add(2 * time.Second)) {
				t.Errorf("%s:8080 may be requested in %v", c.name, time.Until(info.NotBefore))
			}
			if info := b.gate.Host(mustURL(t, c.other).Host()); info.Delay != before.Delay || info.Entry != before.Entry {
				t.Errorf("the other host: %+v, before: %+v", info, before)
			}
			for _, port := range []string{"", ":8080"} {
				if err := b.gate.Slow(c.name+port, 16*time.Second); err == nil || !strings.Contains(err.Error(), "can only be lengthened") {
					t.Errorf("%s%s was shortened: %v", c.name, port, err)
				}
			}
			if err := b.gate.Slow(c.name+":8080", 30*time.Second); err != nil || b.gate.Host(c.name+":8080").Delay != 30*time.Second || b.gate.Host(c.name+":80").Delay != 17*time.Second {
				t.Errorf("one port of %s: %v", c.name, err)
			}
		})
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
