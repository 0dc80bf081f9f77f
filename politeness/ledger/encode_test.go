package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/amble-crawler/amble/internal/hidden"
)

// TestLinesAreAsEncodingJSONWritesAndReadsThem compares encoding and decoding with encoding/json, for random entries.
func TestLinesAreAsEncodingJSONWritesAndReadsThem(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Just("<a href=\"x\">&\u2028\u2029\\\x7f\x00\b\f\n\r\t"))
	instants := rapid.Custom(func(t *rapid.T) time.Time {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return rapid.SampledFrom([]time.Time{
			{}, time.Unix(rapid.Int64Range(-1<<33, 1<<35).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(zone),
		}).Draw(t, "time")
	})
	clauses := rapid.Custom(func(t *rapid.T) Clause {
		return Clause{text.Draw(t, "clause"), instants.Draw(t, "until"), Duration(rapid.Int64().Draw(t, "delay")), text.Draw(t, "by")}
	})
	var parser Parser
	var reused Entry
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{
			Event: text.Draw(t, "event"), Run: text.Draw(t, "run"), ID: rapid.Uint64().Draw(t, "id"), URL: text.Draw(t, "url"), For: text.Draw(t, "for"),
			Host: text.Draw(t, "host"), Domain: text.Draw(t, "domain"), Addr: text.Draw(t, "addr"), Purpose: text.Draw(t, "purpose"), Attempt: rapid.Int().Draw(t, "attempt"),
			Agent: text.Draw(t, "agent"), Queued: instants.Draw(t, "queued"), Allowed: instants.Draw(t, "allowed"), Written: instants.Draw(t, "written"),
			Clauses: rapid.SliceOfN(clauses, 0, 3).Draw(t, "clauses"), Override: text.Draw(t, "override"), FirstByte: instants.Draw(t, "first"),
			Ended: instants.Draw(t, "ended"), Status: rapid.Int().Draw(t, "status"), Bytes: rapid.Int64().Draw(t, "bytes"), Err: text.Draw(t, "error"),
			Truncated: text.Draw(t, "truncated"), RetryAfter: text.Draw(t, "retry"), RateLimit: text.Draw(t, "limit"), Date: text.Draw(t, "date"), Location: text.Draw(t, "location"), SHA256: text.Draw(t, "sha"),
			Reported: instants.Draw(t, "reported"), Took: Duration(rapid.Int64().Draw(t, "took")), Aborted: rapid.Bool().Draw(t, "aborted"), Expires: instants.Draw(t, "expires"),
			Challenged: rapid.Bool().Draw(t, "challenged"), Wall: text.Draw(t, "wall"), Through: rapid.Uint64().Draw(t, "through"), Token: text.Draw(t, "token"),
			Timeout: rapid.Bool().Draw(t, "timeout"), Behind: Duration(rapid.Int64().Draw(t, "behind")),
		}
		want, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Append(nil)
		if !bytes.Equal(got, micros(want)) {
			t.Fatalf("got  %s\nwant %s", got, micros(want))
		}
		if e.Event == "" || e.Run == "" {
			return
		}
		var read, parsed Entry
		if err := errors.Join(json.Unmarshal(got, &read), parsed.Parse(got)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(parsed, read) {
			t.Fatalf("parsed %+v\nread   %+v", parsed, read)
		}
		if err := parser.Parse(got, &reused); err != nil {
			t.Fatal(err)
		}
		if read.Clauses == nil {
			read.Clauses = []Clause{}
		}
		if reused.Clauses = append([]Clause{}, reused.Clauses...); !reflect.DeepEqual(reused, read) {
			t.Fatalf("parsed %+v\nread   %+v", reused, read)
		}
	})
}

var times = regexp.MustCompile(`"(queued|allowed|written|until|first_byte|ended|reported|dropped|expires)":"([-0-9]+T[^"]*)"`)

// micros rounds fractions of seconds in a line up to six digits, and escapes hidden characters, as the ledger does.
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

func TestEveryFieldOfAnEntryIsWritten(t *testing.T) {
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	e := Entry{
		"end", "r", 1, "u", "f", "h", "d", "a", "p", 2, "g", now, now, now, []Clause{{"c", now, 3, "b"}}, "o", "k", 9, true, now, 7, now, now, now, 6, 4, 5, "e", true, "t", true, "ra", "rl", "d", "l", "s", true, "w", now, "by", "run", "v w", 8, "j",
	} // if Entry gets a new field, this does not compile until the field is added here
	want, _ := json.Marshal(&e)
	if got := e.Append(nil); !bytes.Equal(got, micros(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestATimeThatJSONCannotWriteIsLeftOut(t *testing.T) {
	e := Entry{Event: "end", Ended: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got := string(e.Append(nil)); strings.Contains(got, "ended") || !json.Valid([]byte(got)) {
		t.Error(got)
	}
}

// Invisible characters and those that change the direction of text are escaped in lines, and survive a round trip.
func TestHiddenCharactersAreEscapedInTheLedger(t *testing.T) {
	const text = "a\u009b31m\u202eb\u2066c\u200bd\u00ade\U000e0041\x7f\u2028f日本"
	e := Entry{Event: "end", Run: "r", Err: text, Location: text, RetryAfter: text, Override: text}
	line := e.Append(nil)
	for _, c := range string(line) {
		if hidden.Is(c) {
			t.Errorf("%U stands in %s", c, line)
			break
		}
	}
	var got Entry
	if err := json.Unmarshal(line, &got); err != nil || got.Err != text || got.Location != text {
		t.Errorf("%v\n%s", err, line)
	}
	var parsed Entry
	if err := parsed.Parse(line); err != nil || parsed.Location != text {
		t.Errorf("read back as %q, %v", parsed.Location, err)
	}
}
