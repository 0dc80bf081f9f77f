package jsonl

import "time"

// form is the only form that Time reads; the digits stand for any.
const form = "2006-01-02T15:04:05.000000Z"

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
	begins time.Time       // zero: there was none
}

const minuteLen = len("2006-01-02T15:04:")

// Of is [Time].
func (c *Times) Of(text []byte) (t time.Time, ok bool) {
	if len(text) == len(form) && !c.begins.IsZero() && string(text[:minuteLen]) == string(c.minute[:]) && text[19] == '.' && text[26] == 'Z' {
		n := 0
		for _, at := range [...]int{17, 18, 20, 21, 22, 23, 24, 25} {
			d := text[at] - '0'
			if d > 9 {
				return t, false
			}
			n = 10*n + int(d)
		}
		if n >= 60_000_000 {
			return t, false
		}
		return c.begins.Add(time.Duration(n) * time.Microsecond), true
	}
	if t, ok = Time(text); ok {
		copy(c.minute[:], text)
		c.begins = t.Truncate(time.Minute)
	}
	return t, ok
}

// daysOf returns how many days a month has.
func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
