package jsonl

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTime compares Time with package time, for valid and for mutated times.
func TestTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999).Draw(t, "us")*1000).UTC()
		text := []byte(at.Format(TimeForm))
		if got, ok := Time(text); !ok || got != at {
			t.Fatalf("%s is %v, %v", text, got, ok)
		}
		text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789TZz:.-+ /x\xff")).Draw(t, "byte")
		same(t, text)
	})
	for _, text := range []string{
		"", "2026-02-28T00:00:00.000000Z", "2026-02-29T00:00:00.000000Z", "2024-02-29T00:00:00.000000Z", "1900-02-29T00:00:00.000000Z", "2000-02-29T23:59:59.999999Z",
		"2026-04-31T00:00:00.000000Z", "2026-12-31T24:00:00.000000Z", "2026-12-31T23:60:00.000000Z", "2026-12-31T23:59:60.000000Z", "2026-00-10T00:00:00.000000Z",
		"2026-13-10T00:00:00.000000Z", "2026-10-00T00:00:00.000000Z", "2026-10-10T00:00:00.00000Z", "2026-10-10T00:00:00.0000000Z", "2026-10-10t00:00:00.000000Z", "2026-10-10T00:00:00.000000z",
	} {
		same(t, []byte(text))
	}
}

// TestAppendTime compares AppendTime with package time, also in other time zones.
func TestAppendTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62167132800, 253402214400).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))
		at = at.In(time.FixedZone("", rapid.IntRange(-23*60, 23*60).Draw(t, "zone")*60))
		if got, want := string(AppendTime([]byte("{"), at)), "{"+at.Format(TimeForm); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// TestTimes compares Times with Time, mostly for times in the same minute.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Times
		from := rapid.SampledFrom([]int64{-62167219200, -62135596800, 0, 1790000000, 253402300740}).Draw(t, "from")
		for range 20 {
			at := time.UnixMicro(from*1e6 + rapid.Int64Range(0, 90_000_000).Draw(t, "us")).UTC()
			text := []byte(at.Format(TimeForm))
			if rapid.Bool().Draw(t, "change") {
				text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789TZz:.-+ /x\xff")).Draw(t, "byte")
				text = text[:rapid.SampledFrom([]int{len(text), len(text), len(text), len(text) - 1, 0}).Draw(t, "len")]
			}
			got, ok := c.Of(text)
			if want, wantOK := Time(text); ok != wantOK || got != want {
				t.Fatalf("%q is %v, %v, want %v, %v", text, got, ok, want, wantOK)
			}
		}
	})
}

// same checks that Time and package time read the same value.
func same(t interface{ Errorf(string, ...any) }, text []byte) {
	got, ok := Time(text)
	var want time.Time
	if err := want.UnmarshalText(text); ok && (err != nil || got != want) {
		t.Errorf("%s is %v, want %v, %v", text, got, want, err)
	}
}

// TestTimesOfAllBytes compares Times with Time for every byte value at every position after the minute.
func TestTimesOfAllBytes(t *testing.T) {
	var c Times
	const whole = "2026-01-02T03:04:59.999999Z"
	for at := minuteLen; at < len(whole); at++ {
		for b := range 256 {
			text := []byte(whole)
			text[at] = byte(b)
			c.Of([]byte(whole))
			got, ok := c.Of(text)
			if want, wantOK := Time(text); ok != wantOK || got != want {
				t.Fatalf("%q is %v, %v, want %v, %v", text, got, ok, want, wantOK)
			}
		}
	}
}
