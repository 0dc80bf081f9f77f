package robots

import (
	"strings"
	"time"
)

// dateLayouts are the forms of unavailable_after that occur: RFC 822 and its successors, RFC 850, ISO 8601, and those of the
// search engines' examples. Zones are cut off before.
var dateLayouts = [...]string{
	"Mon, 2 Jan 2006 15:04:05",
	"Monday, 2-Jan-06 15:04:05",
	"Monday, 2-Jan-2006 15:04:05",
	"Mon, 2-Jan-2006 15:04:05",
	"2 Jan 2006 15:04:05",
	"2 Jan 06 15:04:05",
	"2-Jan-2006 15:04:05",
	"2-Jan-06 15:04:05",
	"2 Jan 2006 15:04",
	"2-Jan-2006 15:04",
	"Mon Jan 2 15:04:05 2006",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05",
	"2006-01-02",
	"2-Jan-2006",
	"2 Jan 2006",
}

// zones are the names of RFC 5322 section 4.3, with the two that European pages use, in hours from UTC.
var zones = map[string]int{
	"ut": 0, "utc": 0, "gmt": 0, "z": 0,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
	"cet": 1, "cest": 2,
}

// parseAnyDate reads a date with or without zone; without one, or with one of unknown name, it is in
// UTC.
func parseAnyDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339, time.RFC1123Z, "2 Jan 2006 15:04:05 -0700", "2-Jan-2006 15:04:05 -0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	s, offset := cutZone(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Add(-offset), true
		}
	}
	return time.Time{}, false
}

// cutZone takes a zone's name off the end of a date.
func cutZone(s string) (date string, offset time.Duration) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return strings.TrimSuffix(s, "Z"), 0
	}
	name := s[i+1:]
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return s, 0
	}
	return s[:i], time.Duration(zones[strings.ToLower(name)]) * time.Hour
}
