package sink

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// whole is a Record with all fields set.
func whole() *Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	return &Record{
		Schema: "amble.visit/1", URL: "http://a.test/é?<\"\\>", Final: "http://b.test/", Hops: []string{"http://c.test/", "\u202e"}, Via: "http://a.test/", Depth: 3,
		Status: 200, Outcome: "fetched", Reason: "r", Rule: "Disallow: /", Detail: "d\t", Error: "e\x00\xff", Type: "text/html", Charset: "utf-8", CharsetFrom: "meta",
		Bytes: 1 << 40, Truncated: "length", SHA256: "ab", ETag: `W/"x"`, LastModified: "Fri", Title: "日本 \U0001f600", Canonical: "http://a.test/", Directives: []string{"noindex"},
		Usage: []Usage{{"train-ai", "disallow", "header"}}, SameAs: "s", NearOf: "n", Links: &LinkCount{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		Data: []json.RawMessage{[]byte(`{"a":["]}",{}]}`), []byte("1")}, Attempt: 2, Queued: at, Started: at.Add(time.Second), Ended: at.Add(time.Minute), WARC: &Location{"f", 1, 2},
	}
}

// linesForParse returns lines of visits, some of which are not as they should be.
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
		`"links":{}`, `"links":null`, `"links":{"found":1,"more":2}`, `"links":{"found":1},"links":{"trap":1}`, `"links":{"Found":1}`, `"links":[]`,
		`"warc":{"file":"x","offset":-1,"length":1}`, `"warc":{"file":"x"},"warc":{"length":1}`, `"warc":null`, `"nothing":{"a":[1,"}"]}`, `"final":null`, `"schema":null`, `"schema":"\n"`, `"ended":0`,
	} {
		all = append(all, "{"+field+"}", `{"depth":7,`+field+`,"status":200}`, `{"depth":7,`+field, "{"+field+"} x", " {"+field+" }")
	}
	return append(all, "", "\n", "{", "{}", "{} ", "[]", "null", `{"url"}`, `{"url":}`, `{,}`, `{"depth":1,}`, "{}\n\n", `{"url":"`+strings.Repeat("long", 1<<16)+`"}`)
}

// TestParseIsAsEncodingJSON: a line means the same, also one that somebody else has written or changed, or no line at all.
func TestParseIsAsEncodingJSON(t *testing.T) {
	var p Parser
	for range 2 { // with nothing remembered, and with everything
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
	got, want := *whole(), Record{} // what it had before does not matter
	err, wantErr := p.Parse(line, &got), json.Unmarshal(line, &want)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.200q:\n%+v %v, want\n%+v %v", line, got, err, want, wantErr)
	}
}

// TestShort: what Short leaves out is checked all the same, and all else is as it is.
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
