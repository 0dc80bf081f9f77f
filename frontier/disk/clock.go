package disk

import "github.com/amble-crawler/amble/frontier/internal/sched"

// clock is the store's time, in nanoseconds since the store was opened. On disk times are Unix nanoseconds.
type clock struct {
	sched.Clock
	epoch int64 // the clock's zero in Unix nanoseconds, or later: times on disk never go back
}

func newClock() clock {
	c := clock{Clock: sched.NewClock()}
	c.epoch = c.Time(0).UnixNano()
	return c
}

// unix returns a time of the clock in Unix nanoseconds; 0 is before everything.
func (c clock) unix(t int64) int64 {
	switch {
	case t <= -c.epoch:
		return 0
	case t > sched.Never-c.epoch:
		return sched.Never
	}
	return c.epoch + t
}

// at returns the inverse of unix.
func (c clock) at(unix int64) int64 {
	switch unix {
	case 0:
		return sched.Always
	case sched.Never:
		return sched.Never
	}
	return unix - c.epoch
}

// resume continues from the time of the store's last write if the wall clock is behind it: it has been set back
// since, or was wrong then. So nothing waits longer than it had to wait at that write.
func (c *clock) resume(written int64) { c.epoch += max(0, written-c.unix(c.Now())) }
