package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Limits of the data in memory.
const (
	maxMarks   = 8192 // maximum number of requests
	maxEvents  = 12   // maximum number of refusals and failures
	maxHosts   = 5000 // maximum number of hosts whose last request is kept
	window     = 30 * time.Second
	rateWindow = 120 // window of rates, in seconds
)

// recent holds the latest requests and troubles of a crawl.
type recent struct {
	marks  []mark // oldest first, at most maxMarks
	open   map[flight]int
	base   int // number of the first element of marks, counted from the first request
	hosts  map[string]*lately
	events []work.Trouble // newest last, at most twice maxEvents
	rates  [rateWindow]rate
	run    string // run of the process that wrote the last line
	shared bool   // whether several processes write lines at the same time
}

type flight struct {
	run string
	id  uint64
}

// mark is a request, and the required pause before it.
type mark struct {
	host       string
	site       *lately   // state of the host, or the shared state of hosts beyond maxHosts
	start, end time.Time // end is zero while the request is in flight
	robots     bool
	failed     bool
	owed       [2]time.Time // start and end of the required pause, which starts at the end of the previous request
	held       bool         // whether the site extended the pause, or the pause follows errors
}

// lately holds the state of a host's last request.
type lately struct {
	ended  time.Time
	pause  time.Duration // required pause before the request
	held   bool
	flying int
	lane   int // number of the host's lane while lanes are drawn, from 1; 0: none
}

// rate has the numbers of successful and failed requests in a second.
type rate struct {
	second     int64
	good, evil int
}

// troubleText returns the status of a trouble or, if it has none, the outcome.
func troubleText(t *work.Trouble) string {
	if t.Outcome == "" || t.Status >= 400 {
		return statusText(t.Status)
	}
	return string(t.Outcome)
}

func newRecent() *recent {
	return &recent{open: map[flight]int{}, hosts: map[string]*lately{}}
}

func (r *recent) line(e *ledger.Entry) {
	switch e.Event {
	case ledger.Start:
		r.begin(e)
	case ledger.End:
		r.end(e)
	}
}

func (r *recent) begin(e *ledger.Entry) {
	if e.Run != r.run && !r.shared { // requests of the previous process can no longer end
		r.run = e.Run
		clear(r.open)
		for _, h := range r.hosts {
			h.flying = 0
		}
	}
	h := r.host(e.Host)
	h.flying++
	m := mark{host: e.Host, site: h, start: e.Written, robots: e.Purpose == "robots"}
	if !h.ended.IsZero() && h.ended.Before(e.Written) {
		until, clause := latest(e.Clauses)
		if until.After(h.ended) {
			m.owed, m.held = [2]time.Time{h.ended, until}, digest.HeldBy(clause)
			h.pause, h.held = until.Sub(h.ended), m.held
		}
	}
	if len(r.marks) == maxMarks {
		drop := maxMarks / 2
		r.marks = append(r.marks[:0], r.marks[drop:]...)
		r.base += drop
	}
	r.open[r.flight(e)] = r.base + len(r.marks)
	r.marks = append(r.marks, m)
}

func (r *recent) end(e *ledger.Entry) {
	f := r.flight(e)
	n, ok := r.open[f]
	if !ok {
		return
	}
	delete(r.open, f)
	if n < r.base {
		return
	}
	m := &r.marks[n-r.base]
	m.end, m.failed = e.Ended, e.Status == 0 || e.Status >= 400
	m.site.ended, m.site.flying = e.Ended, max(0, m.site.flying-1)
	r.count(e.Ended, m.failed)
	if m.robots && (e.Status == 0 || e.Status >= 500) {
		r.add(work.Trouble{At: e.Ended, Status: e.Status, URL: "robots.txt of " + m.host, Why: "the site is not entered before it can be read"})
	}
}

// host returns the state of a host. Hosts beyond maxHosts share one state.
func (r *recent) host(name string) *lately {
	h := r.hosts[name]
	if h == nil && len(r.hosts) >= maxHosts {
		name = ""
		h = r.hosts[name]
	}
	if h == nil {
		h = &lately{}
		r.hosts[name] = h
	}
	return h
}

// flight returns the key of a request in flight. If only one process makes requests, the key is just the request's number.
func (r *recent) flight(e *ledger.Entry) flight {
	if !r.shared && e.Run == r.run {
		return flight{"", e.ID}
	}
	return flight{e.Run, e.ID}
}

func (r *recent) count(at time.Time, failed bool) {
	if failed {
		r.countMany(at, 0, 1)
	} else {
		r.countMany(at, 1, 0)
	}
}

func (r *recent) countMany(at time.Time, good, evil int) {
	second := at.Unix()
	c := &r.rates[second%rateWindow]
	if c.second != second {
		*c = rate{second: second}
	}
	c.good, c.evil = c.good+good, c.evil+evil
}

func (r *recent) visit(v *sink.Record) {
	switch v.Outcome {
	case "fetched":
		if v.Status < 400 {
			return
		}
	case "redirected", "not_modified", "duplicate", "deferred":
		return
	}
	r.add(work.Trouble{At: v.Ended, Outcome: crawler.Outcome(v.Outcome), Status: v.Status, URL: v.URL, Why: why(v)})
}

func (r *recent) add(t work.Trouble) {
	if len(r.events) == 2*maxEvents {
		r.events = r.events[:copy(r.events, r.events[maxEvents:])]
	}
	r.events = append(r.events, t)
}

// eventsOf returns the last troubles of a list, newest first.
func eventsOf(all []work.Trouble, now time.Time) (shown []shownEvent) {
	for _, t := range slices.Backward(all[max(0, len(all)-maxEvents):]) {
		shown = append(shown, shownEvent{
			span(now.Sub(t.At)) + " ago", cli.Printable(troubleText(&t)), cli.Middle(cli.Printable(t.URL), 120), clip(cli.Printable(t.Why), 160),
		})
	}
	return shown
}

// why returns the reason of a visit's outcome.
func why(v *sink.Record) string {
	switch {
	case v.Detail != "":
		return v.Detail
	case v.Rule != "":
		return v.Rule
	case v.Error != "":
		return v.Error
	case v.Reason != "":
		return v.Reason
	case v.Via != "":
		return "on " + v.Via
	}
	return ""
}

// latest returns the latest time until which one of the clauses held a request, and the name of that clause.
func latest(cs []ledger.Clause) (until time.Time, name string) {
	for _, c := range cs {
		if c.Until.After(until) {
			until, name = c.Until, c.Name
		}
	}
	return until, name
}

func statusText(status int) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
