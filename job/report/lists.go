package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/sink"
)

// hostsCSV is a line for each host that is kept in full.
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

// mostListed is how many problems are listed in the file.
const mostListed = 100_000

// problemList is a line for each URL that is a problem, in the order in which they ended.
type problemList struct {
	*table
	n int
}

func (l *problemList) add(v *sink.Record) {
	if !digest.IsProblem(v) || v.Reason == "host_budget" || v.Reason == "sitemap_budget" { // which is no problem of the URL
		return
	}
	if l.n++; l.n <= mostListed {
		l.row(v.URL, v.Outcome, v.Reason, v.Status, v.Via, v.Error, stamp(v.Ended))
	}
}

// csv returns the list.
func (l *problemList) csv() []byte {
	if l.n > mostListed {
		l.row(fmt.Sprintf("and %d more, which are in visits.jsonl", l.n-mostListed), "", "", "", "", "", "")
	}
	return l.bytes()
}

// table is text in rows, in a form that spreadsheets read and do not take for formulas.
type table struct {
	b bytes.Buffer
	w *csv.Writer
}

func newTable(names ...string) *table {
	t := &table{}
	t.w = csv.NewWriter(&t.b)
	_ = t.w.Write(names) // into memory
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
	_ = t.w.Write(cells) // into memory
}

func (t *table) bytes() []byte {
	t.w.Flush()
	return hidden.Escape(t.b.Bytes())
}
