package report

import (
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// ownerRow is a line of the table of those that have shared a crawl.
type ownerRow struct{ Name, Requests, First, Last, Until, Clock string }

// owners lists which process owned which part of a crawl that several have shared; nothing for any other crawl.
func (s *source) owners() (rows []ownerRow, more string) {
	all := s.facts.Owners
	if len(all) == 0 {
		return nil, ""
	}
	idle := 0
	for i := range all {
		if all[i].Requests == 0 {
			idle++
		}
		if len(rows) < mostRows {
			rows = append(rows, rowOf(&all[i]))
		}
	}
	if n := len(all) - len(rows); n > 0 {
		more = plural(n, "more owner") + ". "
	}
	if idle > 0 {
		more += num(idle) + " of all made no request. "
	}
	return rows, more + "Each shard has its own hosts, and one owner at a time: with each takeover the epoch is one more. Times are of the owner's clock. " +
		"How far a node lags behind is not kept: while a job runs, amble cluster status says it."
}

func rowOf(o *digest.Owner) ownerRow {
	row := ownerRow{Name: o.Name, Requests: num(o.Requests), First: "–", Last: "–", Until: "–", Clock: offText(o)}
	if row.Name == "" {
		row.Name = "process " + o.Run
	}
	for _, t := range []struct {
		to *string
		at time.Time
	}{{&row.First, o.First}, {&row.Last, o.Last}, {&row.Until, o.Until}} {
		if !t.at.IsZero() {
			*t.to = stamp(t.at.Truncate(time.Second))
		}
	}
	return row
}

// offText says how far a process's clock was off.
func offText(o *digest.Owner) string {
	off := time.Duration(o.Ahead * float64(time.Second))
	text := span(off.Abs()) + " ahead"
	if off < 0 {
		text = span(off.Abs()) + " behind"
	}
	return text + ", ± " + span(time.Duration(o.Error*float64(time.Second)))
}
