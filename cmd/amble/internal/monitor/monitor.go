// Package monitor exports the metrics of a node of a cluster, and of a server of the engine, in the text format of Prometheus. No label
// contains the name of a node, a host or a URL. docs/cluster.md explains each metric.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/natsserver"
	"github.com/amble-crawler/amble/cluster/work"
)

// Node counts a node's calls to its engine, and reads the state of the job. It is a prometheus.Collector. All methods are safe for
// concurrent use.
type Node struct {
	Name    string
	Watcher *work.Watcher

	appends, offers, failed prometheus.Counter
	took                    prometheus.Histogram
}

// NewNode returns the metrics of the node with this name.
func NewNode(name string, w *work.Watcher) *Node {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &Node{
		Name: name, Watcher: w,
		appends: counter("amble_cluster_appends_total", "Records that this node has appended to journals."),
		offers:  counter("amble_cluster_offers_total", "Messages that this node has sent to inboxes of shards, most of them with links."),
		failed:  counter("amble_cluster_failed_stores_total", "Appends and messages of this node that failed, or whose outcome is unknown. They are repeated."),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "amble_cluster_append_seconds", Help: "Time until the engine had stored a record of a journal.",
			Buckets: []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5},
		}),
	}
}

// counted is an engine that counts appends and messages.
type counted struct {
	cluster.Engine
	n *Node
}

// Count returns an engine that passes calls on to e and counts its writes.
func (n *Node) Count(e cluster.Engine) cluster.Engine { return counted{e, n} }

// Append implements cluster.Engine.
func (c counted) Append(ctx context.Context, shard int, nonce cluster.Nonce, data []byte, last uint64) (uint64, error) {
	began := time.Now()
	seq, err := c.Engine.Append(ctx, shard, nonce, data, last)
	if err != nil {
		c.n.failed.Inc()
		return seq, err
	}
	c.n.appends.Inc()
	c.n.took.Observe(time.Since(began).Seconds())
	return seq, nil
}

// Send implements cluster.Engine.
func (c counted) Send(ctx context.Context, shard int, id string, offer []byte) error {
	err := c.Engine.Send(ctx, shard, id, offer)
	if err != nil {
		c.n.failed.Inc()
		return err
	}
	c.n.offers.Inc()
	return nil
}

// patience limits the time that the engine may take to answer when metrics or health are read.
const patience = 5 * time.Second

// status returns the state of the job, and of this node in it.
func (n *Node) status() (*work.Summary, work.NodeSummary, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := n.Watcher.Status(ctx)
	if err != nil {
		return nil, work.NodeSummary{}, fmt.Errorf("the engine does not answer: %w", err)
	}
	for _, x := range s.Nodes {
		if x.Name == n.Name {
			return s, x, nil
		}
	}
	return s, work.NodeSummary{}, nil
}

// Ready returns an error, as a sentence, if the node cannot work: the engine does not answer or stores nothing, or it has no recent sign of
// life of the node. It is not an error if the job is paused or over.
func (n *Node) Ready() error {
	s, me, err := n.status()
	switch {
	case err != nil:
		return err
	case s.End != "":
		return nil
	case s.Unstored != "":
		return fmt.Errorf("the engine stores nothing: %s", s.Unstored)
	case !me.Live:
		return errors.New("the engine has not heard of this node within the lease")
	}
	return nil
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	answers = describe("amble_cluster_engine_answers", "1 if the engine answers this node, 0 if not; then most of the others are missing.")
	stores  = describe("amble_cluster_engine_stores", "1 if the engine stores what it is given, 0 if not, such as for lack of room.")
	nodes   = describe("amble_cluster_nodes", "Nodes of the job by state: live, silent or refusing.", "state")
	shards  = describe("amble_cluster_shards", "Shards of the job by state: owned, or unheard, which have no owner that answers.", "state")
	owned   = describe("amble_cluster_node_shards", "Shards that this node owns.")
	lag     = describe("amble_cluster_lag_bytes", "What another node would have to read to take over the shards of this node.")
	pages   = describe("amble_cluster_pages", "Pages of the job, of shards whose owner answers.")
	left    = describe("amble_cluster_urls_left", "URLs of the job that are queued or under way, of shards whose owner answers.")
	dead    = describe("amble_cluster_dead_letters", "Messages of inboxes that could not be read. The links in them are lost.")
	clock   = describe("amble_cluster_clock_ahead_seconds", "By how much the clock of this node is ahead of the engine's.")
	vague   = describe("amble_cluster_clock_error_seconds", "How far the measured difference of the clocks may be wrong.")
	rests   = describe("amble_cluster_resting", "1 if this node requests nothing for that reason: engine, paused, over, no_shards.", "reason")
)

