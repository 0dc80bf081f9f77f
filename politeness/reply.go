package politeness

import (
	"net/http"
	"time"
)

// Reply is the outcome of a request.
type Reply struct {
	Status    int         // 0 without an answer
	Header    http.Header // may be nil
	Body      []byte      // needed for the purposes Robots and Terms only
	Truncated string      // why the body is not whole, "" when it is: CutByLength, CutShort, CutIdle or another
	Err       error       // why there is no answer
	Aborted   bool        // given back or broken off by the crawler: says nothing about the host
	// Unused: the answer came from elsewhere, and nothing was done by the Permit. The Gate gives the host back as it was: there is
	// no pause and no line in the ledger. It counts for a Permit that was never redeemed and is not for a robots.txt; for any other
	// it means nothing.
	Unused bool
	// Challenged: the answer requests a signature, and the request is to be made once more with it. A robots.txt then counts
	// as not answered; its host rests as after any answer.
	Challenged bool
	// Wall names the bot wall whose challenge the answer is; "" for any other answer. A robots.txt then counts as unreachable,
	// and any other URL as a failure of its host, whatever the status.
	Wall      string
	Written   time.Time // the request's first byte, zero when none was written
	FirstByte time.Time // the answer's first byte
	Ended     time.Time // zero: now
	WireBytes int64     // body bytes received
}

// Values of Reply.Truncated that the Gate knows. A robots.txt that is not whole counts as unreachable, whatever the reason,
// except for CutByLength: one that was cut at the crawler's limit is read as far as it goes (RFC 9309 section 2.5). A page
// that is not whole is a failure of the host only with CutShort or CutIdle.
const (
	CutByLength = "length"       // longer than we read
	CutShort    = "cut_short"    // the connection ended before the message did
	CutIdle     = "idle_timeout" // the host stopped sending
)
