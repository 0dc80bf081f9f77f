package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// startLine and endLine are the ledger's two kinds of line, as far as a check needs them.
type startLine struct {
	Run     string    `json:"run"`
	ID      uint64    `json:"id"`
	URL     string    `json:"url"`
	For     string    `json:"for"`
	Host    string    `json:"host"`
	Addr    string    `json:"addr"`
	Purpose string    `json:"purpose"`
	Agent   string    `json:"agent"`
	Allowed time.Time `json:"allowed"`
	Written time.Time `json:"written"`
	Clauses []struct {
		Clause string    `json:"clause"`
		Until  time.Time `json:"until"`
	} `json:"clauses"`
}

type endLine struct {
	Run        string    `json:"run"`
	ID         uint64    `json:"id"`
	Ended      time.Time `json:"ended"`
	Status     int       `json:"status"`
	Error      string    `json:"error"`
	RetryAfter string    `json:"retry_after"`
	Location   string    `json:"location"`
	SHA256     string    `json:"sha256"`
	Truncated  string    `json:"truncated"`
}

// request is a start line with its end line.
type request struct {
	line  int
	start startLine
	end   *endLine               // nil when the process ended first
	asked map[bool]time.Duration // the pause its host's robots.txt asked for at its start (false) and end
}

// over is when the request was over, as late as the ledger proves.
func (r *request) over() time.Time {
	if r.end == nil {
		return r.start.Written
	}
	return r.end.Ended
}

type ledger struct {
	requests []*request // by the time they were written
	torn     bool       // the last line is not whole
	runs     int
}

// read reads a ledger. A last line without its end is what a kill leaves and no error; any other
// line that is no entry is one.
func read(r io.Reader) (*ledger, error) {
	type key struct {
		run string
		id  uint64
	}
	l := &ledger{}
	open := map[key]*request{}
	runs := map[string]bool{}
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		b, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			l.torn = len(b) > 0
			break
		}
		if err != nil {
			return nil, fmt.Errorf("audit: ledger: %w", err)
		}
		var kind struct {
			Event string `json:"event"`
		}
		var s startLine
		var e endLine
		if err := cmp.Or(json.Unmarshal(b, &kind), json.Unmarshal(b, &s), json.Unmarshal(b, &e)); err != nil {
			return nil, fmt.Errorf("audit: ledger line %d: %w", n, err)
		}
		k := key{s.Run, s.ID}
		switch {
		case kind.Event == "start":
			open[k] = &request{line: n, start: s, asked: map[bool]time.Duration{}}
			l.requests = append(l.requests, open[k])
			runs[s.Run] = true
		case kind.Event == "end" && open[k] != nil:
			open[k].end = &e
		default:
			return nil, fmt.Errorf("audit: ledger line %d: neither a start nor the end of one", n)
		}
	}
	l.runs = len(runs)
	slices.SortStableFunc(l.requests, func(a, b *request) int { return a.start.Written.Compare(b.start.Written) })
	return l, nil
}
