package render

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   Kind
		status int
		header string // lines of the header
		want   string // whether shared, whether pinned, and for how long
	}{
		{"nothing said", KindFetch, 200, "", "alone"},
		{"max-age", KindFetch, 200, "Cache-Control: max-age=60", "1m0s"},
		{"quoted, with others, in other case", KindFetch, 200, `Cache-Control: Public, MAX-AGE="60"`, "1m0s"},
		{"the first of two", KindFetch, 200, "Cache-Control: max-age=60, max-age=90", "1m0s"},
		{"private is ours", KindFetch, 200, "Cache-Control: private, max-age=60", "1m0s"},
		{"s-maxage is not ours", KindFetch, 200, "Cache-Control: s-maxage=60", "alone"},
		{"max-age that is none", KindFetch, 200, "Cache-Control: max-age=soon", "alone"},
		{"max-age beyond numbers", KindFetch, 200, "Cache-Control: max-age=99999999999999999999", "596523h14m8s"},
		{"no-store", KindScript, 200, "Cache-Control: no-store, max-age=60", "alone"},
		{"no-cache", KindScript, 200, "Cache-Control: no-cache", "alone"},
		{"no-cache of HTTP/1.0", KindScript, 200, "Pragma: no-cache", "alone"},
		{"which Cache-Control overrules", KindFetch, 200, "Pragma: no-cache\nCache-Control: max-age=60", "1m0s"},
		{"Expires", KindFetch, 200, "Date: Fri, 02 Jan 2026 12:00:00 GMT\nExpires: Fri, 02 Jan 2026 13:00:00 GMT", "1h0m0s"},
		{"Expires of another clock", KindFetch, 200, "Date: Fri, 02 Jan 2026 11:00:00 GMT\nExpires: Fri, 02 Jan 2026 13:00:00 GMT", "1h0m0s"},
		{"Expires that is none", KindFetch, 200, "Expires: 0\nLast-Modified: Fri, 02 Jan 2026 02:00:00 GMT", "alone"},
		{"max-age before Expires", KindFetch, 200, "Cache-Control: max-age=60\nExpires: Fri, 02 Jan 2026 13:00:00 GMT", "1m0s"},
		{"Last-Modified", KindFetch, 200, "Last-Modified: Fri, 02 Jan 2026 02:00:00 GMT", "1h0m0s"},
		{"long ago", KindFetch, 200, "Last-Modified: Fri, 02 Jan 2015 02:00:00 GMT", "24h0m0s"},
		{"Age", KindFetch, 200, "Cache-Control: max-age=60\nAge: 20", "40s"},
		{"too old", KindFetch, 200, "Cache-Control: max-age=60\nAge: 60", "alone"},
		{"a Date before", KindFetch, 200, "Cache-Control: max-age=60\nDate: Fri, 02 Jan 2026 11:59:30 GMT", "30s"},
		{"Vary: *", KindScript, 200, "Vary: Origin, *\nCache-Control: max-age=60", "alone"},
		{"Vary: Accept", KindFetch, 200, "Vary: Origin, accept\nCache-Control: max-age=60", "1m0s accept"},
		{"Vary: Accept-Encoding", KindFetch, 200, "Vary: Accept-Encoding\nCache-Control: max-age=60", "1m0s"},
		{"not found", KindFetch, 404, "Last-Modified: Fri, 02 Jan 2026 02:00:00 GMT", "1h0m0s"},
		{"an error with an age", KindFetch, 500, "Cache-Control: max-age=60", "1m0s"},
		{"an error", KindFetch, 500, "Last-Modified: Fri, 02 Jan 2026 02:00:00 GMT", "alone"},
		{"a script", KindScript, 200, "", "pinned"},
		{"a style sheet, stale", KindStyle, 200, "Cache-Control: max-age=0, must-revalidate", "pinned"},
		{"a worker", KindWorker, 200, "", "pinned"},
		{"a script that is not found", KindScript, 404, "", "alone"},
		{"a script that has moved", KindScript, 301, "", "pinned"},
		{"a script that is elsewhere now", KindScript, 302, "", "alone"},
	} {
		h := http.Header{}
		for line := range strings.Lines(c.header) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
			h.Add(k, v)
		}
		s := share(c.kind, &Answer{Status: c.status, Header: h}, noon)
		got := "alone"
		switch {
		case s.pinned:
			got = "pinned"
		case s.shared:
			got = s.expires.Sub(noon).String()
		}
		if s.accept && s.shared {
			got += " accept"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if s := share(KindScript, &Answer{Status: 200, Truncated: "length"}, noon); s.shared {
		t.Error("a script that was cut is shared")
	}
}
