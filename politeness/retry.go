package politeness

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// obeyRetryAfter holds the host as long as its Retry-After says, in full, or gives it up (P7).
func (h *host) obeyRetryAfter(c *Config, now time.Time, r Reply) {
	t, ok := retryAfter(r, now)
	if !ok || c.Offline {
		return
	}
	h.hold(t, t.Sub(now), ledger.ClauseRetryAfter)
	if t.Sub(now) > c.MaxRetryAfter {
		h.giveUp(ReasonRetryAfter, "the host requests a pause until "+t.UTC().Format(time.RFC3339)+", longer than this crawl waits")
	}
}

// retryAfter returns the instant before which an answer, with any status, requests no further request (RFC 9110 section
// 10.2.3); of several the latest.
func retryAfter(r Reply, now time.Time) (latest time.Time, ok bool) {
	for _, v := range r.Header.Values("Retry-After") {
		if t, named := retryTime(strings.TrimSpace(v), r, now); named && (!ok || t.After(latest)) {
			latest, ok = t, true
		}
	}
	return latest, ok
}

// longestRetryAfter is the Retry-After that retryAfter reads, as the answer has it; "" when there is none.
func longestRetryAfter(r Reply, now time.Time) (value string) {
	var latest time.Time
	for _, v := range r.Header.Values("Retry-After") {
		if t, named := retryTime(strings.TrimSpace(v), r, now); named && t.After(latest) || value == "" {
			value, latest = v, t
		}
	}
	return value
}

// retryTime reads one value: a number of seconds, however large, or a date.
func retryTime(v string, r Reply, now time.Time) (time.Time, bool) {
	s, err := strconv.ParseUint(v, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return now.Add(seconds(s)), true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return time.Time{}, false
	}
	t = t.Add(clockSkew(r, now))
	return t, t.After(now)
}

// clockSkew corrects a date for a server whose clock is behind ours, by its Date header. A server whose clock is ahead is
// not corrected, which only lengthens the wait.
func clockSkew(r Reply, now time.Time) time.Duration {
	d, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, now.Sub(d))
}

// seconds is s seconds without overflow.
func seconds(s uint64) time.Duration {
	const most = 1 << 32 // 136 years
	return time.Duration(min(s, most)) * time.Second
}
