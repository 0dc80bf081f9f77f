package politeness

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// line is a ledger entry as Replay interprets it.
type line struct{ *ledger.Entry }

func (e line) purpose() Purpose {
	switch e.Purpose {
	case Robots.String():
		return Robots
	case Sitemap.String():
		return Sitemap
	case Login.String():
		return Login
	case Resource.String():
		return Resource
	case Terms.String():
		return Terms
	}
	return Page
}

// time returns the time of the Gate's state that the line describes.
func (e line) time() time.Time {
	for _, t := range []time.Time{e.Reported, e.Ended} {
		if !t.IsZero() {
			return t
		}
	}
	return e.Allowed
}

// needsBody reports whether the rules are in the body of this response for a robots.txt.
func (e line) needsBody() bool {
	return e.Err == "" && e.Wall == "" && robots.ForStatus(e.Status) == robots.Obey && (e.Truncated == "" || e.Truncated == CutByLength)
}

func (e line) isHash(sum [sha256.Size]byte) bool {
	var buf [2 * sha256.Size]byte
	return string(hex.AppendEncode(buf[:0], sum[:])) == e.SHA256
}

// life returns how long a response for a robots.txt stays fresh after its end.
func (e line) life(ended time.Time) time.Duration {
	return min(max(e.Expires.Sub(ended), robots.MinFreshness), robots.MaxFreshness)
}

// reply returns the reply that the line describes.
func (e line) reply() Reply {
	r := Reply{Status: e.Status, Truncated: e.Truncated, Aborted: e.Aborted, Challenged: e.Challenged, Wall: e.Wall, Ended: e.Ended, Header: http.Header{}}
	if e.Err != "" {
		r.Err = errFailed
	}
	if e.Timeout {
		r.Err = os.ErrDeadlineExceeded
	}
	for _, f := range [...]struct{ name, value string }{{"Location", e.Location}, {"Retry-After", e.RetryAfter}, {rateLimitField, e.RateLimit}, {"Date", e.Date}} {
		if f.value != "" {
			r.Header[f.name] = []string{f.value}
		}
	}
	return r
}

// urls returns the URL that was requested and the URL that needed the request: usually the same, but for a robots.txt the URL
// it was fetched for. A resource needs only itself: the page that loads it has another clock.
func (e line) urls() (target, wanted weburl.URL, err error) {
	if target, err = weburl.Parse(e.URL); err != nil {
		return target, wanted, err
	}
	if e.For == "" || e.purpose() == Resource {
		return target, target, nil
	}
	wanted, err = weburl.Parse(e.For)
	return target, wanted, err
}
