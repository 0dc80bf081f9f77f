package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// None is the word for no limit in values that users enter. Values represent it as -1.
const None = "none"

const noLimit = -1

// Count is a number of items.
type Count int

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Count) UnmarshalText(b []byte) error {
	s := string(b)
	if s == None {
		*c = noLimit
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number of 0 or more, or none", s)
	}
	*c = Count(n)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (c Count) MarshalText() ([]byte, error) {
	if c < 0 {
		return []byte(None), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// Number is a factor or a rate.
type Number float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Number) UnmarshalText(b []byte) error {
	s := string(b)
	if s == None {
		*n = noLimit
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%q: want a number of 0 or more, or none", s)
	}
	*n = Number(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (n Number) MarshalText() ([]byte, error) {
	if n < 0 {
		return []byte(None), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}

// Duration is a length of time.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler. A number without a unit is in seconds.
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if s == None {
		*d = noLimit
		return nil
	}
	v, err := time.ParseDuration(s)
	if n, bare := strconv.ParseFloat(s, 64); bare == nil && n >= 0 && n < math.MaxInt64/1e9 {
		v, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || v < 0 {
		return fmt.Errorf("%q: want a duration such as 500ms, 2s or 1m30s, or none", s)
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the Duration without zero units: "1m", not "1m0s".
func (d Duration) String() string {
	if d < 0 {
		return None
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

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// Size is a number of bytes.
type Size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Size) UnmarshalText(b []byte) error {
	s := string(b)
	if s == None {
		*z = noLimit
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
	*z = Size(v * float64(unit))
	return nil
}

// sizeUnits are the units of sizes, longer suffixes first.
var sizeUnits = []struct {
	suffix string
	n      int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}

// String returns the text of MarshalText.
func (z Size) String() string {
	b, _ := z.MarshalText() // MarshalText cannot fail here
	return string(b)
}

// MarshalText implements encoding.TextMarshaler.
func (z Size) MarshalText() ([]byte, error) {
	if z < 0 {
		return []byte(None), nil
	}
	for _, u := range sizeUnits[:3] {
		if n := int64(z) / u.n; n > 0 && n < 1<<14 && int64(z)%u.n == 0 {
			return fmt.Appendf(nil, "%d%s", n, u.suffix), nil
		}
	}
	return strconv.AppendInt(nil, int64(z), 10), nil
}
