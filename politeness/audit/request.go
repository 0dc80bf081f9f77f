package audit

import (
	"time"
)

// Line is one line of the ledger, with the fields that a check needs.
type Line struct {
	Event string `json:"event"` // "start", "end", "unsent", "copied" or "head"
	Run   string `json:"run"`
	ID    uint64 `json:"id"`
	StartLine
	EndLine
}

// StartLine holds the fields of a line that begins a request.
type StartLine struct {
	URL      string    `json:"url"`
	For      string    `json:"for"`
	Host     string    `json:"host"`
	Domain   string    `json:"domain"`
	Addr     string    `json:"addr"`
	Purpose  string    `json:"purpose"`
	Attempt  int       `json:"attempt"`
	Shares   bool      `json:"shares"`  // other crawls use the response to this request for robots.txt, too
	Dropped  time.Time `json:"dropped"` // robots.txt files of other crawls received up to this time may be lost
	Agent    string    `json:"agent"`
	Override string    `json:"override"`
	Signed   string    `json:"signed"`
	Behind   float64   `json:"behind"` // seconds that the process's clock is behind the times of earlier lines, according to the process
	Queued   time.Time `json:"queued"`
	Allowed  time.Time `json:"allowed"`
	Written  time.Time `json:"written"`
	Clauses  []Clause  `json:"clauses"`
}

// Clause is one reason to wait in a line.
type Clause struct {
	Clause string    `json:"clause"`
	Until  time.Time `json:"until"`
}

// EndLine holds the fields of a line that ends a request.
type EndLine struct {
	Ended      time.Time `json:"ended"`
	Reported   time.Time `json:"reported"`
	Expires    time.Time `json:"expires"`
	Aborted    bool      `json:"aborted"`
	Status     int       `json:"status"`
	Error      string    `json:"error"`
	RetryAfter string    `json:"retry_after"`
	RateLimit  string    `json:"rate_limit"`
	Date       string    `json:"date"`
	Location   string    `json:"location"`
	SHA256     string    `json:"sha256"`
	Truncated  string    `json:"truncated"`
	Challenged bool      `json:"challenged"`
	By         string    `json:"by"` // in a "copied" line: name and run of the crawl that requested the file
	ByRun      string    `json:"by_run"`
	Wall       string    `json:"wall"`    // the bot wall that sent the response as a challenge
	Through    uint64    `json:"through"` // every permit up to this ID has a line before this one
}

// request is a start line with its end line.
type request struct {
	line  int // line number of the start line
	last  int // line number of the end line
	run   string
	id    uint64
	epoch int // times of requests can be compared only within an epoch
	start StartLine
	end   *EndLine // nil if the process ended first
	ended EndLine  // memory to which end points
	clock *clock   // clock of its host, only in a Pacer

	before, after time.Duration // delay that the host's robots.txt requested at the start and at the end of the request
	alive         time.Time     // for a request without an end: time of the last line of its process
	failures      int           // of a robots.txt: consecutive attempts that failed, this one included
	copied        bool          // not a request: a robots.txt that another crawl had requested
	late          bool          // the response came after another process had taken over
	settled       bool          // another process has requested the host since, and the request has no end
	unstored      bool          // the response came after the last time that the process stored anything
}

// heard returns the time at which the crawler learned of the end of the request. The request must have an end.
func (r *request) heard() time.Time {
	if r.end.Reported.After(r.end.Ended) {
		return r.end.Reported
	}
	return r.end.Ended
}

// over returns the latest end of the request that the ledger proves: a request without an end lasts at least until its process's
// last line.
func (r *request) over() time.Time {
	if r.end == nil {
		return r.alive
	}
	return r.end.Ended
}

// wanted returns the page for which a robots.txt was requested.
func (r *request) wanted() string {
	if r.start.For != "" {
		return r.start.For
	}
	return r.start.URL
}

// close records the end of the request.
func (r *request) close(end *EndLine, line int) {
	r.ended, r.last = *end, line
	r.end = &r.ended
}

// later returns the one of two requests that ended later. a may be nil.
func later(a, b *request) *request {
	if a == nil || b.over().After(a.over()) {
		return b
	}
	return a
}

// group goes through requests by a key, in the order in which the keys first appear. Requests with the key "" are
// left out.
func group(rs []*request, key func(*request) string) func(func(string, []*request) bool) {
	var order []string
	by := map[string][]*request{}
	for _, r := range rs {
		k := key(r)
		if k == "" {
			continue
		}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], r)
	}
	return func(yield func(string, []*request) bool) {
		for _, k := range order {
			if !yield(k, by[k]) {
				return
			}
		}
	}
}
