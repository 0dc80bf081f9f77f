package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// retry queues the URLs again whose last line in visits.jsonl has one of the outcomes (see retried), and lets the gate request hosts
// again that it had given up.
func (j *Job) retry(outcomes []crawler.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	var again []frontier.Request // URLs in the order of the visits' lines
	at := map[string]int{}
	var bad error
	parse := parseVisits()
	err := j.files.eachLine(VisitsName, func(n int, line []byte) bool {
		var r sink.Record
		if err := parse(line, &r); err != nil {
			bad = fmt.Errorf("line %d of %s: %w", n, VisitsName, err)
			return false
		}
		if i, ok := at[r.URL]; ok {
			again[i].URL = weburl.URL{}
			delete(at, r.URL)
		}
		if q, err := requestOf(&r); err == nil && retried(&r, outcomes) {
			at[r.URL] = len(again)
			again = append(again, q)
		}
		return true
	})
	if err = firstOf(err, bad); err != nil {
		return outputError(err)
	}
	again = slices.DeleteFunc(again, func(q frontier.Request) bool { return q.URL.IsZero() })
	if err := j.Forgive(); err != nil {
		return err
	}
	_, err = j.out.frontier.Revive(context.Background(), again...)
	return outputError(err)
}

// Forgive lets the crawl request hosts again that were given up, like [politeness.Gate.Forgive], and records the time for the check of
// the ledger.
func (j *Job) Forgive() error {
	j.recording.Lock()
	defer j.recording.Unlock()
	cfg, err := readAuditConfig(j.files.root.Name())
	if err != nil {
		return err
	}
	cfg.Forgiven = append(cfg.Forgiven, ledger.Ceil(time.Now()).UTC())
	if err := writeAudit(j.files.plainDir, &cfg); err != nil {
		return err
	}
	j.crawler.Gate().Forgive()
	return nil
}

// retried reports whether a visit with one of these outcomes is tried again. A page whose connection broke was stored as far as it was
// received, and counts as failed.
func retried(r *sink.Record, outcomes []crawler.Outcome) bool {
	return slices.Contains(outcomes, crawler.Outcome(r.Outcome)) ||
		r.Truncated == fetcher.ReasonCutShort && slices.Contains(outcomes, crawler.Failed)
}

// requestOf returns the queue entry for a visit's line.
func requestOf(r *sink.Record) (frontier.Request, error) {
	u, err := weburl.Parse(r.URL)
	if err != nil {
		return frontier.Request{}, err
	}
	q := frontier.Request{URL: u, Depth: r.Depth, Hops: r.Hops}
	if r.Via != "" {
		q.Via, err = weburl.Parse(r.Via)
	}
	return q, err
}
