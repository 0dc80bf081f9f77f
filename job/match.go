package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
)

// Matching is how the visits of a job and the requests in its ledger correspond: lines that were removed from one are missed
// by the other.
type Matching struct {
	Visits      int   `json:"visits"`                // that have an answer
	Requests    int   `json:"requests"`              // that were answered, those for robots.txt left out
	Unrequested []int `json:"unrequested,omitempty"` // lines of visits with an answer to no request
	Unvisited   int   `json:"unvisited"`             // URLs that were requested and have no visit

	finished bool // all that was requested must have its visit
}

// mostUnrequested is how many lines are named.
const mostUnrequested = 100

// requestLine is the part of a line of the ledger that is compared.
type requestLine struct {
	Event   string `json:"event"`
	Run     string `json:"run"`
	ID      uint64 `json:"id"`
	URL     string `json:"url"`
	Purpose string `json:"purpose"`
	Status  int    `json:"status"`
}

// visitLine is the part of a line of the visits that is compared.
type visitLine struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// matcher compares visits and requests. It holds some ten bytes for each.
type matcher struct {
	Matching
	seed    maphash.Seed
	answers map[uint64]int32  // by hash of URL and status: requests, less visits
	visited map[uint64]bool   // by hash of URL
	open    map[string]uint64 // requests without an end, to the hash of their URL
	waiting map[uint64]bool   // by hash of URL: answered, without a visit
	bad     error             // a line that is not valid
}

// match compares the visits of a job with its ledger. finished says that nothing was left when it ended. The
// visits are read first: of a job that is under way the ledger may have more.
func (d jobFiles) match(finished bool) (*Matching, error) {
	m := &matcher{
		Matching: Matching{finished: finished}, seed: maphash.MakeSeed(),
		answers: map[uint64]int32{}, visited: map[uint64]bool{}, open: map[string]uint64{}, waiting: map[uint64]bool{},
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
	var v visitLine
	if err := json.Unmarshal(line, &v); err != nil {
		m.bad = &damage{fmt.Sprintf("line %d of %s is not valid: %v", n, VisitsName, err)}
		return false
	}
	url := m.url(v.URL)
	m.visited[url] = true
	if v.Status > 0 {
		m.Visits++
		m.answers[m.answer(url, v.Status)]--
	}
	return true
}

func (m *matcher) request(n int, line []byte) bool {
	var q requestLine
	if err := json.Unmarshal(line, &q); err != nil {
		m.bad = &damage{fmt.Sprintf("line %d of %s is not valid: %v", n, LedgerName, err)}
		return false
	}
	id := fmt.Sprint(q.Run, " ", q.ID)
	switch q.Event {
	case "start":
		if q.Purpose != "robots" {
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

// name notes the lines of visits with an answer to no request. Of several with one answer it takes the first.
func (m *matcher) name(n int, line []byte) bool {
	var v visitLine
	if json.Unmarshal(line, &v) != nil || v.Status == 0 {
		return true
	}
	if key := m.answer(m.url(v.URL), v.Status); m.answers[key] < 0 {
		m.answers[key]++
		m.Unrequested = append(m.Unrequested, n)
	}
	return len(m.Unrequested) < mostUnrequested
}

// Fault is what does not correspond, "" if everything does.
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
