package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/internal/hidden"
)

// awkward lists texts with characters that JSON, HTML or UTF-8 treat specially.
var awkward = []string{
	"", "plain", `"quoted\"`, "tab\tnl\ncr\rbs\bff\f", "\x00\x01\x1f\x7f", "<script>&amp;</script>", "é日本\U0001F600",
	"\u2028\u2029", "\ufffd", "\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "end\xe2\x80", "é\xffé",
}

// fill sets a value and all its fields at random, so that the test notices a field that the encoder leaves out.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(awkward[r.IntN(len(awkward))])
		}
		v.SetString(b.String())
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 200, math.MaxInt64, math.MinInt64}[r.IntN(6)])
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]byte]() {
			return // bodies are not encoded
		}
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte([]string{"1", `{"a": [ "<é>\u2028" ]}`, "\"\xff\"", " null\n", "{", ""}[min(r.IntN(100), 5)]))
			if r.IntN(10) > 0 {
				v.SetBytes([]byte(`{"n": -1.5e3, "s": "</script>"}`))
			}
			return
		}
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n))
		}
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(someTime(r)))
			return
		}
		if v.Type() == reflect.TypeFor[Exchange]() {
			return
		}
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	default:
		panic("a field of a new kind: " + v.Kind().String())
	}
}

func someTime(r *rand.Rand) time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	t := time.Unix(r.Int64N(253402300799), []int64{0, 1, 120e6, 999999999}[r.IntN(4)])
	return t.In([]*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -12*3600-30)}[r.IntN(3)])
}

func TestLineAgreesWithEncodingJSON(t *testing.T) {
	for seed := range uint64(3000) {
		var rec Record
		fill(rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(&rec).Elem())
		want, wantErr := json.Marshal(&rec)
		got, err := appendRecord(nil, &rec)
		want = micros(hidden.Escape(want))
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != string(want) {
			t.Fatalf("seed %d\n%s, %v\nwant\n%s, %v", seed, got, err, want, wantErr)
		}
	}
}

var times = regexp.MustCompile(`("(?:queued|started|ended)":"[-0-9]+T[0-9:]+)(\.[0-9]+)?([^"]*")`)

// micros gives the times in a line six fractional digits. Some readers of JSON lines need exactly six: DuckDB reads times with more digits
// as text, and pandas reads times with fewer digits than the first time as text.
func micros(line []byte) []byte {
	return times.ReplaceAllFunc(line, func(b []byte) []byte {
		m := times.FindSubmatch(b)
		return fmt.Appendf(nil, "%s.%s%s", m[1], (strings.TrimPrefix(string(m[2]), ".") + "000000")[:6], m[3])
	})
}

func TestLineOfTimesThatRFC3339CannotExpress(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 24*3600)), time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", -24*3600)),
	} {
		_, wantErr := json.Marshal(&Record{Queued: at})
		if _, err := appendRecord(nil, &Record{Queued: at}); !errors.Is(err, errYear) || wantErr == nil {
			t.Errorf("%v: %v, encoding/json: %v", at, err, wantErr)
		}
	}
}

func FuzzStringAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range awkward {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want = hidden.Escape(want)
		if got := hidden.AppendJSON(nil, s); string(got) != string(want) || !utf8.Valid(got) {
			t.Fatalf("%q: %s, want %s", s, got, want)
		}
	})
}

// page returns a typical record.
func page() *Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	return &Record{
		Schema: Schema, URL: "https://www.example.org/articles/2026/a-title-of-some-length?page=2", Via: "https://www.example.org/articles/",
		Depth: 3, Status: 200, Outcome: "fetched", Type: "text/html", Charset: "utf-8", Bytes: 48213,
		SHA256: strings.Repeat("0123456789abcdef", 4), Title: "A title of some length – Example & Sons", Directives: []string{"noarchive"},
		Links:  &LinkCount{Found: 84, Follow: 61, OutOfScope: 12, Resource: 11},
		Queued: at, Started: at.Add(time.Second), Ended: at.Add(2 * time.Second),
	}
}

func BenchmarkLine(b *testing.B) {
	rec := page()
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = appendRecord(buf[:0], rec)
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		var n int
		for b.Loop() {
			buf, _ := json.Marshal(rec)
			n = len(buf)
		}
		b.SetBytes(int64(n))
	})
}

func BenchmarkJSONL(b *testing.B) {
	j, err := OpenJSONL(b.TempDir() + "/visits.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close(b.Context())
	rec := page()
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Append(b.Context(), rec); err != nil {
			b.Fatal(err)
		}
	}
}
