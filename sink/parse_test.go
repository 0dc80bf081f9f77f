package sink

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// whole returns a Record with all fields set.
func whole() *Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	return &Record{
		Schema: "amble.visit/1", URL: "http://a.test/é?<\"\\>", Final: "http://b.test/", Hops: []string{"http://c.test/", "\u202e"}, Via: "http://a.test/", Depth: 3,
		Status: 200, Outcome: "fetched", Reason: "r", Rule: "Disallow: /", Detail: "d\t", Error: "e\x00\xff", Type: "text/html", Charset: "utf-8", CharsetFrom: "meta",
		Bytes: 1 << 40, Truncated: "length", SHA256: "ab", ETag: `W/"x"`, LastModified: "Fri", Title: "日本 \U0001f600", Canonical: "http://a.test/", Directives: []string{"noindex"},
		Usage: []Usage{{"train-ai", "disallow", "header", "full"}}, Terms: &Terms{Effect: "forbids", Purpose: "train-ai", By: 1, Statements: []Statement{{Place: "header", Name: "n}]", Text: "<\"", TrainAI: "forbids"}}, Files: []TermsFile{{URL: "u", Status: 200, Fetched: at, SHA256: "ab"}}, Costs: []Cost{{"1", "USD", "crawl"}}},
		Cached: true, SameAs: "s", NearOf: "n", Links: &LinkCount{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		Data: []json.RawMessage{[]byte(`{"a":["]}",{}]}`), []byte("1")}, Attempt: 2, Queued: at, Started: at.Add(time.Second), Ended: at.Add(time.Minute), WARC: &Location{"f", 1, 2},
	}
}

// linesForParse returns lines of visits, some of them malformed.
func linesForParse(t testing.TB) (all []string) {
	t.Helper()
	for _, r := range []*Record{whole(), {}, {URL: "http://a.test/"}} {
		b, err := appendRecord(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b), string(b)+"\n")
	}
	for _, field := range []string{
		`"URL":"upper"`, `"url":null`, `"url":1`, `"url":"a","url":"b"`, `"url":"\ud83d\ude00\ud83d"`, `"url":"\x"`, `"url":"\u12"`, "\"url\":\"a\xff\xc0b\"", "\"url\":\"\x01\"", `"url":"`, `"url":"\`, `"url":"\"`,
		"\"url\":\"12345678\x80\"", "\"url\":\"1234567\x1f\"", "\"url\":\"1234567\x20\x7f\"", `"u\u0072l":"escaped key"`,
		`"depth":01`, `"depth":-1`, `"depth":-0`, `"depth":-`, `"depth":1.0`, `"depth":1e2`, `"depth":999999999999999999`, `"depth":9999999999999999999`, `"depth":9223372036854775807`, `"depth":`, `"depth":"1"`, `"depth":1x`,
		`"queued":"2026-01-02T03:04:05.678901+02:00"`, `"queued":"2026-01-02T03:04:05Z"`, `"queued":"2026-02-30T03:04:05.000000Z"`, `"queued":""`, `"queued":null`, `"queued":"2026-01-02T03:04:05.67890\u0031Z"`,
		`"hops":null`, `"hops":[]`, `"hops":["a",1]`, `"hops":["]"]`, `"hops":[}`, `"hops":["a"],"hops":["b","c"]`, `"usage":[{"use":"x","other":1}]`, `"data":[{"a": [1, 2 ]},"]"]`, `"data":[1,]`, `"data":{}`, `"data":[`,
		`"terms":{}`, `"terms":null`, `"terms":[]`, `"terms":{"by":"1"}`, `"terms":{"effect":"x"},"terms":{"by":2}`, `"links":{}`, `"links":null`, `"links":{"found":1,"more":2}`, `"links":{"found":1},"links":{"trap":1}`, `"links":{"Found":1}`, `"links":[]`,
		`"warc":{"file":"x","offset":-1,"length":1}`, `"warc":{"file":"x"},"warc":{"length":1}`, `"warc":null`, `"nothing":{"a":[1,"}"]}`, `"final":null`, `"schema":null`, `"schema":"\n"`, `"ended":0`,
	} {
		all = append(all, "{"+field+"}", `{"depth":7,`+field+`,"status":200}`, `{"depth":7,`+field, "{"+field+"} x", " {"+field+" }")
	}
	return append(all, "", "\n", "{", "{}", "{} ", "[]", "null", `{"schema":"a\"b"}`, `{"schema":"a"b"}`, `{"schema":"a\","url":"b"}`, `{"url"}`, `{"url":}`, `{,}`, `{"depth":1,}`, "{}\n\n", `{"url":"`+strings.Repeat("long", 1<<16)+`"}`)
}

