package render

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sharing describes for which requests an answer may be used.
type sharing struct {
	shared  bool      // whether the answer may be used for pages other than the page for which it was requested
	pinned  bool      // whether the answer may be used until the end of the crawl, whatever its age
	expires time.Time // if not pinned: time until which the answer may be used
	accept  bool      // whether the answer may only be used for requests with the same Accept header
}

// maxHeuristic limits the lifetime of an answer whose header does not state one.
const maxHeuristic = 24 * time.Hour

// share determines how an answer received at the time at may be shared, by RFC 9111 for a private cache. Scripts, workers and style sheets
// that may be stored and need no validation are kept for the whole crawl, so that the crawl sees one version of a site.
func share(k Kind, a *Answer, at time.Time) sharing {
	d := directives(a.Header)
	_, noStore := d["no-store"]
	_, noCache := d["no-cache"]
	vary := strings.Join(a.Header.Values("Vary"), ",")
	if noStore || noCache || strings.Contains(vary, "*") || a.Truncated != "" {
		return sharing{}
	}
	s := sharing{accept: mentions(vary, "accept")}
	lifetime, explicit := lifetime(a, d, at)
	s.pinned = slices.Contains([]Kind{KindScript, KindWorker, KindStyle}, k) && (a.Status == 200 || permanent(a.Status))
	s.expires = at.Add(lifetime - age(a.Header, at))
	s.shared = s.pinned || s.expires.After(at) && (explicit || heuristic(a.Status))
	return s
}

// directives returns the directives of Cache-Control in lower case, with their arguments (RFC 9111 section 5.2).
func directives(h http.Header) map[string]string {
	d := map[string]string{}
	for _, line := range h.Values("Cache-Control") {
		for item := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
			name = strings.ToLower(name)
			if _, dup := d[name]; !dup {
				d[name] = strings.Trim(value, `"`)
			}
		}
	}
	if len(h.Values("Cache-Control")) == 0 && mentions(h.Get("Pragma"), "no-cache") { // RFC 9111 section 5.4
		d["no-cache"] = ""
	}
	return d
}

// lifetime returns the freshness lifetime (RFC 9111 section 4.2.1), and whether a header states it.
func lifetime(a *Answer, d map[string]string, at time.Time) (time.Duration, bool) {
	if v, ok := d["max-age"]; ok {
		return seconds(v), true
	}
	date, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		date = at
	}
	if v := a.Header.Get("Expires"); v != "" {
		t, err := http.ParseTime(v)
		if err != nil {
			return 0, true // an invalid date means the past (RFC 9111 section 5.3)
		}
		return t.Sub(date), true
	}
	if t, err := http.ParseTime(a.Header.Get("Last-Modified")); err == nil && t.Before(date) {
		return min(date.Sub(t)/10, maxHeuristic), false // RFC 9111 section 4.2.2
	}
	return 0, false
}

// age returns the age of the answer when it was received (RFC 9111 section 4.2.3).
func age(h http.Header, at time.Time) time.Duration {
	apparent := time.Duration(0)
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		apparent = max(0, at.Sub(date))
	}
	return max(apparent, seconds(h.Get("Age")))
}

// seconds parses delta-seconds (RFC 9111 section 1.2.2). An invalid value counts as 0, too large a value as 2^31.
func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil && strings.Trim(s, "0123456789") == "" && s != "" {
		n = 1 << 31
	}
	return time.Duration(n) * time.Second
}

// heuristic reports whether an answer with this status may be reused although no lifetime is stated (RFC 9110 section 15.1).
func heuristic(status int) bool {
	return slices.Contains([]int{200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}, status)
}

func permanent(status int) bool { return status == 301 || status == 308 }

func mentions(list, name string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(item), name) {
			return true
		}
	}
	return false
}
