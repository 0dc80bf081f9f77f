package politeness

import "time"

// instant is wall-clock time in nanoseconds since 1970; 0 means none. It is used for everything with a date, such as the age
// of a robots.txt, because unlike a monotonic clock it advances while a machine is suspended. Pauses use time.Time.
type instant int64

func at(t time.Time) instant {
	if t.IsZero() {
		return 0
	}
	return instant(t.UnixNano())
}

func (i instant) time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i))
}

// after reports whether i is later than now.
func (i instant) after(now time.Time) bool { return i > at(now) }

// since returns the time from i to now.
func (i instant) since(now time.Time) time.Duration { return time.Duration(at(now) - i) }

// until returns the time from now to i.
func (i instant) until(now time.Time) time.Duration { return time.Duration(i - at(now)) }

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func orTime(t, def time.Time) time.Time {
	if t.IsZero() {
		return def
	}
	return t
}
