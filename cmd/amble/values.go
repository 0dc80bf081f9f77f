package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// The values of flags that take a limit: a number (or size, or duration) or "none".

type count int

func (c *count) UnmarshalText(b []byte) error {
	if s := string(b); s != "none" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return fmt.Errorf("%q: want a number of 0 or more, or none", s)
		}
		*c = count(n)
		return nil
	}
	*c = crawler.None
	return nil
}

// value is the Config's number for c, zero being a value that means zero.
func (c count) value(zero int) int {
	if c == 0 {
		return zero
	}
	return int(c)
}

func (c count) MarshalText() ([]byte, error) {
	if c < 0 {
		return []byte("none"), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

type duration time.Duration

func (d *duration) UnmarshalText(b []byte) error {
	s := string(b)
	if s == "none" {
		*d = crawler.None
		return nil
	}
	v, err := time.ParseDuration(s)
	if n, bare := strconv.ParseFloat(s, 64); bare == nil { // "2" is two seconds
		v, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || v < 0 {
		return fmt.Errorf("%q: want a duration such as 500ms, 2s or 1m30s, or none", s)
	}
	*d = duration(v)
	return nil
}

func (d duration) MarshalText() ([]byte, error) {
	if d < 0 {
		return []byte("none"), nil
	}
	return []byte(time.Duration(d).String()), nil
}

// value is the Config's duration for d: nothing is None there.
func (d duration) value() time.Duration {
	if d <= 0 {
		return crawler.None
	}
	return time.Duration(d)
}

// limit is the Config's duration for d where no limit is zero.
func (d duration) limit() time.Duration { return max(0, time.Duration(d)) }

type size int64

func (z *size) UnmarshalText(b []byte) error {
	s := string(b)
	if s == "none" {
		*z = crawler.None
		return nil
	}
	unit := int64(1)
	num := s
	for _, u := range []struct {
		suffix string
		n      int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}} {
		if t, ok := strings.CutSuffix(s, u.suffix); ok {
			num, unit = strings.TrimSpace(t), u.n
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v < 0 || v*float64(unit) > 1<<62 {
		return fmt.Errorf("%q: want a size such as 500kB, 10MiB or 1GB, or none", s)
	}
	*z = size(v * float64(unit))
	return nil
}

func (z size) MarshalText() ([]byte, error) {
	if z < 0 {
		return []byte("none"), nil
	}
	return strconv.AppendInt(nil, int64(z), 10), nil
}
