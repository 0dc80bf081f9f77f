// Package metrics counts the activities of a crawl and exports the counts in the text format of Prometheus.
//
//	m := metrics.New()
//	config.Trace = crawler.JoinTraces(config.Trace, m.Trace())
//	c, err := crawler.New(config)
//	m.Watch(c, nil)
//	http.Handle("/metrics", m.Handler())
//	http.Handle("/readyz", metrics.HealthHandler(func() error { return m.Ready(time.Now(), 0) }))
//
// The number of series does not depend on the crawl: no label names a host or a URL, and the values of every label are a closed
// list. docs/live.md describes each metric, with alert rules and a dashboard.
package metrics

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Metrics holds the counts of one process. All methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests    *prometheus.CounterVec
	usual       map[[2]string]prometheus.Counter // counters of requests, keyed by purpose and class; read only
	tooks       map[string]prometheus.Observer   // observers of took, keyed by purpose; read only
	visits      *prometheus.CounterVec
	received    prometheus.Counter
	connections prometheus.Counter
	took        *prometheus.HistogramVec
	commits     prometheus.Histogram
	answered    prometheus.Gauge

	tally  tally
	active atomic.Int64            // time of the last activity, in Unix nanoseconds
	owed   atomic.Int64            // time until which a pause is due at some host or a URL waits, in Unix nanoseconds
	failed atomic.Pointer[failure] // failure of a commit
	watch  atomic.Pointer[watched]
	audit  atomic.Pointer[func() Audit]
}

type failure struct{ err error }

