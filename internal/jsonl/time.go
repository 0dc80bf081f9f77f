package jsonl

import (
	"encoding/binary"
	"time"
)

// form is the only form that Time reads; the digits stand for any.
const form = "2006-01-02T15:04:05.000000Z"

// TimeForm is the layout of the times in files that programs read: RFC 3339 with exactly six digits of a second's fraction. Many
// readers take a time with nanoseconds for text, and some do so with a time that has fewer digits than the times before it.
const TimeForm = "2006-01-02T15:04:05.000000Z07:00"

// AppendTime appends t, of the years 0 to 9999, as [TimeForm] says. What is below a microsecond is cut off. It takes a third of the
// instructions of [time.Time.AppendFormat], which has a fast way for RFC 3339 without a fraction only.
func AppendTime(b []byte, t time.Time) []byte {
	n := len(b) + len("2006-01-02T15:04:05")
	b = append(t.AppendFormat(b, time.RFC3339), ".000000"...)
	copy(b[n+7:], b[n:len(b)-7]) // the zone
	for i, micros := n+6, t.Nanosecond()/1000; i > n; i-- {
		b[i] = byte('0' + micros%10)
		micros /= 10
	}
	b[n] = '.'
	return b
}

// Time reads a time in UTC with six digits after the point, as RFC 3339 has it. It returns false for anything else, valid or
// not: that is for [time.Time.UnmarshalText], which returns the same for what Time reads.
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

// Times reads times, most of which are of the minute of the one before. The zero Times is ready for use. It must not be used
// concurrently.
type Times struct {
	minute [minuteLen]byte // as in the last text
	begins int64           // in Unix time
	known  bool            // there was one
}

const minuteLen = len("2006-01-02T15:04:")

// TimeLen is the length of the texts that [Time] and [Times.Of] read.
const TimeLen = len(form)

// Of is [Time].
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

// secondsOf reads what follows the minute: "05.000000Z". The six digits are read at once, as those of a number of eight that
// begins with two zeros.
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
	x = (x & 0x0f0f0f0f0f0f0f0f) * (10<<8 + 1) >> 8 // pairs, fours, eight
	x = (x & 0x00ff00ff00ff00ff) * (100<<16 + 1) >> 16
	x = (x & 0x0000ffff0000ffff) * (10000<<32 + 1) >> 32
	return int64(10*tens + units), int64(x), true
}

// daysOf returns how many days a month has.
func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
