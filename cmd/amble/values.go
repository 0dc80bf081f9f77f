package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// The values of flags that take a limit: a number (or size, or duration) or "none", which is held as
// crawler.None.

const none = "none"

// count is a number of things.
type count int

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *count) UnmarshalText(b []byte) error {
	s := string(b)
	if s == none {
		*c = crawler.None
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number of 0 or more, or none", s)
	}
	*c = count(n)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (c count) MarshalText() ([]byte, error) {
	if c < 0 {
		return []byte(none), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// value is a Config's number for c where zero stands for the default, so that a zero that was given
// needs another.
func (c count) value(zero int) int {
	if c == 0 {
		return zero
	}
	return int(c)
}

// number is a factor or a rate.
type number float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *number) UnmarshalText(b []byte) error {
	s := string(b)
	if s == none {
		*n = crawler.None
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%q: want a number of 0 or more, or none", s)
	}
	*n = number(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (n number) MarshalText() ([]byte, error) {
	if n < 0 {
		return []byte(none), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}

// value is a Config's number for n where zero stands for the default.
func (n number) value(zero float64) float64 {
	if n == 0 {
		return zero
	}
	return float64(n)
}

// duration is a length of time.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler. A bare number is seconds.
func (d *duration) UnmarshalText(b []byte) error {
	s := string(b)
	if s == none {
		*d = crawler.None
		return nil
	}
	v, err := time.ParseDuration(s)
	if n, bare := strconv.ParseFloat(s, 64); bare == nil && n >= 0 && n < math.MaxInt64/1e9 {
		v, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || v < 0 {
		return fmt.Errorf("%q: want a duration such as 500ms, 2s or 1m30s, or none", s)
	}
	*d = duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the duration without the units that are zero: "1m", not "1m0s".
func (d duration) String() string {
	if d < 0 {
		return none
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func (d duration) seconds() float64 { return time.Duration(d).Seconds() }

// value is a Config's duration for d where zero stands for the default, and nothing is None.
func (d duration) value() time.Duration {
	if d <= 0 {
		return crawler.None
	}
	return time.Duration(d)
}

// limit is a Config's duration for d where zero stands for no limit.
func (d duration) limit() time.Duration { return max(0, time.Duration(d)) }

// size is a number of octets.
type size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *size) UnmarshalText(b []byte) error {
	s := string(b)
	if s == none {
		*z = crawler.None
		return nil
	}
	unit, num := int64(1), s
	for _, u := range sizeUnits {
		if t, ok := strings.CutSuffix(s, u.suffix); ok {
			num, unit = strings.TrimSpace(t), u.n
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !(v >= 0) || v*float64(unit) > 1<<62 {
		return fmt.Errorf("%q: want a size such as 500kB, 10MiB or 1GB, or none", s)
	}
	*z = size(v * float64(unit))
	return nil
}

// sizeUnits are the units of sizes, longer suffixes first.
var sizeUnits = []struct {
	suffix string
	n      int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}

// MarshalText implements encoding.TextMarshaler.
func (z size) MarshalText() ([]byte, error) {
	if z < 0 {
		return []byte(none), nil
	}
	for _, u := range sizeUnits[:3] {
		if n := int64(z) / u.n; n > 0 && n < 1<<14 && int64(z)%u.n == 0 {
			return fmt.Appendf(nil, "%d%s", n, u.suffix), nil
		}
	}
	return strconv.AppendInt(nil, int64(z), 10), nil
}
