package ledger

import "time"

// Ceil rounds t up to a whole microsecond; the zero Time is returned as it is. The Gate uses only such instants, which the
// ledger can express, so that a replay restores exactly what the Gate knew. Rounding up keeps the order of events, and no
// pause ends early because of it.
func Ceil(t time.Time) time.Time {
	if d := time.Duration(t.Nanosecond() % 1000); d > 0 {
		return t.Add(time.Microsecond - d)
	}
	return t
}
