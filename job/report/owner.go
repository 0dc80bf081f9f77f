package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// ForOwner sums up, for the owner of a host, what a crawl did there.
func ForOwner(h *digest.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "In sum, from %s to %s: %s to the host, %s of them for robots.txt; %s received, %s of the server's time.\n",
		stamp(h.First), stamp(h.Last), plural(h.Requests, "request"), num(h.Robots), bytesText(h.Bytes), span(of(h.Server)))
	if h.Pauses > 0 {
		fmt.Fprintf(&b, "The shortest pause was %s, where %s was owed. ", span(of(h.Least)), span(of(h.Owed)))
	}
	if h.Early > 0 {
		fmt.Fprintf(&b, "%s TOO EARLY, or against another rule of pace.\n", strings.ToUpper(plural(h.Early, "request")))
		return b.String()
	}
	b.WriteString("No request was too early.\n")
	if n := h.Classes[5] + h.TooMany; n > 0 {
		fmt.Fprintf(&b, "The host answered 429 or 5xx %s.\n", howOften(n))
	}
	return b.String()
}

// of is a duration of so many seconds.
func of(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
