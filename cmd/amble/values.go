package main

import (
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/weburl"
)

// The values of flags.
type (
	count    = cli.Count
	number   = cli.Number
	duration = cli.Duration
	size     = cli.Size
)

// countOr is a Config's number for c, zero standing for a 0 that was given: a Config's own 0 is the default.
func countOr(c count, zero int) int {
	if c == 0 {
		return zero
	}
	return int(c)
}

// numberOrNone is a Config's number for n, None standing for a 0 that was given.
func numberOrNone(n number) float64 {
	if n == 0 {
		return crawler.None
	}
	return float64(n)
}

// durationOrNone is a Config's duration for d, None standing for a 0 that was given.
func durationOrNone(d duration) time.Duration {
	if d <= 0 {
		return crawler.None
	}
	return time.Duration(d)
}

// limitOf is a Config's duration for d where 0 stands for no limit.
func limitOf(d duration) time.Duration { return max(0, time.Duration(d)) }

// publicly are references as they may be shown: those that are not valid URLs may have a password in them.
func publicly(refs []string) []string {
	res := make([]string, len(refs))
	for i, ref := range refs {
		if res[i] = ref; !isURL(ref) {
			res[i] = weburl.Redact(ref)
		}
	}
	return res
}

func isURL(s string) bool {
	_, err := weburl.Parse(s)
	return err == nil
}
