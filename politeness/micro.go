package politeness

import "time"

// timeForm is how the ledger writes times: RFC 3339 with microseconds, always of six digits. Many readers take
// a time with nanoseconds for text, some also one with fewer digits than those before it.
const timeForm = "2006-01-02T15:04:05.000000Z07:00"

// ceil is t, or the next whole microsecond; the zero Time stays. Requests begin and end for the Gate at such
// instants, which the ledger can say: so a replay knows what the Gate knew. Rounded up, none of two events
// comes before the other that came after it, and no pause is over too soon.
func ceil(t time.Time) time.Time {
	if d := time.Duration(t.Nanosecond() % 1000); d > 0 {
		return t.Add(time.Microsecond - d)
	}
	return t
}
