package politeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// past holds what a process leaves for the next one: ledger, snapshot and robots.txt bodies.
type past struct {
	ledger   bytes.Buffer
	bodies   map[string][]byte
	snapshot []byte
}

func (l *past) body(sha string) ([]byte, error) {
	if b, ok := l.bodies[sha]; ok {
		return b, nil
	}
	return nil, errors.New("not kept")
}

// process returns the client of a process that continues from l and writes to l's ledger.
func (l *past) process(t *testing.T, c Config) *client {
	c.Ledger, c.LedgerSize, c.Snapshot = &l.ledger, int64(l.ledger.Len()), l.snapshot
	before := strings.NewReader(l.ledger.String())
	b := newClient(t, c)
	if l.ledger.Len() > 0 {
		if err := b.gate.Replay(before, l.body); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// keep fetches a robots.txt and stores its body.
func (l *past) keep(b *client, raw, body string) {
	sum := sha256.Sum256([]byte(body))
	if l.bodies == nil {
		l.bodies = map[string][]byte{}
	}
	l.bodies[hex.EncodeToString(sum[:])] = []byte(body)
	b.ready(raw, body)
}

// TestALedgerOfTheFutureStallsNothing resumes a crawl whose ledger and snapshot have times a year ahead. Each old pause is kept once more
// in full, but no host waits longer than that.
func TestALedgerOfTheFutureStallsNothing(t *testing.T) {
	const year = 365 * 24 * time.Hour
	retry := Reply{Status: 429, Header: http.Header{"Retry-After": {"100"}}}
	for _, snapshot := range []string{"none", "old", "new", "alone"} {
		t.Run(snapshot, func(t *testing.T) {
			var l past
			c := Config{Rate: 0.5}
			inBubble(t, func(t *testing.T) {
				time.Sleep(year)
				b := l.process(t, c)
				l.keep(b, "https://delay.test/", "User-agent: *\nCrawl-delay: 7\n")
				if snapshot == "old" {
					l.snapshot = b.gate.Snapshot()
				}
				b.page("https://gone.test/robots.txt", "192.0.2.3", retry)
				b.page("https://down.test/", "192.0.2.2", Reply{Status: 500}) // its robots.txt fails
				b.page("https://down.test/", "192.0.2.2", Reply{Status: 500})
				b.page("https://delay.test/", someAddr.String(), Reply{Status: 200})
				if snapshot == "new" || snapshot == "alone" {
					l.snapshot = b.gate.Snapshot()
				}
				if snapshot == "alone" { // as for a crawl without a ledger
					l.ledger.Reset()
				}
			})
			inBubble(t, func(t *testing.T) {
				begin := time.Now()
				b := l.process(t, c)
				if behind, longest := b.gate.Skew(); behind < year || behind > year+time.Minute || longest != 100*time.Second {
					t.Errorf("the clock is %v behind, and the longest wait %v", behind, longest)
				}
				for _, want := range []struct {
					raw, addr   string
					least, most time.Duration
				}{
					{"https://new.test/", "192.0.2.9", 2 * time.Second, 2 * time.Second},      // the total rate
					{"https://down.test/", "192.0.2.2", 5 * time.Second, 5 * time.Second},     // its robots.txt failed twice
					{"https://delay.test/", "192.0.2.1", 7 * time.Second, 9 * time.Second},    // and up to 2 s more for the total rate
					{"https://gone.test/", "192.0.2.3", 100 * time.Second, 102 * time.Second}, // Retry-After
				} {
					p := b.patient(want.raw, want.addr)
					if p.Purpose() != Robots {
						t.Errorf("%s: a robots.txt of next year is good enough", want.raw)
					}
					if got := time.Since(begin); got < want.least || got > want.most {
						t.Errorf("%s after %v, want %v to %v", want.raw, got, want.least, want.most)
					}
					b.send(p, 0, Reply{Status: 404})
				}
			})
		})
	}
}

// TestALedgerOfTheFutureHidesNoLaterPause lets two processes write a ledger, the first of which has a clock that is a year ahead. The third
// process still knows the pauses that hosts requested from the second one.
func TestALedgerOfTheFutureHidesNoLaterPause(t *testing.T) {
	var l past
	const raw = "https://a.test/robots.txt"
	inBubble(t, func(t *testing.T) {
		time.Sleep(365 * 24 * time.Hour)
		l.process(t, Config{}).page(raw, "192.0.2.1", Reply{Status: 500})
	})
	inBubble(t, func(t *testing.T) {
		b := l.process(t, Config{})
		b.page(raw, "192.0.2.1", Reply{Status: 503, Header: http.Header{"Retry-After": {"200"}}})
		asked := time.Now()
		if now := asked.Unix() - 946684800; now > 60 {
			t.Fatalf("the second process was held up for %d s", now)
		}
		time.Sleep(time.Minute)
		b = l.process(t, Config{})
		if behind, longest := b.gate.Skew(); behind != 0 || longest != 0 {
			t.Errorf("%v behind, the longest wait %v: that was the process before", behind, longest)
		}
		b.patient(raw, "192.0.2.1")
		if got := time.Since(asked); got != 200*time.Second {
			t.Errorf("the next request %v later, want 200 s", got)
		}
	})
}

// TestRulesOfTheFutureAreNotApplied sets the clock back while a Gate is in use: rules with a later time are then not applied.
func TestRulesOfTheFutureAreNotApplied(t *testing.T) {
	b := newClient(t, Config{})
	now := time.Now()
	u := b.url("https://a.test/")
	p, err := b.gate.admit(now, Request{URL: u, Addr: someAddr})
	if err != nil {
		t.Fatal(err)
	}
	b.gate.Report(p, Reply{Status: 404, Ended: now})
	if next := b.gate.next(set(now.Add(time.Minute), -time.Hour), u); next == u {
		t.Error("a robots.txt with a future fetch time allows a page")
	}
	if next := b.gate.next(now.Add(time.Minute), u); next != u {
		t.Errorf("%s comes next", next)
	}
}

// TestTheLedgerSaysThatTheClockIsBehind checks that if a process found times in the future in its ledger, every line that it writes says
// that, and that no other lines say it.
func TestTheLedgerSaysThatTheClockIsBehind(t *testing.T) {
	var l past
	var before int
	inBubble(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		l.process(t, Config{}).page("https://a.test/robots.txt", "192.0.2.1", Reply{Status: 404})
		before = l.ledger.Len()
	})
	inBubble(t, func(t *testing.T) {
		b := l.process(t, Config{})
		u := b.url("https://b.test/")
		b.gate.Failed(u, b.gate.Next(u), errors.New("no such host"))
		b.page("https://a.test/robots.txt", "192.0.2.1", Reply{Status: 404})
		b.gate.Report(b.patient("https://a.test/robots.txt", "192.0.2.1"), Reply{Err: errors.New("refused")})
	})
	behind := 0
	for i, line := range strings.SplitAfter(l.ledger.String(), "\n") {
		if has := strings.Contains(line, `"behind":360`); has != (before <= 0 && line != "" && !strings.Contains(line, `"event":"end"`)) {
			t.Errorf("line %d: %s", i+1, line)
		} else if has {
			behind++
		}
		before -= len(line)
	}
	if behind != 3 {
		t.Errorf("%d lines say so, want 3", behind)
	}
}
