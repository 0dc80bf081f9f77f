package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Audit is what an audit of the ledger has found so far.
type Audit struct {
	Early  int                      // requests that were made too early
	Pauses map[string]time.Duration // kept between two requests to a host, by the clause of package ledger that owed them
	Ratios map[float64]uint64       // pauses whose ratio, observed to owed, is at most this; the bounds are 1, 1.001, 1.01, 1.1, 2 and 5
	Count  uint64                   // pauses in which something was owed
	Sum    float64                  // of their ratios
}

// bucketBounds returns the upper bounds of the buckets of amble_pause_ratio.
func bucketBounds() []float64 { return []float64{1, 1.001, 1.01, 1.1, 2, 5} }

// Audited makes the metrics about pauses those of an audit, which is read whenever they are. Without one there are none:
// a 0 that nobody has checked would say that a crawl is polite.
func (m *Metrics) Audited(read func() Audit) { m.audit.Store(&read) }

var (
	early  = prometheus.NewDesc("amble_early_requests_total", "Requests made earlier than owed, by the audit of the ledger. It must stay 0.", nil, nil)
	paused = prometheus.NewDesc("amble_pause_seconds_total", "Pauses that were owed and kept between two requests to a host, by what owed them.", []string{"clause"}, nil)
	ratio  = prometheus.NewDesc("amble_pause_ratio", "Pauses between two requests to a host, as a multiple of what was owed, by the audit of the ledger.", nil, nil)
)

// collectAudit computes the metrics about pauses.
func (m *Metrics) collectAudit(to chan<- prometheus.Metric) {
	read := m.audit.Load()
	if read == nil {
		return
	}
	a := (*read)()
	to <- prometheus.MustNewConstMetric(early, prometheus.CounterValue, float64(a.Early))
	var rest time.Duration
	for clause, kept := range a.Pauses {
		if known(clauses, clause) == other {
			rest += kept
		}
	}
	for _, clause := range clauses {
		to <- prometheus.MustNewConstMetric(paused, prometheus.CounterValue, a.Pauses[clause].Seconds(), clause)
	}
	to <- prometheus.MustNewConstMetric(paused, prometheus.CounterValue, rest.Seconds(), other)
	buckets := map[float64]uint64{}
	for _, bound := range bucketBounds() {
		buckets[bound] = a.Ratios[bound]
	}
	to <- prometheus.MustNewConstHistogram(ratio, a.Count, a.Sum, buckets)
}
