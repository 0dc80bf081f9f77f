package politeness

import (
	"bytes"
	"testing"
	"time"
)

const openFile = "User-agent: *\nAllow: /\n"

// TestP8RobotsBehindAWallIsUnreachable: if robots.txt is answered with status 202, or with a challenge of any status, no page may be
// requested, whatever the body says.
func TestP8RobotsBehindAWallIsUnreachable(t *testing.T) {
	for name, r := range map[string]Reply{
		"202":            {Status: 202, Body: []byte(openFile)},
		"200, challenge": {Status: 200, Body: []byte(openFile), Wall: "Anubis"},
		"403, challenge": {Status: 403, Wall: "Cloudflare"},
		"404, challenge": {Status: 404, Wall: "Imperva"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var record bytes.Buffer
				b := newClient(t, Config{Ledger: &record})
				b.answerAt("https://a.test/", "192.0.2.1", r)
				if info := b.gate.Origin(b.url("https://a.test/")); info.Known || !info.Unreachable {
					t.Errorf("what is known: %+v", info)
				}
				time.Sleep(time.Second)
				for _, gate := range []*client{b, b.restored(Config{}), replayed(t, Config{}, record.String(), nil)} {
					if p := gate.patient("https://a.test/", "192.0.2.1"); p.Purpose() != Robots {
						t.Errorf("a permit for %s", p.URL())
					}
				}
			})
		})
	}
}

// TestP8OldCopyAppliesBehindAWall: a bot wall in front of robots.txt does not change the rules already known.
func TestP8OldCopyAppliesBehindAWall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\n")
		time.Sleep(25 * time.Hour)
		b.answerAt("https://a.test/", "192.0.2.1", Reply{Status: 200, Body: []byte(openFile), Wall: "Anubis"})
		time.Sleep(900 * time.Millisecond)
		b.denied("https://a.test/no")
	})
}

// TestP5WallsLengthenThePauseAndEndTheHost: a challenge counts as a failure of the host, whatever its status. After five challenges in a
// row the host is given up, even by a process that starts later.
func TestP5WallsLengthenThePauseAndEndTheHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var record bytes.Buffer
		b := newClient(t, Config{Ledger: &record})
		b.ready("https://a.test/", openFile)
		wall := Reply{Status: 200, Wall: "DataDome"}
		for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			if ready := b.send(b.patient("https://a.test/", "192.0.2.1"), 0, wall); time.Until(ready) != wait {
				t.Errorf("wall %d: the host rests %v, want %v", i+1, time.Until(ready), wait)
			}
		}
		b.page("https://a.test/", "192.0.2.1", Reply{Status: 200})
		for range 4 {
			b.page("https://a.test/", "192.0.2.1", wall)
		}
		snapshot := b.gate.Snapshot()
		b.page("https://a.test/", "192.0.2.1", wall)
		bodies := func(string) ([]byte, error) { return []byte(openFile), nil }
		half := newClient(t, Config{Snapshot: snapshot})
		half.page("https://a.test/", "192.0.2.1", wall)
		for name, gate := range map[string]*client{
			"the gate": b, "its snapshot": b.restored(Config{}), "its ledger": replayed(t, Config{}, record.String(), bodies), "a snapshot of four": half,
		} {
			d := gate.denied("https://a.test/other")
			if d.Reason != ReasonChallenge || !d.Deferred() {
				t.Errorf("%s: %+v", name, d)
			}
		}
		b.gate.Forgive()
		if p := b.patient("https://a.test/", "192.0.2.1"); p.Purpose() != Page {
			t.Errorf("forgiven: a permit for %s", p.URL())
		}
	})
}

// TestWallsAreNotForgotten: a host with fewer challenges is kept in memory. Its robots.txt, which many walls let through, does not reset
// the number of challenges.
func TestWallsAreNotForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxBackoff: time.Second})
		b.ready("https://a.test/", openFile)
		wall := func() {
			u := b.url("https://a.test/")
			p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr, Attempt: 1}) // does not count towards another limit
			if err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 202, Wall: "AWS WAF"})))
		}
		for range 4 {
			wall()
		}
		time.Sleep(25 * time.Hour)
		b.rules("https://a.test/", openFile) // ends the back-off, but does not reset the number of challenges
		time.Sleep(25 * time.Hour)
		b.gate.idle.at = 0
		b.ready("https://a.test/", openFile)
		wall()
		if d := b.denied("https://a.test/"); d.Reason != ReasonChallenge {
			t.Errorf("after the fifth wall: %+v", d)
		}
	})
}