// Describe implements prometheus.Collector.
func (n *Node) Describe(to chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{n.appends, n.offers, n.failed, n.took} {
		c.Describe(to)
	}
	for _, d := range []*prometheus.Desc{answers, stores, nodes, shards, owned, lag, pages, left, dead, clock, vague, rests} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (n *Node) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{n.appends, n.offers, n.failed, n.took} {
		c.Collect(to)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s, me, err := n.status()
	gauge(answers, one(err == nil))
	gauge(rests, one(err != nil || s.Unstored != ""), "engine")
	if err != nil {
		return
	}
	gauge(rests, one(s.Paused), "paused")
	gauge(rests, one(s.End != ""), "over")
	gauge(rests, one(s.End == "" && me.Shards == 0), "no_shards")
	gauge(stores, one(s.Unstored == ""))
	var states [3]int
	for _, x := range s.Nodes {
		switch {
		case x.Refuses != "":
			states[2]++
		case x.Live:
			states[0]++
		default:
			states[1]++
		}
	}
	for i, state := range []string{"live", "silent", "refusing"} {
		gauge(nodes, float64(states[i]), state)
	}
	gauge(shards, float64(s.Shards-s.Unheard), "owned")
	gauge(shards, float64(s.Unheard), "unheard")
	gauge(owned, float64(me.Shards))
	gauge(lag, float64(me.Lag))
	gauge(pages, float64(s.Pages))
	gauge(left, float64(s.Left))
	gauge(dead, float64(s.Dead))
	gauge(clock, me.Ahead)
	gauge(vague, me.Error)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Server exports the metrics of a server of an engine. It is a prometheus.Collector.
type Server struct{ Server *natsserver.Server }

var (
	running  = describe("amble_engine_stores", "1 if this server stores what it is given, 0 if it has no room or has not started.")
	stored   = describe("amble_engine_stored_bytes", "What this server has stored.")
	limit    = describe("amble_engine_limit_bytes", "What this server can store at most: a share of what was free when it started.")
	streams  = describe("amble_engine_streams", "Streams on this server: a job has some dozens.")
	clients  = describe("amble_engine_connections", "Connections of nodes and commands to this server.")
	routes   = describe("amble_engine_routes", "Connections of this server to the other servers.")
	received = describe("amble_engine_received_messages_total", "Messages that this server has received.")
	sent     = describe("amble_engine_sent_messages_total", "Messages that this server has sent.")
)

// Handler returns a handler that writes the metrics of the server, and those of the process.
func (x Server) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(x, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r})
}

// Describe implements prometheus.Collector.
func (Server) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{running, stored, limit, streams, clients, routes, received, sent} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (x Server) Collect(to chan<- prometheus.Metric) {
	s := x.Server.State()
	for d, v := range map[*prometheus.Desc]float64{
		running: one(s.Ready == nil), stored: float64(s.Stored), limit: float64(s.Limit), streams: float64(s.Streams),
		clients: float64(s.Clients), routes: float64(s.Routes),
	} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	to <- prometheus.MustNewConstMetric(received, prometheus.CounterValue, float64(s.Received))
	to <- prometheus.MustNewConstMetric(sent, prometheus.CounterValue, float64(s.Sent))
}
