package article

import (
	"strings"
	"time"
)

// layouts are the formats of dates in the markup of pages, those with a zone first.
var layouts = []struct {
	layout string
	as     string // output format
}{
	{time.RFC3339, time.RFC3339}, {"2006-01-02T15:04:05Z0700", time.RFC3339}, {"2006-01-02T15:04Z07:00", time.RFC3339}, {"2006-01-02T15:04Z0700", time.RFC3339},
	{"2006-01-02 15:04:05 -0700", time.RFC3339}, {"2006-01-02 15:04:05 MST", time.DateOnly}, {time.RFC1123Z, time.RFC3339}, {time.RFC1123, time.RFC3339},
	{"2006-01-02T15:04:05", time.DateOnly}, {"2006-01-02T15:04", time.DateOnly}, {time.DateTime, time.DateOnly}, {"2006-01-02 15:04", time.DateOnly},
	{time.DateOnly, time.DateOnly}, {"2006/01/02", time.DateOnly}, {"20060102", time.DateOnly}, {"2006-1-2", time.DateOnly},
	{"January 2, 2006", time.DateOnly}, {"Jan 2, 2006", time.DateOnly}, {"2 January 2006", time.DateOnly}, {"2 Jan 2006", time.DateOnly},
}

// firstDate returns the first valid date among the texts, in the form of RFC 3339. Of a time without a zone, it returns only the date.
func firstDate(texts ...string) string {
	for _, s := range texts {
		s = strings.TrimSpace(s)
		if len(s) > 64 {
			continue
		}
		for _, l := range layouts {
			if t, err := time.Parse(l.layout, s); err == nil && t.Year() > 1000 && t.Year() < 3000 {
				return t.Format(l.as)
			}
		}
	}
	return ""
}
