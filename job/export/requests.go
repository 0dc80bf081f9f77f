package export

import (
	"hash/maphash"
	"iter"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// Request is a request as the ledger records it: a row of the table of requests.
type Request struct {
	Start ledger.Entry // for an unsent request, the unsent entry
	End   ledger.Entry // zero if the request has no end

	Pause  time.Duration // time since the end of the previous request to the host by the same process; 0 if there was none
	Owed   time.Duration // part of Pause in which a clause of Start did not yet allow the request
	Clause string        // name of the clause that delayed the request longest; "" if there is none
}

// Requests returns the requests of the job in the order in which they ended. Requests without an end come last among those of
// their process. The sequence ends after an error, including the error of the context.
func (x *Export) Requests() iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		j := &joiner{open: map[uint64]*Request{}, ended: map[uint64]time.Time{}, seed: maphash.MakeSeed()}
		give := func(r *Request) bool {
			if err := x.step(&x.done.Requests); err != nil {
				yield(nil, err)
				return false
			}
			return yield(r, nil)
		}
		for e, err := range x.Job.Ledger() {
			if err != nil {
				yield(nil, err)
				return
			}
			if e.Event != ledger.Head && e.Run != j.run && !j.next(e.Run, give) {
				return
			}
			if r := j.add(e); r != nil && !give(r) {
				return
			}
		}
		j.next("", give)
	}
}

// joiner joins the lines of each request.
type joiner struct {
	run   string
	open  map[uint64]*Request // requests that have not ended, by ID
	order []uint64            // IDs of the requests in open, and of some requests that have ended
	ended map[uint64]time.Time
	seed  maphash.Seed
}

// next starts the lines of another process. Requests that are still open were cut off by the end of the previous process.
func (j *joiner) next(run string, give func(*Request) bool) bool {
	for _, id := range j.order {
		if r := j.open[id]; r != nil && !give(r) {
			return false
		}
		delete(j.open, id)
	}
	j.run, j.order = run, j.order[:0]
	clear(j.ended)
	return true
}

// add adds a line, and returns the request that it completes, if any.
func (j *joiner) add(e *ledger.Entry) *Request {
	switch e.Event {
	case ledger.Unsent:
		return &Request{Start: *e}
	case ledger.Start:
		r := &Request{Start: *e}
		r.wait(j.ended[j.host(e.Host)])
		j.open[e.ID] = r
		if j.order = append(j.order, e.ID); len(j.order) > 2*len(j.open)+1000 {
			j.tidy()
		}
	case ledger.End:
		r := j.open[e.ID]
		if r == nil {
			return nil
		}
		delete(j.open, e.ID)
		r.End = *e
		j.ended[j.host(r.Start.Host)] = later(e.Ended, e.Reported)
		return r
	}
	return nil
}

func (j *joiner) host(name string) uint64 { return maphash.String(j.seed, name) }

