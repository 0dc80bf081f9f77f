package jsonl

import (
	"encoding/binary"
	"time"
)

// form is the only form that Time parses; the digits may differ.
const form = "2006-01-02T15:04:05.000000Z"

// TimeForm is the layout of times in files for programs: RFC 3339 with exactly six fractional digits of seconds. Many readers treat a
// time with nanoseconds as text; some do so for a time with fewer digits than earlier ones.
const TimeForm = "2006-01-02T15:04:05.000000Z07:00"

// AppendTime appends t, of the years 0 to 9999, in the format [TimeForm], truncated to microseconds. It takes a third of the instructions
// of [time.Time.AppendFormat], which is fast only for RFC 3339 without a fraction.
func AppendTime(b []byte, t time.Time) []byte {
	n := len(b) + len("2006-01-02T15:04:05")
	b = append(t.AppendFormat(b, time.RFC3339), ".000000"...)
	copy(b[n+7:], b[n:len(b)-7]) // moves the zone behind the fraction
	for i, micros := n+6, t.Nanosecond()/1000; i > n; i-- {
		b[i] = byte('0' + micros%10)
		micros /= 10
	}
	b[n] = '.'
	return b
}

// Time parses an RFC 3339 time in UTC with six fractional digits. It returns false for any other text, even if that is a valid time:
// callers then use [time.Time.UnmarshalText], which gives the same result for all times that Time accepts.
func Time(text []byte) (t time.Time, ok bool) {
	if len(text) != len(form) {
		return t, false
	}
	for i, c := range []byte(form) {
		if d := text[i]; c-'0' <= 9 && d-'0' > 9 || c-'0' > 9 && d != c {
			return t, false
		}
	}
	two := func(i int) int { return int(text[i]-'0')*10 + int(text[i+1]-'0') }
	month, day, hour, minute, second := two(5), two(8), two(11), two(14), two(17)
	if month < 1 || month > 12 || day < 1 || day > 28 && day > daysOf(two(0)*100+two(2), month) || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	micros := (two(20)*100+two(22))*100 + two(24)
	return time.Date(two(0)*100+two(2), time.Month(month), day, hour, minute, second, 1000*micros, time.UTC), true
}

// Times parses times, most of which are in the same minute as the time before. The zero Times is ready for use. It is not safe for
// concurrent use.
type Times struct {
	minute [minuteLen]byte // text of the last minute
	begins int64           // Unix time at which the minute begins
	known  bool            // minute and begins are set
}

const minuteLen = len("2006-01-02T15:04:")

// TimeLen is the length of texts for [Time] and [Times.Of].
const TimeLen = len(form)

// Of parses a time as [Time] does.
func (c *Times) Of(text []byte) (t time.Time, ok bool) {
	if len(text) == len(form) && c.known && string(text[:minuteLen]) == string(c.minute[:]) {
		seconds, micros, ok := secondsOf(text[minuteLen:])
		if !ok {
			return t, false
		}
		return time.Unix(c.begins+seconds, 1000*micros).UTC(), true
	}
	if t, ok = Time(text); ok {
		copy(c.minute[:], text)
		c.begins, c.known = t.Unix()-int64(t.Second()), true
	}
	return t, ok
}

// secondsOf parses the part after the minute: "05.000000Z". It parses the six digits at once, as an eight-digit number with two leading
// zeros.
func secondsOf(text []byte) (seconds, micros int64, ok bool) {
	tens, units := text[0]-'0', text[1]-'0'
	if tens > 5 || units > 9 || text[2] != '.' || text[9] != 'Z' {
		return 0, 0, false
	}
	const zeros, high = 0x3030303030303030, 0xf0f0f0f0f0f0f0f0
	x := binary.LittleEndian.Uint64(text[1:])&^0xffff | zeros&0xffff
	if x&high|(x+0x0606060606060606)&high>>4 != 0x3333333333333333 {
		return 0, 0, false
	}
	x = (x & 0x0f0f0f0f0f0f0f0f) * (10<<8 + 1) >> 8 // combines digits to pairs, then to fours and eights
	x = (x & 0x00ff00ff00ff00ff) * (100<<16 + 1) >> 16
	x = (x & 0x0000ffff0000ffff) * (10000<<32 + 1) >> 32
	return int64(10*tens + units), int64(x), true
}

// daysOf returns the number of days of a month.
func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
