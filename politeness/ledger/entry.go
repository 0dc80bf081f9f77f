// Package ledger is the record of every request that a crawl makes: JSON lines in a file that only grows.
//
// A [Writer] writes entries, each completely or not at all, usually to a [File], which removes an incomplete last line that
// a killed process left. A [Reader] reads entries one after another in bounded memory; [Entry.Parse] reads a single line.
// Package politeness writes the ledger and restores its clocks from it. Package politeness/audit checks a ledger and shares
// no code with this package, so that a mistake here is not repeated there.
//
//	r := ledger.NewReader(file, 0)
//	for e, err := r.Next(); err == nil; e, err = r.Next() { // until io.EOF
//		fmt.Println(e.Event, e.URL, e.Status)
//	}
package ledger

import "time"

// Entry is one line of the ledger. A request has two: "start", written before its first byte leaves, and "end". A
// start without an end is a request that was interrupted by the end of the process. A request of which no byte was
// sent has a single line, "unsent": the name did not resolve, no connection was made, or the permit was not used. A
// permit that its holder never reported has no line. Two events are not requests. A "head" is the signed state of the
// chain before its line. A "copied" is a robots.txt that was not requested because another crawl had requested it:
// Ended, Status, Err, Wall, SHA256 and Expires are those of that crawl. If its attempts failed, Attempt is their
// number and Expires is the earliest time of the next. Reported is when this crawl began to obey the response.
//
// Each line ends with two members that the [Writer] adds and that are not fields of Entry: "line", its number from 1, and
// "chain", the [Chain] up to and including it in base64url (RFC 4648 section 5, no padding).
type Entry struct {
	Event     string    `json:"event"` // Start, End, Unsent, Copied or Head
	Run       string    `json:"run"`   // identifies the process's Gate: each process numbers its IDs separately
	ID        uint64    `json:"id"`
	URL       string    `json:"url,omitempty"`
	For       string    `json:"for,omitempty"` // the URL whose robots.txt this is, or the page that needs this resource
	Host      string    `json:"host,omitempty"`
	Domain    string    `json:"domain,omitempty"` // registrable domain, if domains have clocks
	Addr      string    `json:"addr,omitempty"`
	Purpose   string    `json:"purpose,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Queued    time.Time `json:"queued,omitzero"`
	Allowed   time.Time `json:"allowed,omitzero"`
	Written   time.Time `json:"written,omitzero"`
	Clauses   []Clause  `json:"clauses,omitempty"`  // the waits before the request
	Override  string    `json:"override,omitempty"` // reason of the override that permitted the request
	Signed    string    `json:"signed,omitempty"`   // the ID of the key that signed the request
	Slot      int       `json:"slot,omitempty"`     // the number of the own host's clock that the request used, from 1
	Shares    bool      `json:"shares,omitempty"`   // other crawls use the response to this request for robots.txt, too
	Dropped   time.Time `json:"dropped,omitzero"`   // robots.txt files of other crawls received up to this time may have been dropped for lack of space, which is why this one is requested
	Behind    Duration  `json:"behind,omitempty"`   // how far this process's clock is behind the lines of earlier ones
	FirstByte time.Time `json:"first_byte,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Reported  time.Time `json:"reported,omitzero"` // when the Gate received the report, and pauses began, if later than Ended
	Took      Duration  `json:"took,omitempty"`    // time from the request to Ended, to the nanosecond: pauses may depend on it
	Status    int       `json:"status,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"` // bytes of the body as received
	Err       string    `json:"error,omitempty"`
	Timeout   bool      `json:"timeout,omitempty"` // the error is a timeout
	Truncated string    `json:"truncated,omitempty"`
	Aborted   bool      `json:"aborted,omitempty"` // broken off by the crawler: says nothing about the host

	// Facts of the response's header, and of a robots.txt's body, that a check needs.
	RetryAfter string `json:"retry_after,omitempty"` // field of a response with any status; the longest one if there are several
	RateLimit  string `json:"rate_limit,omitempty"`  // the item of RateLimit with r=0 that has the longest t
	Date       string `json:"date,omitempty"`        // the response's Date, with RetryAfter
	Location   string `json:"location,omitempty"`    // user and password masked
	SHA256     string `json:"sha256,omitempty"`      // hash of a robots.txt's body, in hexadecimal

	// Challenged: the response requests a signature, so it says nothing about the URL. A robots.txt is requested
	// again.
	Challenged bool `json:"challenged,omitempty"`

	// Wall names the bot wall whose challenge the response is. A robots.txt with a challenge counts as unreachable.
	Wall string `json:"wall,omitempty"`

	Expires time.Time `json:"expires,omitzero"` // when the rules of this robots.txt expire

	// Set only in "copied": the crawl that requested the robots.txt ("" if it has no name), the Run
	// in its ledger, and the URLs of redirects that led to the answer, separated by spaces.
	By    string `json:"by,omitempty"`
	ByRun string `json:"by_run,omitempty"`
	Via   string `json:"via,omitempty"`

	Through uint64 `json:"through,omitempty"` // every permit of this run up to this ID has a line before this one

	Token string `json:"token,omitempty"` // signature of a "head": a JWS
}

// Values of Entry.Event.
const (
	Start  = "start"
	End    = "end"
	Unsent = "unsent"
	Copied = "copied"
	Head   = "head"
)

// Ceil rounds t up to a whole microsecond; the zero Time is returned unchanged. The Gate uses only such instants, which
// the ledger can express, so that a replay restores exactly the Gate's state. Rounding up keeps the order of events, and
// no pause ends early because of it.
func Ceil(t time.Time) time.Time {
	if d := time.Duration(t.Nanosecond() % 1000); d > 0 {
		return t.Add(time.Microsecond - d)
	}
	return t
}
