package politeness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// The Gate uses the times in the ledger, which are rounded up to whole microseconds.
func TestP9TheGateUsesTheLedgersTimes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		time.Sleep(time.Second + 700*time.Nanosecond)
		var out lines
		b := newClient(t, Config{Ledger: &out})
		began := time.Now()
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Millisecond + 400*time.Nanosecond)
		ended := time.Now()
		ready := b.gate.Report(p, Reply{Status: 404, Ended: ended})
		all := strings.Split(out.String(), "\n")
		var start, end ledger.Entry
		if err := errors.Join(json.Unmarshal([]byte(all[0]), &start), json.Unmarshal([]byte(all[1]), &end)); err != nil {
			t.Fatal(err)
		}
		if d := start.Written.Sub(began); d < 0 || d >= time.Microsecond {
			t.Errorf("written %v, in the ledger %v", began, start.Written)
		}
		if d := end.Ended.Sub(ended); d < 0 || d >= time.Microsecond {
			t.Errorf("ended %v, in the ledger %v", ended, end.Ended)
		}
		if want := end.Ended.Add(DefaultDelay); !ready.Equal(want) {
			t.Errorf("ready %v, by the ledger %v", ready, want)
		}
	})
}

// TestP10TheLedgerSaysHowFarItIsComplete checks that the ledger states up to which Permit it has all lines, so that missing lines are
// noticed. A Write that fails and a Permit that is never reported leave a gap.
func TestP10TheLedgerSaysHowFarItIsComplete(t *testing.T) {
	through := func(t *testing.T, all string) (ids []uint64) {
		t.Helper()
		for line := range strings.Lines(all) {
			var e ledger.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Event != "start" {
				ids = append(ids, e.Through)
			}
		}
		return ids
	}
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out, OwnHosts: func(string) int { return 3 }})
		send := func(p Permit) { b.send(p, 0, Reply{Status: 200}) }
		send(b.must("https://a.test/robots.txt"))           // 1
		one := b.must("https://a.test/robots.txt")          // 2
		send(b.must("https://a.test/robots.txt"))           // 3
		b.gate.Report(one, Reply{Err: errors.New("reset")}) // not sent
		time.Sleep(time.Minute)
		send(b.must("https://a.test/robots.txt")) // 4
		b.must("https://a.test/robots.txt")       // 5, never reported
		time.Sleep(time.Minute)
		send(b.must("https://a.test/robots.txt")) // 6
		if got, want := through(t, out.String()), []uint64{1, 0, 0, 4, 0}; !slices.Equal(got, want) {
			t.Errorf("complete up to %v, want %v", got, want)
		}

		before := out.String()
		out.Reset()
		r := newClient(t, Config{Ledger: &out})
		if err := r.gate.Replay(strings.NewReader(before), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		p := r.must("https://a.test/robots.txt")
		r.send(p, 0, Reply{Status: 200})
		if got := through(t, out.String()); p.ID() != 1 || !slices.Equal(got, []uint64{1}) {
			t.Errorf("the next process begins with Permit %d, complete up to %v", p.ID(), got)
		}
	})
	inBubble(t, func(t *testing.T) {
		w := &faulty{}
		b := newClient(t, Config{Ledger: w})
		b.send(b.must("https://a.test/robots.txt"), 0, Reply{Status: 200})
		time.Sleep(time.Minute)
		w.fail = true
		p := b.must("https://a.test/robots.txt")
		g, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Begin(); err == nil {
			t.Error("it begins without its line")
		}
		w.fail = false
		b.gate.Report(p, Reply{Aborted: true}) // adds the line of p
		time.Sleep(time.Minute)
		b.send(b.must("https://a.test/robots.txt"), 0, Reply{Status: 200})
		if got, want := through(t, w.String()), []uint64{1, 0, 3}; !slices.Equal(got, want) {
			t.Errorf("complete up to %v, want %v", got, want)
		}
	})
}

func TestP10ALineIsOneWriteAndComesBeforeTheRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out lines
		b := newClient(t, Config{Ledger: &out})
		p := b.must("https://a.test/?a=1&b=<2>")
		g, _ := p.Redeem()
		if out.writes != 0 {
			t.Error("written before Begin")
		}
		if err := g.Begin(); err != nil || out.writes != 1 {
			t.Fatalf("%d writes, %v", out.writes, err)
		}
		b.gate.Report(p, Reply{Status: 503, Header: http.Header{"Retry-After": {"4", "9"}, "Date": {"Mon, 05 Jan 2026 10:00:00 GMT"}}})
		b.gate.Report(p, Reply{Status: 200})
		all := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.writes != 2 || len(all) != 2 {
			t.Fatalf("%d writes of\n%s", out.writes, out.String())
		}
		var start, end ledger.Entry
		if err := errors.Join(json.Unmarshal([]byte(all[0]), &start), json.Unmarshal([]byte(all[1]), &end)); err != nil {
			t.Fatal(err)
		}
		if start.For != "https://a.test/?a=1&b=%3C2%3E" || start.Host != "a.test:443" || start.Purpose != "robots" || start.Agent != b.gate.UserAgent() {
			t.Errorf("start line %+v", start)
		}
		if end.RetryAfter != "9" || end.Date == "" || end.ID != start.ID || end.Run != start.Run || end.SHA256 == "" {
			t.Errorf("end line %+v", end)
		}
	})
}

func TestP10WhatCannotBeRecordedIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		out := lines{err: errors.New("disk full")}
		b := newClient(t, Config{Ledger: &out})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); !errors.Is(err, out.err) || g.Begun() {
			t.Errorf("Begin: %v", err)
		}
		out.err = nil
		if err := g.Begin(); !errors.Is(err, ErrUsed) {
			t.Errorf("Begin again: %v", err)
		}
		b.gate.Report(p, Reply{Aborted: true})
		if !strings.HasPrefix(out.String(), `{"event":"unsent"`) {
			t.Errorf("an end line without its start: %s", out.String())
		}
	})
}

func TestP10ALineWrittenInPartEndsAllRequests(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		out := &short{}
		b := newClient(t, Config{Ledger: out})
		for _, raw := range []string{"https://a.test/", "https://b.test/"} {
			p, err := b.admit(raw, addrOf(len(raw)+out.n))
			if err != nil {
				t.Fatal(err)
			}
			g, _ := p.Redeem()
			if err := g.Begin(); !errors.Is(err, io.ErrShortWrite) || g.Begun() {
				t.Errorf("%s: %v", raw, err)
			}
		}
		if out.n != 1 {
			t.Errorf("%d lines written, the first one in part", out.n)
		}
	})
}

// TestP9NothingIsRequestedAfterAnEndThatIsNotRecorded: if the end of a request cannot be recorded, no further request is made, because the
// next process would not know about the pause.
func TestP9NothingIsRequestedAfterAnEndThatIsNotRecorded(t *testing.T) {
	full := errors.New("disk full")
	for _, end := range []func(b *client, out *lines, p Permit){
		func(b *client, out *lines, p Permit) {
			out.err = full
			b.gate.Report(p, Reply{Err: errors.New("refused")})
		},
		func(b *client, out *lines, p Permit) {
			g, _ := p.Redeem()
			_ = g.Begin()
			out.err = full
			b.gate.Report(p, Reply{Status: 503, Header: map[string][]string{"Retry-After": {"200"}}})
		},
		func(b *client, out *lines, _ Permit) {
			out.err = full
			b.gate.Failed(b.url("https://c.test/"), b.url("https://c.test/robots.txt"), errors.New("no such host"))
		},
	} {
		inBubble(t, func(t *testing.T) {
			out := &lines{}
			b := newClient(t, Config{Ledger: out})
			end(b, out, b.must("https://a.test/"))
			out.err = nil
			g, err := b.mustAt("https://b.test/", "192.0.2.9").Redeem()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Begin(); !errors.Is(err, full) {
				t.Errorf("Begin: %v", err)
			}
		})
	}
}

// The ledger omits user and password from a Location field. It records the target without them, or that the field is invalid.
func TestALocationsPasswordIsNotInTheLedger(t *testing.T) {
	for location, want := range map[string]string{
		"http://user:secret@b.test/x":      `"location":"http://*****@b.test/x"`,
		"//user:secret@b.test/x":           `"location":"//*****@b.test/x"`,
		"\t http:\\\\us\ter:secret@b.test": `*****@b.test`,
		"http:user:secret@b.test/":         `"location":"http:*****@b.test/"`,
		"/@user":                           `"location":"/@user"`,
		"https://b.test/@user?x=a@b#c@d":   `"location":"https://b.test/@user?x=a@b#c@d"`,
		"a:b@c":                            `"location":"a:*****@c"`,
	} {
		inBubble(t, func(t *testing.T) {
			var out strings.Builder
			b := newClient(t, Config{Ledger: &out})
			b.send(b.must("https://a.test/"), 0, Reply{Status: 301, Header: http.Header{"Location": {location}}})
			if all := out.String(); strings.Contains(all, "secret") || !strings.Contains(all, want) {
				t.Errorf("%q: want %s\n%s", location, want, all)
			}
		})
	}
}

func BenchmarkLedger(b *testing.B) {
	g, err := NewGate(Config{Identity: identity(), Ledger: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	u, err := weburl.Parse("https://www.some-university.edu/department/of/computing?page=7&sort=name")
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	p := &permit{gate: g, id: 1234567, began: now, url: u, wanted: u, addr: someAddr, queued: now, allowed: now, clauses: []ledger.Clause{
		{Name: ledger.ClauseCrawlDelay, Until: now, Delay: ledger.Duration(10 * time.Second)}, {Name: ledger.ClauseAddress, Until: now, Delay: ledger.Duration(10 * time.Second)},
	}}
	p.started.Store(true)
	r := Reply{Status: 200, FirstByte: now, Ended: now, WireBytes: 12345, Header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.journal.begin(now, p, nil); err != nil {
			b.Fatal(err)
		}
		g.journal.end(now, p, r, answer{})
	}
}
