package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// NotFetched lists every URL that was not fetched, with the reason.
func NotFetched(visits []byte) string {
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

// request is a request in the ledger. It lasts from its first byte to the end of the response.
type request struct {
	host, url  string
	start, end time.Time
	status     int
	retryAfter string
}

// requestsOf returns the requests in a ledger, in the order in which they ended.
func requestsOf(lines []byte) (all []request, err error) {
	open := map[uint64]ledger.Entry{}
	dec := json.NewDecoder(bytes.NewReader(lines))
	for dec.More() {
		var e ledger.Entry
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		switch e.Event {
		case "start":
			open[e.ID] = e
		case "end":
			s := open[e.ID]
			all = append(all, request{s.Host, s.URL, s.Written, e.Ended, e.Status, e.RetryAfter})
		}
	}
	return all, nil
}

// Politeness reports, from the lines of a ledger, which hosts requested a pause, and the shortest pause that each host had.
func Politeness(lines []byte) (string, error) {
	requests, err := requestsOf(lines)
	return waits(requests) + "\n" + smallestGaps(requests), err
}

// waits reports which hosts requested a pause, and how long after that the crawl sent them another request.
func waits(requests []request) string {
	var b strings.Builder
	b.WriteString("Requested to wait, and waited:\n")
	for i, r := range requests {
		if r.retryAfter == "" {
			continue
		}
		fmt.Fprintf(&b, "  %s\n      answered %d and requested a pause of %ss", r.url, r.status, r.retryAfter)
		for _, next := range requests[i+1:] {
			if next.host == r.host {
				fmt.Fprintf(&b, "; requested again after %v, answer %d", next.start.Sub(r.end).Round(10*time.Millisecond), next.status)
				break
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// smallestGaps reports the shortest pause that each host had between two requests.
func smallestGaps(all []request) string {
	requests := map[string][]request{}
	for _, r := range all {
		requests[r.host] = append(requests[r.host], r)
	}
	var b strings.Builder
	b.WriteString("Smallest pause between the end of a request and the start of the next, per host:\n")
	for _, h := range slices.Sorted(maps.Keys(requests)) {
		fmt.Fprintf(&b, "  %-22s %s\n", h, gapText(requests[h]))
	}
	return b.String()
}

func gapText(rs []request) string {
	if len(rs) < 2 {
		return "one request"
	}
	slices.SortFunc(rs, func(x, y request) int { return x.start.Compare(y.start) })
	least := rs[1].start.Sub(rs[0].end)
	for i := 2; i < len(rs); i++ {
		least = min(least, rs[i].start.Sub(rs[i-1].end))
	}
	return fmt.Sprintf("%v in %d requests", least.Round(time.Millisecond), len(rs))
}
