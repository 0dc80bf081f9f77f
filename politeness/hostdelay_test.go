package politeness

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestHostDelays(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{HostDelays: []HostDelay{
			{"www.a.test:443", 3 * time.Second}, {"www.a.test", 0}, {"*.a.test", 20 * time.Second}, {"192.0.2.0/24", 9 * time.Second},
		}})
		for _, c := range []struct {
			url, addr string
			delay     time.Duration
			clause    string
			entry     string
		}{
			{"https://www.a.test/", "198.51.100.1", 3 * time.Second, ledger.ClauseHostDelay, "www.a.test:443"},
			{"http://www.a.test/", "198.51.100.2", DefaultDelay, ledger.ClauseDelay, "www.a.test"}, // the exact host has precedence over *.a.test
			{"http://x.a.test/", "192.0.2.9", 20 * time.Second, ledger.ClauseHostDelay, "*.a.test"},
			{"http://a.test/", "198.51.100.3", 20 * time.Second, ledger.ClauseHostDelay, "*.a.test"},
			{"http://c.test/", "192.0.2.7", 9 * time.Second, ledger.ClauseHostDelay, "192.0.2.0/24"},
			{"http://d.test/", "::ffff:192.0.2.8", 9 * time.Second, ledger.ClauseHostDelay, "192.0.2.0/24"},
			{"http://e.test/", "198.51.100.4", DefaultDelay, ledger.ClauseDelay, ""},
		} {
			p := b.mustAt(c.url, c.addr)
			ready := b.send(p, 0, Reply{Status: 404})
			if time.Until(ready) != c.delay {
				t.Errorf("%s at %s: ready in %v, want %v", c.url, c.addr, time.Until(ready), c.delay)
			}
			if w := b.wait(c.url, netip.MustParseAddr(c.addr)); w.Clauses[0].Name != c.clause && w.Clauses[1].Name != c.clause {
				t.Errorf("%s waits for %v, want %s", c.url, w.Clauses, c.clause)
			}
			if info := b.gate.Host(p.URL().Host()); info.Delay != c.delay || info.Clause != c.clause || info.Entry != c.entry {
				t.Errorf("%s: %+v", c.url, info)
			}
		}
	})
}

// TestAnOwnHostsOwnDelay checks that an entry of HostDelays can shorten the delay of an own host only.
func TestAnOwnHostsOwnDelay(t *testing.T) {
	own := func(host string) int { return map[string]int{"a.own.test:80": 1}[host] }
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: 5 * time.Second, OwnHosts: own, HostDelays: []HostDelay{{"*.own.test", 20 * time.Millisecond}}})
		for url, want := range map[string]time.Duration{"http://a.own.test/": 20 * time.Millisecond, "http://b.own.test/": 5 * time.Second} {
			if ready := b.send(b.patient(url, "192.0.2.1"), 0, Reply{Status: 404}); time.Until(ready) != want {
				t.Errorf("%s: ready in %v, want %v", url, time.Until(ready), want)
			}
		}
	})
	for match, want := range map[string]string{
		"b.own.test:80": "HostDelays[0] (b.own.test:80): Delay is 20ms, which would shorten the delay of 1s: that is only for hosts of your own",
		"a.own.test:80": "", "*.own.test": "", "a.own.test": "", "192.0.2.0/24": "",
	} {
		err := Config{Identity: identity(), OwnHosts: own, HostDelays: []HostDelay{{match, 20 * time.Millisecond}}}.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", match, err)
		}
	}
}

