package politeness

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestChangesMakeTheSnapshot checks that the latest value of each name, in all changes so far, makes the snapshot, whenever they are taken.
func TestChangesMakeTheSnapshot(t *testing.T) {
	for seed := range uint64(300) {
		inBubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 17))
			c := randomConfig(rng)
			if rng.IntN(4) == 0 {
				c.MaxRulesBytes = 2000
			}
			b := newClient(t, c)
			if rng.IntN(2) == 0 {
				b.gate.idle = idle{at: 3, min: 3}
			}
			flying, kept := map[uint64]Permit{}, map[string][]byte{}
			for range 1 + rng.IntN(150) {
				switch rng.IntN(12) {
				case 0, 1, 2:
					keep(kept, b.gate.Changes())
				case 3:
					if raw, _ := randomRequest(rng); true {
						b.gate.Failed(b.url(raw), b.gate.Next(b.url(raw)), errors.New("no such host"))
					}
				case 4:
					if rng.IntN(20) == 0 {
						b.gate.Forgive()
					}
				default:
					randomStep(b, rng, flying)
				}
			}
			keep(kept, b.gate.Changes())
			same(t, seed, c, b.gate, kept)
			for name := range kept {
				if key, ok := strings.CutPrefix(name, hostPrefix); ok && b.gate.hosts[key] == nil {
					t.Errorf("seed %d: the changes have %s, which the Gate has forgotten", seed, name)
				}
			}
		})
	}
}

// TestChangesOfARequestUnderWay checks that if a host's delay becomes longer during a request, the pause after this request is longer,
// too.
func TestChangesOfARequestUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, kept := Config{PerDomain: true}, map[string][]byte{}
		b := newClient(t, c)
		b.ready("https://a.test/", "")
		p := b.must("https://a.test/1")
		keep(kept, b.gate.Changes())
		for range 5 {
			b.gate.Failed(p.URL(), p.URL(), errors.New("no such host"))
		}
		keep(kept, b.gate.Changes())
		same(t, 0, c, b.gate, kept)
	})
}

func keep(kept, changes map[string][]byte) {
	for name, value := range changes {
		if kept[name] = value; value == nil {
			delete(kept, name)
		}
	}
}

// same checks that a Gate assembled from stored changes equals one restored from a snapshot. Entries that say no more than a new entry are
// ignored.
func same(t *testing.T, seed uint64, c Config, g *Gate, kept map[string][]byte) {
	t.Helper()
	assembled, err := Assemble(maps.All(kept))
	if err != nil {
		t.Fatal(err)
	}
	parts := func(snapshot []byte) map[string][]byte {
		c.Snapshot = snapshot
		x := newClient(t, c).gate
		for key, h := range x.hosts {
			if h.fresh(&x.cfg, time.Now()) {
				delete(x.hosts, key)
			}
			for i, o := range h.origins {
				if o != nil && *o == (origin{}) {
					h.origins[i] = nil // nothing is known about this origin
				}
			}
		}
		x.pacer.sweep(time.Now(), nil)
		return maps.Collect(x.everything())
	}
	got, want := parts(assembled), parts(g.Snapshot())
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("seed %d: %s is\n%q, want\n%q", seed, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("seed %d: %s should not be there", seed, name)
		}
	}
}

// TestChangesAreOfWhatWasRequested checks that the size of changes depends on the requests and not on the number of hosts, and that changes
// contain each robots.txt only once.
func TestChangesAreOfWhatWasRequested(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for _, raw := range []string{"https://a.test/", "https://b.test/", "https://c.test/"} {
			b.ready(raw, "User-agent: *\nDisallow: /no\n"+strings.Repeat("# long\n", 100))
		}
		if all := b.gate.Changes(); all["h/a.test:443"] == nil || all["h/c.test:443"] == nil || len(all["r/a.test:443"]) < 700 || all[headName] == nil {
			t.Errorf("at first there are only %d", len(all))
		}
		b.send(b.must("https://a.test/1"), 0, Reply{Status: 200})
		size := 0
		for name, value := range b.gate.Changes() {
			if size += len(value); name != headName && name != "h/a.test:443" && !strings.HasPrefix(name, addrPrefix) {
				t.Errorf("%s was not requested", name)
			}
		}
		if size > 700 {
			t.Errorf("%d bytes for one request", size)
		}
		if again := b.gate.Changes(); len(again) != 1 || again[headName] == nil {
			t.Errorf("nothing has changed, and there are %d", len(again))
		}
	})
}

// TestAssembleRefuses checks that Assemble refuses an invalid header, and ignores entries of another version.
func TestAssembleRefuses(t *testing.T) {
	if b, err := Assemble(maps.All(map[string][]byte{"h/a.test:80": {1}})); b != nil || err != nil {
		t.Errorf("without a head: %q, %v", b, err)
	}
	for _, head := range []string{"", "x", "amble-gate", "other-gate\x05"} {
		if _, err := Assemble(maps.All(map[string][]byte{headName: []byte(head)})); !errors.Is(err, errSnapshot) {
			t.Errorf("%q: %v", head, err)
		}
	}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\n")
		all := b.gate.Changes()
		all["h/old.test:443"] = []byte{4, 1, 2}
		delete(all, "r/a.test:443")
		s, err := Assemble(maps.All(all))
		if err != nil {
			t.Fatal(err)
		}
		if o := newClient(t, Config{Snapshot: s}).gate.Origin(b.url("https://a.test/")); o.Known {
			t.Errorf("the rules of a missing file are known: %+v", o)
		}
	})
}
