package job

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Matching compares the visits of a job with the requests in its ledger: if lines were removed from one of them, the other reveals it.
type Matching struct {
	Visits      int   `json:"visits"`                // visits with a response
	Requests    int   `json:"requests"`              // requests with a response, except those for robots.txt and for resources of pages
	Unrequested []int `json:"unrequested,omitempty"` // line numbers of visits whose response matches no request
	Unvisited   int   `json:"unvisited"`             // URLs that were requested but have no visit
	Cached      int   `json:"cached,omitempty"`      // visits that claim a response from a cache, so that no request is expected

	finished bool // the crawl left no URL, so every requested URL must have a visit
}

// maxUnrequested limits the line numbers in Unrequested.
const maxUnrequested = 100

// matcher compares visits and requests. It uses some ten bytes for each.
type matcher struct {
	Matching
	seed    maphash.Seed
	answers map[uint64]int32  // keyed by hash of URL and status: number of requests minus number of visits
	visited map[uint64]bool   // keyed by hash of URL
	open    map[string]uint64 // requests without an end, with the hash of their URL
	waiting map[uint64]bool   // keyed by hash of URL: the URL got a response, but has no visit yet
	bad     error             // the error of an invalid line

	// Each parser decodes into the same memory for all lines, because there may be millions.
	parseVisit   func([]byte, *sink.Record) error
	parseRequest func([]byte, *ledger.Entry) error
	v            sink.Record
	q            ledger.Entry
}

// match compares the visits of a job with its ledger. finished means that nothing was left when the job ended. The visits are
// read first, because in a running job the ledger may be ahead of them.
func (d jobFiles) match(finished bool) (*Matching, error) {
	m := &matcher{
		Matching: Matching{finished: finished}, seed: maphash.MakeSeed(),
		answers: map[uint64]int32{}, visited: map[uint64]bool{}, open: map[string]uint64{}, waiting: map[uint64]bool{},
		parseVisit: parseShort(), parseRequest: parseLedger(),
	}
	err := d.eachLine(VisitsName, m.visit)
	if err = errors.Join(err, m.bad); err != nil {
		return nil, err
	}
	err = d.eachLine(LedgerName, m.request)
	if err = errors.Join(err, m.bad); err != nil {
		return nil, err
	}
	m.Unvisited = len(m.waiting)
	for _, n := range m.answers {
		if n < 0 {
			return &m.Matching, d.eachLine(VisitsName, m.name)
		}
	}
	return &m.Matching, nil
}

func (m *matcher) url(url string) uint64 { return maphash.String(m.seed, url) }

func (m *matcher) answer(url uint64, status int) uint64 {
	return maphash.Comparable(m.seed, [2]uint64{url, uint64(status)})
}

func (m *matcher) visit(n int, line []byte) bool {
	v := &m.v
	if err := m.parseVisit(line, v); err != nil {
		m.bad = &damage{fmt.Sprintf("line %d of %s is not valid: %v", n, VisitsName, err)}
		return false
	}
	url := m.url(v.URL)
	m.visited[url] = true
	switch {
	case v.Cached:
		m.Cached++
	case v.Status > 0:
		m.Visits++
		m.answers[m.answer(url, v.Status)]--
	}
	return true
}

func (m *matcher) request(n int, line []byte) bool {
	q := &m.q
	if err := m.parseRequest(line, q); err != nil {
		m.bad = &damage{fmt.Sprintf("line %d of %s is not valid: %v", n, LedgerName, err)}
		return false
	}
	id := fmt.Sprint(q.Run, " ", q.ID)
	switch q.Event {
	case "start":
		if p := q.Purpose; p != politeness.Robots.String() && p != politeness.Resource.String() && p != politeness.Terms.String() { // purposes without visits
			m.open[id] = m.url(q.URL)
		}
	case "end":
		url, ok := m.open[id]
		if delete(m.open, id); ok && q.Status > 0 {
			m.Requests++
			m.answers[m.answer(url, q.Status)]++
			if !m.visited[url] {
				m.waiting[url] = true
			}
		}
	}
	return true
}

// name records the line numbers of visits whose response matches no request. If several visits share one response, the first one matches.
func (m *matcher) name(n int, line []byte) bool {
	v := &m.v
	if m.parseVisit(line, v) != nil || v.Status == 0 || v.Cached {
		return true
	}
	if key := m.answer(m.url(v.URL), v.Status); m.answers[key] < 0 {
		m.answers[key]++
		m.Unrequested = append(m.Unrequested, n)
	}
	return len(m.Unrequested) < maxUnrequested
}

// Fault describes the mismatches, or returns "" if there are none.
func (m *Matching) Fault() string {
	var faults []string
	if n := len(m.Unrequested); n > 0 {
		faults = append(faults, fmt.Sprintf("%s (line %d and so on) with an answer to no request in %s", cli.Plural(n, "visit"), m.Unrequested[0], LedgerName))
	}
	if m.finished && m.Unvisited > 0 {
		faults = append(faults, fmt.Sprintf("%s requested without a visit", cli.Plural(m.Unvisited, "URL")))
	}
	return strings.Join(faults, "; ")
}
