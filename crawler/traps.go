package crawler

import (
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Bounds of a path that is not a trap. They have proved themselves in web archives for two decades:
// Heritrix' defaults are 20 segments and 2 repetitions.
const (
	maxSegments    = 25
	maxRepeatedRow = 3
	maxRepeatedAll = 5
)

// trap names what makes a URL look like part of an endless space, "" if nothing does.
func trap(u weburl.URL) string {
	if why := trapPath(u.Path()); why != "" {
		return why
	}
	return trapCalendar(u.PathQuery(), time.Now)
}

// trapPath names what makes a path look like part of an endless space, "" if nothing does.
func trapPath(path string) string {
	path = strings.Trim(path, "/")
	n := strings.Count(path, "/") + 1
	switch {
	case n < maxRepeatedRow:
		return ""
	case n > maxSegments:
		return reasonTrapPath + ": too many segments"
	}
	if repeats(path) {
		return reasonTrapPath + ": segment repeats"
	}
	return ""
}

// repeats reports whether a segment occurs too often in path, which has at most maxSegments.
func repeats(path string) bool {
	var seen [maxSegments]string
	row := 1
	for n, more := 0, true; more; n++ {
		var seg string
		seg, path, more = strings.Cut(path, "/")
		if n > 0 && seg == seen[n-1] {
			row++
		} else {
			row = 1
		}
		all := 1
		for _, s := range seen[:n] {
			if s == seg {
				all++
			}
		}
		if seg != "" && (row >= maxRepeatedRow || all >= maxRepeatedAll) {
			return true
		}
		seen[n] = seg
	}
	return false
}

// calendarWords occur in the paths and queries of generated calendars.
var calendarWords = []string{"calendar", "kalender", "calendrier", "month=", "day=", "date=", "/events/"}

// calendarReach is how many years ahead of today a calendar is followed.
const calendarReach = 3

// trapCalendar names a page of a calendar that lies years ahead, "" for anything else: generated calendars
// link to the next month for ever. Few URLs contain a year, so this is checked first.
func trapCalendar(pathQuery string, now func() time.Time) string {
	year := latestYear(pathQuery)
	if year == 0 || year <= now().Year()+calendarReach {
		return ""
	}
	lower := strings.ToLower(pathQuery)
	for _, w := range calendarWords {
		if strings.Contains(lower, w) {
			return reasonTrapCalendar + ": years ahead"
		}
	}
	return ""
}

// latestYear returns the largest number of exactly four digits in s that is from 1000 to 9999.
func latestYear(s string) int {
	best, run, n := 0, 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			run, n = run*10+int(s[i]-'0'), n+1
			if n > 4 {
				run = 0
			}
			continue
		}
		if n == 4 {
			best = max(best, run)
		}
		run, n = 0, 0
	}
	return best
}
