package politeness

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Limit is a maximum number. The zero Limit stands for the default of its field. Fields that allow [Unlimited] or [Zero] say so.
type Limit int64

// Limits that are no number, because 0 is the default of a field.
const (
	Unlimited Limit = -1 // no limit
	Zero      Limit = -2 // a limit of 0: not a single one
)

// Durations and a factor that no number can express, because 0 is the default of a field.
const (
	NoDelay  time.Duration = -1            // no pause at all
	Forever  time.Duration = math.MaxInt64 // a maximum that is never reached
	NoFactor float64       = -1            // Config.DelayFactor: response times lengthen no pause
)

// Value returns l as a number to compare with: math.MaxInt64 for Unlimited, 0 for Zero.
func (l Limit) Value() int64 {
	switch l {
	case Unlimited:
		return math.MaxInt64
	case Zero:
		return 0
	}
	return int64(l)
}

// Reached reports whether n is l or more. Unlimited is never reached, Zero always.
func (l Limit) Reached(n int) bool { return int64(n) >= l.Value() && l != Unlimited }

// String returns the number, or "unlimited".
func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(l.Value(), 10)
}

// Valid reports whether l is a number or one of the other Limits that a field allows.
func (l Limit) Valid(allowed ...Limit) bool { return l >= 0 || slices.Contains(allowed, l) }
