package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// notFetched says of every URL that was not fetched why.
func notFetched(visits []byte) string {
	var b strings.Builder
	b.WriteString("Not fetched, and why:\n")
	dec := json.NewDecoder(bytes.NewReader(visits))
	for dec.More() {
		var r sink.Record
		if dec.Decode(&r) != nil {
			break
		}
		switch {
		case r.Outcome == "redirected":
			fmt.Fprintf(&b, "  %s\n      redirects to %s\n", r.URL, r.Final)
		case r.Outcome != "fetched":
			fmt.Fprintf(&b, "  %s\n      %s\n", r.URL, why(&r))
		}
	}
	return b.String()
}

func why(r *sink.Record) string {
	if r.Detail != "" {
		return r.Detail
	}
	return strings.TrimSpace(r.Outcome + ": " + r.Reason + " " + r.Rule)
}

// span is one request, from its first byte to the end of its answer.
type span struct{ start, end time.Time }

// smallestGaps tells, by the ledger, the smallest pause that every host was given.
func smallestGaps(ledger []byte) (string, error) {
	requests := map[string][]span{}
	open := map[uint64]politeness.Entry{}
	dec := json.NewDecoder(bytes.NewReader(ledger))
	for dec.More() {
		var e politeness.Entry
		if err := dec.Decode(&e); err != nil {
			return "", fmt.Errorf("ledger: %w", err)
		}
		if e.Event == "start" {
			open[e.ID] = e
			continue
		}
		if e.Event != "end" {
			continue
		}
		s := open[e.ID]
		requests[s.Host] = append(requests[s.Host], span{s.Written, e.Ended})
	}
	var b strings.Builder
	b.WriteString("Smallest pause between the end of a request and the start of the next, per host:\n")
	for _, h := range slices.Sorted(maps.Keys(requests)) {
		fmt.Fprintf(&b, "  %-22s %s\n", h, gapText(requests[h]))
	}
	return b.String(), nil
}

func gapText(rs []span) string {
	if len(rs) < 2 {
		return "one request"
	}
	slices.SortFunc(rs, func(x, y span) int { return x.start.Compare(y.start) })
	least := rs[1].start.Sub(rs[0].end)
	for i := 2; i < len(rs); i++ {
		least = min(least, rs[i].start.Sub(rs[i-1].end))
	}
	return fmt.Sprintf("%v in %d requests", least.Round(time.Millisecond), len(rs))
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Bytes is everything written so far.
func (l *lockedBuffer) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Bytes()
}
