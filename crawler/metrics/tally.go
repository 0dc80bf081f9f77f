package metrics

import (
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
)

// tally holds counts that are not yet added to the metrics. A crawl makes thousands of requests between two reads of the metrics, and
// adding many values in a row is several times as fast as adding each one when it occurs.
type tally struct {
	mu      sync.Mutex
	answers []answer
	visits  []visit
}

// maxTallied is the number of responses, and of visits, at which tally adds its counts to the metrics.
const maxTallied = 256

// answer is a request that has ended.
type answer struct {
	purpose   politeness.Purpose
	class     string
	page      bool // there was a response, which the other fields describe
	connected bool // a connection was made for this request
	bytes     int64
	took      time.Duration
	ended     int64 // end of the request, in Unix microseconds
}

// visit is a URL whose outcome is final.
type visit struct {
	outcome crawler.Outcome
	reason  string
}

func (m *Metrics) requested(a answer) {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	m.tally.answers = append(m.tally.answers, a)
	if len(m.tally.answers) == maxTallied {
		m.settleAnswers()
	}
}

func (m *Metrics) visited(v visit) {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	m.tally.visits = append(m.tally.visits, v)
	if len(m.tally.visits) == maxTallied {
		m.settleVisits()
	}
}

// settle adds the counts to the metrics.
func (m *Metrics) settle() {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	m.settleAnswers()
	m.settleVisits()
}

// settleAnswers adds the counts of ended requests. The caller holds the lock.
func (m *Metrics) settleAnswers() {
	for i := range m.tally.answers {
		a := &m.tally.answers[i]
		purpose := known(purposes, a.purpose.String())
		m.usual[[2]string{purpose, a.class}].Inc()
		if !a.page {
			continue
		}
		m.received.Add(float64(a.bytes))
		if a.connected {
			m.connections.Inc()
		}
		m.tooks[purpose].Observe(a.took.Seconds())
		m.answered.Set(float64(a.ended) / 1e6)
	}
	m.tally.answers = m.tally.answers[:0]
}

// settleVisits adds the counts of visits. The caller holds the lock.
func (m *Metrics) settleVisits() {
	counts := map[visit]int{}
	for _, v := range m.tally.visits {
		counts[v]++
	}
	for v, n := range counts {
		m.visits.WithLabelValues(known(outcomes, string(v.outcome)), reason(v.reason)).Add(float64(n))
	}
	m.tally.visits = m.tally.visits[:0]
}
