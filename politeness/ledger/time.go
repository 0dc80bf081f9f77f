package ledger

import "time"

// timeForm is how the ledger writes times: RFC 3339 with microseconds, always of six digits. Many readers treat a time with
// nanoseconds as text, and some do so with one that has fewer digits than those before it.
const timeForm = "2006-01-02T15:04:05.000000Z07:00"

// Ceil is t, or the next whole microsecond; the zero Time stays. Requests begin and end for the Gate at such instants,
// which the ledger can write, so that a replay knows what the Gate knew. Because times are rounded up, the order of events
// stays, and no pause is over too soon.
func Ceil(t time.Time) time.Time {
	if d := time.Duration(t.Nanosecond() % 1000); d > 0 {
		return t.Add(time.Microsecond - d)
	}
	return t
}
