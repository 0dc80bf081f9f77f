package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
)

// watched holds the crawl whose gauges are computed on demand.
type watched struct {
	crawler *crawler.Crawler
	look    *plan.Outlook // may be nil: the end of the crawl is not estimated
}

// Watch selects the crawl that the gauges describe. look estimates the end of the crawl; it may be nil.
func (m *Metrics) Watch(c *crawler.Crawler, look *plan.Outlook) { m.watch.Store(&watched{c, look}) }

// gauges computes metrics on demand.
type gauges struct{ m *Metrics }

var (
	urls  = prometheus.NewDesc("amble_urls", "URLs by state.", []string{"state"}, nil)
	hosts = prometheus.NewDesc("amble_hosts", "Hosts with URLs left: active ones have a URL that is being requested, resting ones have none.", []string{"state"}, nil)
	end   = prometheus.NewDesc("amble_end_seconds", "The least time until the crawl ends if no more URLs are found; NaN while it is not known.", nil, nil)
)

// Describe describes the gauges.
func (gauges) Describe(to chan<- *prometheus.Desc) {
	to <- urls
	to <- hosts
	to <- end
	to <- early
	to <- paused
	to <- ratio
}

// Collect computes the gauges.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	g.m.collectAudit(to)
	w := g.m.watch.Load()
	if w == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := w.crawler.Progress().Frontier
	gauge(urls, float64(s.Queued), "queued")
	gauge(urls, float64(s.Waiting), "waiting")
	gauge(urls, float64(s.Claimed), "claimed")
	gauge(urls, float64(s.Done), "done")
	gauge(urls, float64(s.Rejected), "rejected")
	active := min(s.Claimed, s.Hosts)
	gauge(hosts, float64(active), "active")
	gauge(hosts, float64(s.Hosts-active), "resting")
	gauge(end, w.least())
}

// least returns the minimum time until the end of the crawl, in seconds.
func (w *watched) least() float64 {
	if w.look == nil {
		return math.NaN()
	}
	v, ok := w.look.Look()
	if !ok || v.Least < 0 {
		return math.NaN()
	}
	return v.Least.Seconds()
}
