package ledger

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// usual returns typical entries of a crawl.
func usual() []*Entry {
	at := time.Date(2026, 1, 5, 10, 0, 59, 999999000, time.UTC)
	return []*Entry{
		{Event: Start, Run: "r", ID: 1, URL: "https://site.example/robots.txt", For: "https://site.example/", Host: "site.example:443", Domain: "site.example", Addr: "192.0.2.1", Purpose: "robots", Agent: "a/1", Queued: at, Allowed: at, Written: at},
		{Event: End, Run: "r", ID: 1, FirstByte: at, Ended: at, Reported: at, Took: 1234567, Status: 200, Bytes: 77, SHA256: "ab", Expires: at.Add(24 * time.Hour), Through: 1},
		{Event: Start, Run: "r", ID: 2, URL: "https://site.example/é", Host: "site.example:443", Addr: "192.0.2.1", Purpose: "page", Attempt: 1, Agent: "a/1", Queued: at, Allowed: at, Written: at,
			Clauses: []Clause{{Name: ClauseDelay, Until: at, Delay: Duration(time.Second)}, {Name: ClauseBusy}, {ClauseShared, at, Duration(time.Second), "news"}, {Name: "another", Until: at}}, Signed: "key", Slot: 3},
		{Event: End, Run: "r", ID: 2, Ended: at, Status: 301, Location: "/x", Through: 2},
		{Event: End, Run: "r", ID: 3, Ended: at, Err: "read: reset", Through: 3},
	}
}

// usualLines returns these entries as lines that a Writer writes, and as lines of earlier versions, which had no hash chain.
func usualLines(t testing.TB) (lines [][]byte) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, 0)
	for _, e := range usual() {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e.Append(nil))
	}
	for line := range bytes.Lines(b.Bytes()) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines
}

// TestUsualLinesAreReadInOrder checks that nearly all lines are read on the fast path, which costs half as much.
func TestUsualLinesAreReadInOrder(t *testing.T) {
	var p Parser
	for _, line := range usualLines(t) {
		if e := new(Entry); !(&scanner{b: line, parser: &p}).canonical(e) {
			t.Errorf("%s", line)
		}
	}
}

// TestBothWaysOfReadingAgree mutates lines, and compares the result of the fast path with reading them member by member.
func TestBothWaysOfReadingAgree(t *testing.T) {
	lines := usualLines(t)
	extra := []string{
		"", `"`, `\`, `\"`, `}`, `{`, `,`, `]`, ` `, "0", "-", "1e3", "12345678901234567890", `,"slot":1`, `,"timeout":true`, `,"bytes":5`, `,"other":{"a":["}"]}`, `,"url":"x"`, `,"clauses":[]`, `,"took":0.0000000001`,
		`,"error":"a\"b"`, `,"run":"a\"b"`, `"2026-01-05T10:00:60.000000Z"`, `+01:00`,
	}
	var p Parser
	var got Entry
	rapid.Check(t, func(t *rapid.T) {
		line := bytes.Clone(rapid.SampledFrom(lines).Draw(t, "line"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(line)).Draw(t, "at")
			cut := min(len(line)-at, rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 9, 30}).Draw(t, "cut"))
			if rapid.Bool().Draw(t, "member") { // insert at the beginning of a JSON member
				if n := bytes.IndexByte(line[at:], ','); n >= 0 {
					at, cut = at+n, 0
				}
			}
			line = bytes.Join([][]byte{line[:at], []byte(rapid.SampledFrom(extra).Draw(t, "extra")), line[at+cut:]}, nil)
		}
		agree(t, &p, line, &got)
	})
}

// TestLinesThatLookUsual checks lines with values that begin with a text that the Parser remembers. They are read as they are without a
// Parser: a remembered text never stands for a longer value.
func TestLinesThatLookUsual(t *testing.T) {
	var p Parser
	var got Entry
	for _, line := range []string{
		`{"event":"end","run":"a\"b","id":1}`, `{"event":"end","run":"a"b","id":1}`, `{"event":"end","run":"a","id":1,"error":"x\,"sha256":"y"}`, `{"event":"end","run":"a","id":1,"error":"x\"}`,
		`{"event":"end","run":"","id":1}`, `{"event":"end","run":"a","id":}`, `{"event":"end","run":"a","id":1,"line":1,"chain":"x"}`, `{"event":"end","run":"a","id":1,"line":,"chain":"x"}`, `{"event":"end","run":"a","id":1}}`,
		`{"event":"start","run":"a","id":1,"clauses":[{"clause":"delay"},]}`, `{"event":"start","run":"a","id":1,"clauses":[{"clause":"delay"}`, `{"event":"start","run":"a","id":1,"clauses":[{"clause":"delay","delay":.}]}`,
		`{"event":"end","run":"a","id":1,"status":1234567890123456789}`, `{"event":"end","run":"a","id":1,"status":99999999999999999999}`, `{"event":"end","run":"a","id":1,"ended":"2026-01-05T10:00:60.000000Z"}`,
	} {
		agree(t, &p, []byte(line), &got)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range usualLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p, got := new(Parser), new(Entry)
		for range 2 { // with an empty Parser, and with one that remembers all texts
			agree(t, p, line, got)
		}
	})
}

// agree checks that reading a line with and without a Parser gives the same result.
func agree(t interface {
	Fatalf(format string, args ...any)
}, p *Parser, line []byte, got *Entry) {
	var want Entry
	err, wantErr := p.Parse(line, got), want.Parse(line)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, want %v", line, err, wantErr)
	}
	if same := *got; err == nil {
		if len(same.Clauses) == 0 {
			same.Clauses, want.Clauses = nil, nil
		}
		if !reflect.DeepEqual(same, want) {
			t.Fatalf("%q:\n%+v, want\n%+v", line, same, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	lines := usualLines(b)
	lines = lines[len(lines)/2:]
	var p Parser
	var e Entry
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines[:4] {
			if err := p.Parse(line, &e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
