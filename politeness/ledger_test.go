package politeness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/weburl"
)

// TestLedgerLinesAreAsEncodingJSONWritesThem holds the encoder to encoding/json for any Entry.
func TestLedgerLinesAreAsEncodingJSONWritesThem(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Just("<a href=\"x\">&\u2028\u2029\\\x7f\x00\b\f\n\r\t"))
	instants := rapid.Custom(func(t *rapid.T) time.Time {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return rapid.SampledFrom([]time.Time{
			{}, time.Unix(rapid.Int64Range(-1<<33, 1<<35).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(zone),
		}).Draw(t, "time")
	})
	clauses := rapid.Custom(func(t *rapid.T) Clause {
		return Clause{text.Draw(t, "clause"), instants.Draw(t, "until"), Duration(rapid.Int64().Draw(t, "delay"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{
			Event: text.Draw(t, "event"), Run: text.Draw(t, "run"), ID: rapid.Uint64().Draw(t, "id"), URL: text.Draw(t, "url"), For: text.Draw(t, "for"),
			Host: text.Draw(t, "host"), Domain: text.Draw(t, "domain"), Addr: text.Draw(t, "addr"), Purpose: text.Draw(t, "purpose"), Attempt: rapid.Int().Draw(t, "attempt"),
			Agent: text.Draw(t, "agent"), Queued: instants.Draw(t, "queued"), Allowed: instants.Draw(t, "allowed"), Written: instants.Draw(t, "written"),
			Clauses: rapid.SliceOfN(clauses, 0, 3).Draw(t, "clauses"), Override: text.Draw(t, "override"), FirstByte: instants.Draw(t, "first"),
			Ended: instants.Draw(t, "ended"), Status: rapid.Int().Draw(t, "status"), Bytes: rapid.Int64().Draw(t, "bytes"), Err: text.Draw(t, "error"),
			Truncated: text.Draw(t, "truncated"), RetryAfter: text.Draw(t, "retry"), Date: text.Draw(t, "date"), Location: text.Draw(t, "location"), SHA256: text.Draw(t, "sha"),
			Reported: instants.Draw(t, "reported"), Took: Duration(rapid.Int64().Draw(t, "took")), Aborted: rapid.Bool().Draw(t, "aborted"), Expires: instants.Draw(t, "expires"),
			Through: rapid.Uint64().Draw(t, "through"),
			Timeout: rapid.Bool().Draw(t, "timeout"), Behind: Duration(rapid.Int64().Draw(t, "behind")),
		}
		want, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.append(nil); !bytes.Equal(got, micros(want)) {
			t.Fatalf("got  %s\nwant %s", got, micros(want))
		}
	})
}

var times = regexp.MustCompile(`"(queued|allowed|written|until|first_byte|ended|reported|expires)":"([-0-9]+T[^"]*)"`)

// micros is a line with six digits of each fraction of a second, which every reader takes for a time, rounded up:
// so the order of what happened stays, and no pause that is counted from a line is over too soon.
// Hidden characters are escaped.
func micros(line []byte) []byte {
	return times.ReplaceAllFunc(hidden.Escape(line), func(b []byte) []byte {
		m := times.FindSubmatch(b)
		at, err := time.Parse(time.RFC3339Nano, string(m[2]))
		if err != nil {
			panic(err)
		}
		return fmt.Appendf(nil, "%q:%q", m[1], at.Add(999*time.Nanosecond).Format("2006-01-02T15:04:05.000000Z07:00"))
	})
}

// What the ledger has of a request is what the Gate goes by: the next whole microsecond.
func TestP9TheGateGoesByTheLedgersTimes(t *testing.T) {
	in(t, func(t *testing.T) {
		time.Sleep(time.Second + 700*time.Nanosecond)
		var out lines
		b := open(t, Config{Ledger: &out})
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
		var start, end Entry
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

func TestEveryFieldOfAnEntryIsWritten(t *testing.T) {
	in(t, func(t *testing.T) {
		now := time.Now()
		e := Entry{
			"end", "r", 1, "u", "f", "h", "d", "a", "p", 2, "g", now, now, now, []Clause{{"c", now, 3}}, "o", 7, now, now, now, 6, 4, 5, "e", true, "t", true, "ra", "d", "l", "s", now, 8,
		} // a new field does not compile here until it has a place
		want, _ := json.Marshal(&e)
		if got := e.append(nil); !bytes.Equal(got, micros(want)) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestP10TheLedgerSaysHowFarItIsComplete, so that whoever takes lines out of it is found out: when no Permit is without a
// line, and not before. A failed Write, and a Permit that nobody reports, leave one.
func TestP10TheLedgerSaysHowFarItIsComplete(t *testing.T) {
	through := func(t *testing.T, ledger string) (all []uint64) {
		t.Helper()
		for line := range strings.Lines(ledger) {
			var e Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Event != "start" {
				all = append(all, e.Through)
			}
		}
		return all
	}
	in(t, func(t *testing.T) {
		var out bytes.Buffer
		b := open(t, Config{Ledger: &out, OwnHosts: func(string) int { return 3 }})
		send := func(p Permit) { b.send(p, 0, Reply{Status: 200}) }
		send(b.must("https://a.test/robots.txt"))           // 1
		one := b.must("https://a.test/robots.txt")          // 2
		send(b.must("https://a.test/robots.txt"))           // 3
		b.gate.Report(one, Reply{Err: errors.New("reset")}) // unsent
		time.Sleep(time.Minute)
		send(b.must("https://a.test/robots.txt")) // 4
		b.must("https://a.test/robots.txt")       // 5, which nobody reports
		time.Sleep(time.Minute)
		send(b.must("https://a.test/robots.txt")) // 6
		if got, want := through(t, out.String()), []uint64{1, 0, 0, 4, 0}; !slices.Equal(got, want) {
			t.Errorf("complete up to %v, want %v", got, want)
		}

		before := out.String()
		out.Reset()
		r := open(t, Config{Ledger: &out})
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
	in(t, func(t *testing.T) {
		w := &faulty{}
		b := open(t, Config{Ledger: w})
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
		b.gate.Report(p, Reply{Aborted: true}) // this is its line
		time.Sleep(time.Minute)
		b.send(b.must("https://a.test/robots.txt"), 0, Reply{Status: 200})
		if got, want := through(t, w.String()), []uint64{1, 0, 3}; !slices.Equal(got, want) {
			t.Errorf("complete up to %v, want %v", got, want)
		}
	})
}

// faulty is a ledger's writer that can fail.
type faulty struct {
	bytes.Buffer
	fail bool
}

func (f *faulty) Write(b []byte) (int, error) {
	if f.fail {
		return 0, errors.New("disk full")
	}
	return f.Buffer.Write(b)
}

func TestATimeThatJSONCannotWriteIsLeftOut(t *testing.T) {
	e := Entry{Event: "end", Ended: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got := string(e.append(nil)); strings.Contains(got, "ended") || !json.Valid([]byte(got)) {
		t.Error(got)
	}
}

// lines counts Writes.
type lines struct {
	strings.Builder
	writes int
	err    error
}

func (l *lines) Write(b []byte) (int, error) {
	l.writes++
	if l.err != nil {
		return 0, l.err
	}
	return l.Builder.Write(b)
}

func TestP10ALineIsOneWriteAndComesBeforeTheRequest(t *testing.T) {
	in(t, func(t *testing.T) {
		var out lines
		b := open(t, Config{Ledger: &out})
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
		var start, end Entry
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
	in(t, func(t *testing.T) {
		out := lines{err: errors.New("disk full")}
		b := open(t, Config{Ledger: &out})
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
	p := &permit{gate: g, id: 1234567, began: now, url: u, wanted: u, addr: someAddr, queued: now, allowed: now, clauses: []Clause{
		{ClauseCrawlDelay, now, Duration(10 * time.Second)}, {ClauseAddress, now, Duration(10 * time.Second)},
	}}
	p.started.Store(true)
	r := Reply{Status: 200, FirstByte: now, Ended: now, WireBytes: 12345, Header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.begin(p, now); err != nil {
			b.Fatal(err)
		}
		g.end(now, p, r, answer{})
	}
}
