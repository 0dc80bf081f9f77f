package ledger

import "time"

// timeForm is how the ledger writes times: RFC 3339 with microseconds, always of six digits. Many readers treat a time with
// nanoseconds as text, and some do so with one that has fewer digits than those before it.
const timeForm = "2006-01-02T15:04:05.000000Z07:00"

// Ceil rounds t up to a whole microsecond; the zero Time is returned as it is. The Gate uses only such instants, which the
// ledger can express, so that a replay restores exactly what the Gate knew. Rounding up keeps the order of events, and no
// pause ends early because of it.
func Ceil(t time.Time) time.Time {
	if d := time.Duration(t.Nanosecond() % 1000); d > 0 {
		return t.Add(time.Microsecond - d)
	}
	return t
}