func TestInvalidHostDelays(t *testing.T) {
	for want, all := range map[string][]HostDelay{
		"HostDelays[0] (a.test): Delay is 20ms, which would shorten the delay of 1s":                 {{"a.test", 20 * time.Millisecond}},
		"HostDelays[0] (a.test): Delay is 0s, which would shorten the delay of 1s":                   {{"a.test", NoDelay}},
		"HostDelays[1] (a.test): Delay is -2ns: must not be negative":                                {{"b.test", 0}, {"a.test", -2}},
		`HostDelays[1] (www.a.test): never holds, because "*.a.test" comes before it`:                {{"*.a.test", 0}, {"www.a.test", 0}},
		`HostDelays[1] (a.test): a name must come before all ranges of addresses`:                    {{"192.0.2.0/24", 0}, {"a.test", 0}},
		`HostDelays[0] (http://a.test/): want a host such as www.site.test or www.site.test:8080, a`: {{"http://a.test/", 0}},
	} {
		if err := (Config{Identity: identity(), HostDelays: all}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", all, err, want)
		}
	}
}

// TestAnAddressMetLaterBringsItsDelay checks that the pause between two requests of a host at different addresses is the longer delay of
// the two addresses, even after a restart with other entries.
func TestAnAddressMetLaterBringsItsDelay(t *testing.T) {
	slow := Config{HostDelays: []HostDelay{{"192.0.2.0/24", 30 * time.Second}}}
	within, outside := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")
	inBubble(t, func(t *testing.T) {
		b := newClient(t, slow)
		b.send(b.mustAt("https://a.test/", outside.String()), 0, Reply{Status: 404})
		time.Sleep(2 * time.Second)
		if w := b.wait("https://a.test/", within); time.Until(w.Until) != 28*time.Second {
			t.Errorf("moved into the range: %v", w)
		}
		p := b.patient("https://a.test/", within.String())
		_, _ = b.admit("https://a.test/", outside) // the host is seen at another address while p is in use
		if ready := b.send(p, 0, Reply{Status: 200}); time.Until(ready) != 30*time.Second {
			t.Errorf("moved out of the range: ready in %v", time.Until(ready))
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "")
		r := b.restored(slow)
		time.Sleep(5 * time.Second)
		if w := r.wait("https://a.test/", within); time.Until(w.Until) != 25*time.Second {
			t.Errorf("after a restart: %v", w)
		}
	})
}

// TestHostWaitsOneDelayAfterAKill: after a restart, each host waits for one delay, because the killed process may have been connecting to
// it.
func TestHostWaitsOneDelayAfterAKill(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{HostDelays: []HostDelay{{"a.test", 30 * time.Second}}})
		if err := b.gate.Replay(strings.NewReader(""), nil); err != nil {
			t.Fatal(err)
		}
		for url, want := range map[string]time.Duration{"https://a.test/": 30 * time.Second, "https://b.test/": DefaultDelay} {
			if w := b.wait(url, someAddr); time.Until(w.Until) != want || w.Clauses[0].Name != ledger.ClauseRestart {
				t.Errorf("%s: %v", url, w)
			}
		}
	})
}

func TestTheDelayOfAnEntryIsPredicted(t *testing.T) {
	c := Config{Delay: 2 * time.Second, HostDelays: []HostDelay{{"a.test", 5 * time.Second}}}
	if d, clause := c.DelayFor(c.HostState("a.test:443", nil)); d != 5*time.Second || clause != ledger.ClauseHostDelay {
		t.Error(d, clause)
	}
	if d, clause := c.DelayFor(c.HostState("b.test:443", nil)); d != 2*time.Second || clause != ledger.ClauseDelay {
		t.Error(d, clause)
	}
}

// TestADelayByAddressAfterATakeover: just before the takeover, the host may have been requested at an address that becomes known only
// later. The delay of that address is kept.
func TestADelayByAddressAfterATakeover(t *testing.T) {
	c := Config{HostDelays: []HostDelay{{"192.0.2.0/24", 30 * time.Second}}}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, c)
		b.send(b.mustAt("https://a.test/", "198.51.100.1"), 0, Reply{Status: 404})
		time.Sleep(time.Hour)
		c.Identity, c.Snapshot = identity(), b.gate.Snapshot()
		r := newClient(t, c)
		if err := r.gate.TakeOver(0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if w := r.wait("https://a.test/", someAddr); time.Until(w.Until) != 28*time.Second {
			t.Error(w)
		}
	})
}
