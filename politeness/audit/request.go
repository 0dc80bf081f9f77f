package audit

import (
	"time"
)

// Line is one line of the ledger, as far as a check needs it.
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
	Shares   bool      `json:"shares"`  // what this robots.txt is answered is used by other crawls, too
	Dropped  time.Time `json:"dropped"` // other crawls' robots.txt files that were received up to then may be gone
	Agent    string    `json:"agent"`
	Override string    `json:"override"`
	Signed   string    `json:"signed"`
	Behind   float64   `json:"behind"` // seconds that its process's clock is behind the lines before, as that process says
	Queued   time.Time `json:"queued"`
	Allowed  time.Time `json:"allowed"`
	Written  time.Time `json:"written"`
	Clauses  []Clause  `json:"clauses"`
}

// Clause is a reason to wait that a line names.
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
	By         string    `json:"by"` // of "copied": the crawl that requested it, and its run
	ByRun      string    `json:"by_run"`
	Wall       string    `json:"wall"`    // the bot wall whose challenge the answer is
	Through    uint64    `json:"through"` // up to this ID, each permit has a line before
}

// request is a start line with its end line.
type request struct {
	line  int // of its start
	last  int // of its end
	run   string
	id    uint64
	epoch int // its times can be compared only with those of the same epoch
	start StartLine
	end   *EndLine // nil when the process ended first
	ended EndLine  // what end points to
	clock *clock   // of its host, in a Pacer

	before, after time.Duration // the delay that its host's robots.txt requested at its start and its end
	alive         time.Time     // without an end: when its process wrote its last line
	failures      int           // of a robots.txt: consecutive attempts that failed, this one included
	copied        bool          // no request: a robots.txt that another crawl had requested
	late          bool          // it was answered after another process had taken over
	unstored      bool          // it was answered when its process stored nothing more
}

// heard is when the crawler knew of the end of the request, which it has.
func (r *request) heard() time.Time {
	if r.end.Reported.After(r.end.Ended) {
		return r.end.Reported
	}
	return r.end.Ended
}

// over is when the request was over, as late as the ledger proves: one without an end was not over before its process wrote
// its last line.
func (r *request) over() time.Time {
	if r.end == nil {
		return r.alive
	}
	return r.end.Ended
}

// wanted is the page for which a robots.txt was requested.
func (r *request) wanted() string {
	if r.start.For != "" {
		return r.start.For
	}
	return r.start.URL
}

// close notes the end of the request.
func (r *request) close(end *EndLine, line int) {
	r.ended, r.last = *end, line
	r.end = &r.ended
}

// later is the one of two requests that was over later; a may be nil.
func later(a, b *request) *request {
	if a == nil || b.over().After(a.over()) {
		return b
	}
	return a
}

// group goes through requests by a key, in the order in which the keys first appear, without "".
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
