package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/sink"
)

// hostsCSV returns a CSV line for each host whose facts are kept in full.
func (s *source) hostsCSV() []byte {
	t := newTable("host", "state", "requests", "robots_requests", "retries", "bytes", "server_seconds", "answers_2xx", "answers_3xx", "answers_4xx", "answers_5xx", "no_answer", "answers_429", "walls",
		"visits", "pages", "failed", "refused", "over_budget", "same_body", "least_pause_s", "owed_there_s", "least_ratio", "early", "answer_p50_s", "answer_p95_s", "robots_status", "first", "last")
	for i := range s.facts.Hosts {
		h := &s.facts.Hosts[i]
		state, _ := s.state(h)
		r := h.Row()
		t.row(h.Name, state, r.Requests, r.Robots, r.Retries, r.Bytes, r.Server, r.Classes[2], r.Classes[3], r.Classes[4], r.Classes[5], r.Classes[0], r.TooMany, digest.Sum(r.Walls),
			r.Visits, r.Pages, r.Failed, r.Refused, r.OverBudget, r.Same, r.Least, r.Owed, r.Ratio, r.Early, r.P50, r.P95, r.RobotsStatus, stamp(h.First), stamp(h.Last))
	}
	return t.bytes()
}

// maxListed limits the problems in the file.
const maxListed = 100_000

// problemList has a line for each URL that is a problem, in the order in which they ended, and the first URLs of each result.
type problemList struct {
	*table
	n     int
	shown [digest.Other][]listRow
}

func (l *problemList) add(v *sink.Record) {
	if of := digest.ResultOf(v.Outcome, v.Reason, v.Status); of < digest.Other && len(l.shown[of]) < maxShown {
		row := listRow{URL: clip(v.URL), Via: clip(v.Via), Detail: clip(cmp.Or(v.Title, v.Type))}
		if of != digest.Got {
			row.Cause = problemText(&digest.Group{Outcome: v.Outcome, Reason: v.Reason, Status: digest.ProblemStatus(v)})
			row.Detail = clip(cmp.Or(v.Error, v.Rule))
		}
		l.shown[of] = append(l.shown[of], row)
	}
	if !digest.IsProblem(v) || v.Reason == "host_budget" || v.Reason == "sitemap_budget" { // a used-up budget is not a problem of the URL
		return
	}
	if l.n++; l.n <= maxListed {
		l.row(v.URL, v.Outcome, v.Reason, v.Status, v.Via, v.Error, stamp(v.Ended))
	}
}

// clip returns a copy of a text, cut to the maximum length in a list.
func clip(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Clone(s)
}

// csv returns the list.
func (l *problemList) csv() []byte {
	if l.n > maxListed {
		l.row(fmt.Sprintf("and %d more, which are in visits.jsonl", l.n-maxListed), "", "", "", "", "", "")
	}
	return l.bytes()
}

// table writes CSV whose cells spreadsheets do not take for formulas.
type table struct {
	b bytes.Buffer
	w *csv.Writer
}

func newTable(names ...string) *table {
	t := &table{}
	t.w = csv.NewWriter(&t.b)
	_ = t.w.Write(names) // writing to memory cannot fail
	return t
}

func (t *table) row(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			cells[i] = hidden.Cell(v)
		case int:
			cells[i] = strconv.Itoa(v)
		case float64:
			cells[i] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			cells[i] = fmt.Sprint(v)
		}
	}
	_ = t.w.Write(cells) // writing to memory cannot fail
}

func (t *table) bytes() []byte {
	t.w.Flush()
	return hidden.Escape(t.b.Bytes())
}

// problemText describes a kind of problem.
func problemText(g *digest.Group) string {
	switch {
	case g.Status > 0:
		text := fmt.Sprintf("%d %s", g.Status, strings.ToLower(http.StatusText(g.Status)))
		if g.Reason != "" {
			text += ", " + ReasonText(g.Reason)
		}
		return strings.TrimSpace(text)
	case g.Reason == "":
		return strings.ReplaceAll(g.Outcome, "_", " ")
	}
	if key := digest.LimitOf(g.Reason); key != "" {
		return ReasonText(g.Reason) + " (" + key + ")"
	}
	return ReasonText(g.Reason)
}

// rules returns the rules that refused URLs, sorted by their number, without the rules of the crawl's scope.
func (s *source) rules() (rules []digest.Group) {
	for _, g := range s.facts.Rules {
		if g.Outcome == "refused" && len(rules) < maxRules {
			rules = append(rules, g)
		}
	}
	return rules
}

// ownerRow is a row of the table of processes that shared a crawl.
type ownerRow struct{ Name, Requests, First, Last, Until, Clock string }

// owners returns the parts of a crawl that several processes have shared, none for other crawls.
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
		if len(rows) < maxRows {
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
		"How far a node lags behind is not kept; while a job runs, the status of the cluster says it."
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

// offText describes the clock offset of a process.
func offText(o *digest.Owner) string {
	off := time.Duration(o.Ahead * float64(time.Second))
	text := span(off.Abs()) + " ahead"
	if off < 0 {
		text = span(off.Abs()) + " behind"
	}
	return text + ", ± " + span(time.Duration(o.Error*float64(time.Second)))
}