// tidy removes the IDs of requests that have ended.
func (j *joiner) tidy() {
	kept := j.order[:0]
	for _, id := range j.order {
		if j.open[id] != nil {
			kept = append(kept, id)
		}
	}
	j.order = kept
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// wait sets the pause before the request.
func (r *Request) wait(before time.Time) {
	var until time.Time
	for _, c := range r.Start.Clauses {
		if c.Until.After(until) {
			until, r.Clause = c.Until, c.Name
		}
	}
	if before.IsZero() || r.Start.Written.Before(before) {
		return
	}
	r.Pause, r.Owed = r.Start.Written.Sub(before), max(0, until.Sub(before))
}

// Requests returns the table of requests, which only the crawler can record, with the pauses before them.
func Requests() *Table {
	rows := func(x *Export) iter.Seq2[*Request, error] { return x.Requests() }
	return tableOf("requests", "a request of the ledger, robots.txt included, in the order in which they ended", rows, append(startFields(), endFields()...))
}

func startFields() []field[*Request] {
	return []field[*Request]{
		{Column{"run", Text, "names the process that sent it"}, func(r *Request) Value { return text(r.Start.Run) }},
		{Column{"id", Int, "its number in that process"}, func(r *Request) Value { return number(int64(r.Start.ID)) }},
		{Column{"purpose", Text, "page, robots, sitemap, …"}, func(r *Request) Value { return text(r.Start.Purpose) }},
		{Column{"url", Text, "the URL that was requested"}, func(r *Request) Value { return text(r.Start.URL) }},
		{Column{"for_url", Text, "the page whose robots.txt this is"}, func(r *Request) Value { return text(r.Start.For) }},
		{Column{"host", Text, "host:port, always with the port"}, func(r *Request) Value { return text(r.Start.Host) }},
		{Column{"domain", Text, "registrable domain, if domains have a pace of their own"}, func(r *Request) Value { return text(r.Start.Domain) }},
		{Column{"addr", Text, "address of the server"}, func(r *Request) Value { return text(r.Start.Addr) }},
		{Column{"attempt", Int, "0 for the first"}, func(r *Request) Value { return count(r.Start.Attempt) }},
		{Column{"agent", Text, "User-Agent header"}, func(r *Request) Value { return text(r.Start.Agent) }},
		{Column{"sent", Bool, "whether a byte of it was sent"}, func(r *Request) Value { return boolean(r.Start.Event != ledger.Unsent) }},
		{Column{"queued", Time, "when the URL was queued"}, func(r *Request) Value { return moment(r.Start.Queued) }},
		{Column{"allowed", Time, "when it was admitted"}, func(r *Request) Value { return moment(r.Start.Allowed) }},
		{Column{"written", Time, "when its first byte was about to leave"}, func(r *Request) Value { return moment(r.Start.Written) }},
		{Column{"pause_s", Float, "seconds since the end of the previous request to the host by the same process, null for the first"}, func(r *Request) Value { return seconds(r.Pause, r.Pause > 0) }},
		{Column{"owed_s", Float, "seconds of them that were owed: by the longest of its clauses"}, func(r *Request) Value { return seconds(r.Owed, r.Pause > 0) }},
		{Column{"clause", Text, "what the request had to wait for longest: delay, crawl_delay, backoff, …"}, func(r *Request) Value { return text(r.Clause) }},
		{Column{"clauses", List, "all that it had to wait for, each as \"clause time\""}, func(r *Request) Value { return list(clauses(r.Start.Clauses)) }},
		{Column{"override", Text, "reason of the override that let it through"}, func(r *Request) Value { return text(r.Start.Override) }},
		{Column{"signed", Text, "ID of the key that signed it"}, func(r *Request) Value { return text(r.Start.Signed) }},
	}
}

func clauses(all []ledger.Clause) (texts []string) {
	for _, c := range all {
		texts = append(texts, c.Name+" "+c.Until.UTC().Format(timeForm))
	}
	return texts
}

// last returns the line with the result: the end of the request, or its unsent entry.
func (r *Request) last() *ledger.Entry {
	if r.Start.Event == ledger.Unsent {
		return &r.Start
	}
	return &r.End
}

func endFields() []field[*Request] {
	return []field[*Request]{
		{Column{"first_byte", Time, "when the answer began"}, func(r *Request) Value { return moment(r.last().FirstByte) }},
		{Column{"ended", Time, "when it was over; null if the process ended before"}, func(r *Request) Value { return moment(r.last().Ended) }},
		{Column{"took_s", Float, "seconds that it took"}, func(r *Request) Value {
			return seconds(r.End.Ended.Sub(r.Start.Written), !r.End.Ended.IsZero())
		}},
		{Column{"status", Int, "status of the answer, null without one"}, func(r *Request) Value { return positive(r.last().Status) }},
		{Column{"bytes", Int, "length of the body as received"}, func(r *Request) Value {
			return Value{Valid: r.End.Event != "", Int: r.End.Bytes}
		}},
		{Column{"error", Text, "error message, if it failed"}, func(r *Request) Value { return text(r.last().Err) }},
		{Column{"timeout", Bool, "the error is that something took too long"}, func(r *Request) Value { return boolean(r.last().Timeout) }},
		{Column{"truncated", Text, "why the body is not complete"}, func(r *Request) Value { return text(r.last().Truncated) }},
		{Column{"aborted", Bool, "broken off by the crawler"}, func(r *Request) Value { return boolean(r.last().Aborted) }},
		{Column{"retry_after", Text, "Retry-After of the answer, with any status"}, func(r *Request) Value { return text(r.last().RetryAfter) }},
		{Column{"rate_limit", Text, "item of RateLimit that says that a quota is used up"}, func(r *Request) Value { return text(r.last().RateLimit) }},
		{Column{"wall", Text, "name of the bot wall whose challenge the answer is"}, func(r *Request) Value { return text(r.last().Wall) }},
		{Column{"location", Text, "Location of a redirect"}, func(r *Request) Value { return text(r.last().Location) }},
		{Column{"sha256", Text, "SHA-256 of a robots.txt's body, hexadecimal"}, func(r *Request) Value { return text(r.last().SHA256) }},
	}
}