// TestParseIsAsEncodingJSON checks that Parse gives the same result as encoding/json for any line: one that another program has written or
// changed, or one that is not valid.
func TestParseIsAsEncodingJSON(t *testing.T) {
	var p Parser
	for range 2 { // the first time with an empty Parser, then with a Parser that remembers all texts
		for _, line := range linesForParse(t) {
			compare(t, &p, []byte(line))
		}
	}
	var r Record
	b, err := appendRecord(nil, whole())
	if s := (scanner{b: b, parser: &p}); err != nil || !s.record(&r) {
		t.Errorf("a line of JSONL is left to encoding/json: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range linesForParse(f) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { compare(t, new(Parser), line) })
}

func compare(t *testing.T, p *Parser, line []byte) {
	t.Helper()
	got, want := *whole(), Record{} // previous contents must not matter
	err, wantErr := p.Parse(line, &got), json.Unmarshal(line, &want)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.200q:\n%+v %v, want\n%+v %v", line, got, err, want, wantErr)
	}
}

// TestShort checks that a Parser with Short still validates the fields that it skips, and reads all other fields as usual.
func TestShort(t *testing.T) {
	p := Parser{Short: true}
	leave := func(r *Record) {
		r.Charset, r.CharsetFrom, r.Truncated, r.SHA256, r.ETag, r.LastModified, r.Title, r.Canonical = "", "", "", "", "", "", "", ""
		r.Links, r.WARC = nil, nil
	}
	for _, line := range linesForParse(t) {
		var got, want Record
		err, wantErr := p.Parse([]byte(line), &got), json.Unmarshal([]byte(line), &want)
		leave(&got)
		if leave(&want); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%.200q:\n%+v %v, want\n%+v %v", line, got, err, want, wantErr)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	line, err := appendRecord(nil, whole())
	if err != nil {
		b.Fatal(err)
	}
	var p Parser
	var r Record
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if err := p.Parse(line, &r); err != nil {
			b.Fatal(err)
		}
	}
}

// TestParseOfChangedLines mutates lines written by JSONL, and compares the result of Parse with encoding/json.
func TestParseOfChangedLines(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 59, 999999000, time.UTC)
	var lines [][]byte
	for _, r := range []*Record{
		whole(),
		{
			Schema: "amble.visit/1", URL: "http://a.test/", Via: "http://a.test/é", Depth: 3, Status: 200, Outcome: "fetched", Type: "text/html", Charset: "utf-8", CharsetFrom: "meta", Bytes: 12, SHA256: "ab", ETag: `"x"`,
			Title: "é\n\\", Canonical: "c", Links: &LinkCount{Found: 3, Follow: 1, Trap: 1}, Queued: at, Started: at, Ended: at, WARC: &Location{"f", 1, 2},
		},
		{Schema: "amble.visit/1", URL: "http://a.test/", Final: "f", Outcome: "refused", Reason: "r", Rule: "Disallow: /", Detail: "d", Error: "e", Ended: at},
	} {
		b, err := appendRecord(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
	}
	extra := []string{
		"", `"`, `\`, `\"`, `\u0041`, `\x`, `\ud83d`, "\xff", "\x01", `}`, `{`, `,`, `]`, ` `, "0", "-", "1e3", `,"url":"x"`, `,"URL":"x"`, `,"links":{"found":2}`, `,"hops":["a"]`, `,"bytes":5`, `,"other":{"a":["}"]}`,
		`,"schema":"y"`, `,"via":"a\"b"`, `"2026-01-02T03:04:60.000000Z"`, `+01:00`, `:`, `null`,
	}
	full, short := new(Parser), &Parser{Short: true}
	rapid.Check(t, func(rt *rapid.T) {
		line := bytes.Clone(rapid.SampledFrom(lines).Draw(rt, "line"))
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(line)).Draw(rt, "at")
			cut := min(len(line)-at, rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 9, 30}).Draw(rt, "cut"))
			if rapid.Bool().Draw(rt, "member") { // insert at the beginning of a JSON member
				if n := bytes.IndexByte(line[at:], ','); n >= 0 {
					at, cut = at+n, 0
				}
			}
			line = bytes.Join([][]byte{line[:at], []byte(rapid.SampledFrom(extra).Draw(rt, "extra")), line[at+cut:]}, nil)
		}
		compare(t, full, line)
		var r Record
		if err, want := short.Parse(line, &r), json.Unmarshal(line, new(Record)); (err == nil) != (want == nil) {
			rt.Fatalf("%q: %v, want %v", line, err, want)
		}
		if t.Failed() {
			rt.Fatalf("%q", line)
		}
	})
}