// New returns Metrics with all counts 0.
func New() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		requests:    counters("amble_requests_total", "Requests that are over, by what they were for and by class of status; aborted ones were broken off by the crawler.", "purpose", "class"),
		visits:      counters("amble_visits_total", "URLs whose outcome is final, by outcome and reason code.", "outcome", "reason"),
		received:    counter("amble_received_bytes_total", "Bytes of bodies, as received."),
		connections: counter("amble_connections_total", "Connections that were opened."),
		took: prometheus.NewHistogramVec(histogram("amble_request_seconds", "Time from writing a request to the last byte of its answer.",
			0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60), []string{"purpose"}),
		commits: prometheus.NewHistogram(histogram("amble_commit_seconds", "Time that a commit took: syncing the sinks and writing to the queue.", 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)),
		answered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "amble_last_answer_timestamp_seconds", Help: "When the last answer was received, in Unix time; 0 before the first.",
		}),
	}
	m.active.Store(time.Now().UnixNano())
	m.registry.MustRegister(
		m.requests, m.visits, m.received, m.connections, m.took, m.commits, m.answered,
		gauges{m}, build(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.begin()
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// histogram describes a histogram with classic buckets, and with native buckets for readers that request them.
func histogram(name, help string, buckets ...float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

func build() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "amble_build_info", Help: "1, with the version of the crawler and of Go.",
		ConstLabels: prometheus.Labels{"version": crawler.Version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// begin creates the series on which alerts and rates depend, with the value 0.
func (m *Metrics) begin() {
	m.usual, m.tooks = map[[2]string]prometheus.Counter{}, map[string]prometheus.Observer{}
	for _, purpose := range purposes {
		m.tooks[purpose] = m.took.WithLabelValues(purpose)
		for _, class := range classes {
			m.usual[[2]string{purpose, class}] = m.requests.WithLabelValues(purpose, class)
		}
	}
	m.visits.WithLabelValues(string(crawler.Fetched), "")
}

// Handler returns a handler that writes the metrics.
func (m *Metrics) Handler() http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.settle()
		h.ServeHTTP(w, r)
	})
}

// Add makes Handler write the metrics of c, too. It returns an error if some of them are registered already.
func (m *Metrics) Add(c prometheus.Collector) error { return m.registry.Register(c) }

// Trace returns the hooks that count. It must be in the Config of every Crawler that is counted.
func (m *Metrics) Trace() *crawler.Trace {
	return &crawler.Trace{
		Claimed:  func(frontier.Claim) { m.happened() },
		Waiting:  func(_ weburl.URL, n *politeness.NotYet) { m.owes(n.Until) },
		Answered: func(_ weburl.URL, a *fetcher.Answer) { m.over(a) },
		Retrying: func(_ weburl.URL, _ string, at time.Time) { m.owes(at) },
		Visited: func(v *crawler.Visit) {
			m.happened()
			m.visited(visit{v.Outcome, v.Reason})
		},
		Committed: m.commit,
	}
}

func (m *Metrics) over(a *fetcher.Answer) {
	m.happened()
	m.owes(a.Ready)
	x := answer{purpose: a.Permit.Purpose(), class: class(a)}
	if p := a.Page; p != nil {
		x.page, x.bytes, x.connected, x.took, x.ended = true, p.WireBytes, !p.Reused, p.Ended.Sub(p.Written), p.Ended.UnixMicro()
	}
	m.requested(x)
}

func (m *Metrics) commit(c crawler.Commit) {
	if c.Err != nil {
		m.failed.Store(&failure{c.Err})
		return
	}
	m.commits.Observe(c.Took.Seconds())
}

// happened records that the crawl has just made progress.
func (m *Metrics) happened() { latest(&m.active, time.Now()) }

// owes records that a URL or a host waits until t.
func (m *Metrics) owes(t time.Time) { latest(&m.owed, t) }

func latest(at *atomic.Int64, t time.Time) {
	if t.IsZero() {
		return
	}
	n := t.UnixNano()
	for old := at.Load(); n > old && !at.CompareAndSwap(old, n); old = at.Load() { //nolint:revive // if another goroutine has changed the value, try again
	}
}

// Audit holds the findings of an audit of the ledger so far.
type Audit struct {
	Early  int                      // number of requests that were made too early
	Pauses map[string]time.Duration // total of the pauses kept between two requests to a host, by the clause of package ledger that required them
	Ratios map[float64]uint64       // number of pauses whose ratio, observed ÷ required, is at most the key: 1, 1.001, 1.01, 1.1, 2 or 5
	Count  uint64                   // number of required pauses
	Sum    float64                  // sum of the ratios of these pauses
}

// bucketBounds returns the upper bounds of the buckets of amble_pause_ratio.
func bucketBounds() []float64 { return []float64{1, 1.001, 1.01, 1.1, 2, 5} }

// Audited makes the metrics about pauses available: they are computed from the findings of an audit, which read returns at each reading
// of the metrics. Without an audit there are no such metrics, because an unchecked 0 would suggest a polite crawl.
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

// Healthy returns an error if a commit of the crawl has failed.
func (m *Metrics) Healthy() error {
	if f := m.failed.Load(); f != nil {
		return fmt.Errorf("a commit failed: %w", f.err)
	}
	return nil
}

// Ready returns an error if the crawl is stuck; its text is a sentence. A crawl is stuck if, for longer than twice the timeout of a
// request (0: fetcher.DefaultFetchTimeout) no request has been in flight, no pause has been due at any host and no URL has waited for
// another attempt, although URLs are left. A crawl that waits for pauses, or that is paused, is not stuck.
func (m *Metrics) Ready(now time.Time, timeout time.Duration) error {
	if err := m.Healthy(); err != nil {
		return err
	}
	w := m.watch.Load()
	if w == nil || w.crawler.Paused() {
		return nil
	}
	s := w.crawler.Progress().Frontier
	since := time.Unix(0, max(m.active.Load(), m.owed.Load()))
	timeout = cmp.Or(timeout, fetcher.DefaultFetchTimeout)
	if left := s.Queued + s.Waiting; left > 0 && s.Claimed == 0 && now.Sub(since) > 2*timeout {
		return fmt.Errorf("stuck: %s left, but since %s nothing has been in flight and nothing is owed to any host",
			cli.Plural(left, "URL"), since.UTC().Format(time.RFC3339))
	}
	return nil
}

// HealthHandler returns a handler that responds with 200 if check returns nil, and otherwise with 503 and the text of the error.
func HealthHandler(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		err := check()
		if err == nil {
			_, _ = fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, cli.Printable(err.Error()))
	})
}
