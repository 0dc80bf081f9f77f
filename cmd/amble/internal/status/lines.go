package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// lines is a summary of the ledger's lines about hosts with URLs left.
type lines struct {
	hosts   map[string]hostLines
	open    map[request]string // host of each request that has no end yet
	run     string             // run of the last process
	took    time.Duration
	answers int
}

// request identifies a request by the run of its process and its number in that run.
type request struct {
	run string
	id  uint64
}

type hostLines struct {
	addr     string
	requests int
	open     int    // number of requests of the last process without an end
	trouble  string // error of the last request
	by       string // name of the other crawl for which the last request waited
	others   bool   // whether the last request waited for another crawl
}

// maxOpen limits the number of requests without an end that are kept in memory.
const maxOpen = 100_000

// read reads the ledger and the visits, and counts requests, outcomes and pages.
func (s *Status) read(r *job.Reader, hosts map[string]*Host) (*lines, error) {
	l := &lines{hosts: map[string]hostLines{}, open: map[request]string{}}
	err := r.Follow().Poll(func(e *ledger.Entry) {
		if e.Event == ledger.Start {
			s.Requests++
		}
		l.add(e, hosts)
	}, func(v *sink.Record) {
		s.Outcomes[v.Outcome]++
		if v.Outcome == "fetched" {
			s.Pages++
		}
	})
	if s.State != Running {
		return l, err // no process runs, so no request is in flight
	}
	for id, host := range l.open {
		if h := l.hosts[host]; id.run == l.run {
			h.open++
			l.hosts[host] = h
		}
	}
	return l, err
}

func (l *lines) add(e *ledger.Entry, hosts map[string]*Host) {
	id := request{e.Run, e.ID}
	switch e.Event {
	case ledger.Start:
		l.run = e.Run
		if hosts[e.Host] == nil {
			return
		}
		name := hosts[e.Host].Host // a copy, because e's memory is reused
		h := l.hosts[name]
		h.requests++
		h.others = false
		for _, c := range e.Clauses {
			if c.Name == ledger.ClauseShared {
				h.others, h.by = true, c.By
			}
		}
		if h.addr != e.Addr {
			h.addr = strings.Clone(e.Addr) // e's memory is reused
		}
		l.hosts[name] = h
		if len(l.open) < maxOpen {
			l.open[id] = name
		}
	case ledger.End:
		l.took, l.answers = l.took+time.Duration(e.Took), l.answers+1
		name, ok := l.open[id]
		if !ok {
			return
		}
		delete(l.open, id)
		h := l.hosts[name]
		h.trouble = trouble(e)
		l.hosts[name] = h
	}
}

// trouble returns the fault of a response, "" if there is none.
func trouble(e *ledger.Entry) string {
	switch {
	case e.Err != "":
		return strings.Clone(e.Err)
	case e.Status >= 500 || e.Status == 429:
		return fmt.Sprintf("status %d", e.Status)
	}
	return ""
}

// service returns the mean response time.
func (l *lines) service() time.Duration { return l.took / time.Duration(max(1, l.answers)) }
