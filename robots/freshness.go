package robots

import (
	"strconv"
	"strings"
	"time"
)

// Limits of the time for which a robots.txt may be used.
const (
	// MaxFreshness is the maximum of every lifetime (RFC 9309 section 2.4: not more than 24 hours).
	MaxFreshness = 24 * time.Hour
	// defaultFreshness is the lifetime of responses that declare none.
	defaultFreshness = 24 * time.Hour
	// MinFreshness is the minimum, whatever the response declares. Otherwise, a file marked no-store or already expired would be
	// requested before every page.
	MinFreshness = time.Minute
)

// Freshness returns the time from now for which a response to /robots.txt may be used, between [MinFreshness] and [MaxFreshness]: its
// lifetime by HTTP (RFC 9111 section 4.2: max-age of Cache-Control, otherwise Expires minus Date; 0 for no-store and no-cache) minus its
// Age. s-maxage is for shared caches and is ignored. The header's keys are in canonical form, as in net/http. now is the time of the
// response.
func Freshness(header map[string][]string, now time.Time) time.Duration {
	life, known := lifetime(header, now)
	if !known {
		return defaultFreshness
	}
	return min(max(life-age(header), MinFreshness), MaxFreshness)
}

// lifetime returns the freshness lifetime of a response, by its header.
func lifetime(header map[string][]string, now time.Time) (time.Duration, bool) {
	if d, ok := cacheControl(header["Cache-Control"]); ok {
		return d, true
	}
	expires := header["Expires"]
	if len(expires) == 0 {
		return 0, false
	}
	until, err := parseHTTPTime(expires[0])
	if err != nil {
		return 0, true // RFC 9111 section 5.3: an invalid Expires means expired
	}
	if date, err := parseHTTPTime(first(header["Date"])); err == nil {
		now = date
	}
	return until.Sub(now), true
}

// cacheControl reads the directives about the lifetime. Of several max-age values, the smallest applies.
func cacheControl(values []string) (life time.Duration, known bool) {
	for _, v := range values {
		for d := range strings.SplitSeq(v, ",") {
			name, arg, _ := strings.Cut(strings.TrimSpace(d), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store", "no-cache":
				return 0, true
			case "max-age":
				if age := deltaSeconds(arg); !known || age < life {
					life, known = age, true
				}
			}
		}
	}
	return life, known
}

// age returns the value of the Age header (RFC 9111 section 5.1).
func age(header map[string][]string) time.Duration {
	if v := first(header["Age"]); v != "" {
		return deltaSeconds(v)
	}
	return 0
}

// deltaSeconds implements RFC 9111 section 1.2.2: digits, with or without quotes. A number that is too large becomes the largest, an
// unreadable one becomes 0.
func deltaSeconds(s string) time.Duration {
	n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(s), `"`), 10, 31)
	switch {
	case err == nil:
		return time.Duration(n) * time.Second
	case n > 0: // the number is out of range
		return (1<<31 - 1) * time.Second
	}
	return 0
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// parseHTTPTime reads the three date forms of RFC 9110 section 5.6.7.
func parseHTTPTime(s string) (t time.Time, err error) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err = time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t, nil
		}
	}
	return t, err
}
