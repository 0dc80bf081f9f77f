package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
)

// ClusterConfig describes the job on a cluster to show.
type ClusterConfig struct {
	Name    string
	Watcher *work.Watcher
	Metrics http.Handler
	Ready   func() error // returns the reason why this process cannot work, or nil
	// Operator gives the orders of viewers. nil: the page is read-only.
	Operator *work.Operator
}

// Cluster shows a job on a cluster. It uses the same page as for a crawl, and the reports of the owners of all shards. Its methods are safe
// for concurrent use.
type Cluster struct {
	config ClusterConfig
	stream stream

	mu     sync.Mutex
	view   *work.View
	broken error // error of the last attempt to read the job
	read   time.Time
	rates  *recent
	growth growth
	counts map[int][2]int // requests and failed requests so far, by shard
}

// NewCluster returns the page of a job.
func NewCluster(c ClusterConfig) *Cluster {
	return &Cluster{config: c, stream: stream{changed: make(chan struct{})}, rates: newRecent(), counts: map[int][2]int{}}
}

// Run makes a snapshot each second while there are viewers, until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			c.stream.close()
			return
		case <-tick.C:
		}
		if c.stream.watched() {
			if html, err := c.render(time.Now()); err == nil {
				c.stream.publish(html)
			}
		}
	}
}

func (c *Cluster) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { c.make(time.Now()).write(w) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { c.stream.serve(w, r, c.render) })
	serveFiles(mux)
	mux.Handle("GET /healthz", metrics.HealthHandler(func() error { return nil }))
	mux.Handle("GET /readyz", metrics.HealthHandler(c.config.Ready))
	mux.Handle("GET /metrics", c.config.Metrics)
	var orders Control
	if c.config.Operator != nil {
		orders = clusterControl{c.config.Operator}
	}
	control(mux, orders, c.wasOrdered)
	return mux
}

// wasOrdered makes the next snapshot show the result of an order at once.
func (c *Cluster) wasOrdered() {
	c.config.Watcher.Forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// clusterControl gives orders to a job on a cluster.
type clusterControl struct{ operator *work.Operator }

func (x clusterControl) order(what string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), clusterPatience) // independent of the HTTP request, so that the order outlives it
	defer cancel()
	_, err := x.operator.Order(ctx, what, args...)
	return err
}

// Pause implements Control.
func (x clusterControl) Pause() error { return x.order(job.ActionPause) }

// Resume implements Control.
func (x clusterControl) Resume() error { return x.order(job.ActionResume) }

// Drain implements Control.
func (x clusterControl) Drain() error { return x.order(job.ActionDrain) }

// LeaveOut implements Control.
func (x clusterControl) LeaveOut(host string) error { return x.order(job.ActionLeaveOut, host) }

// Slower implements Control.
func (x clusterControl) Slower(host string, delay time.Duration) error {
	return x.order(job.ActionSlower, host, delay.String())
}

// Numbers is a Page with metrics and health only, for a server of an engine.
type Numbers struct {
	Metrics http.Handler
	Ready   func() error
}

// Run implements Page.
func (*Numbers) Run(ctx context.Context) { <-ctx.Done() }

func (n *Numbers) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.Metrics)
	mux.Handle("GET /{$}", http.RedirectHandler("metrics", http.StatusSeeOther))
	mux.Handle("GET /healthz", metrics.HealthHandler(func() error { return nil }))
	mux.Handle("GET /readyz", metrics.HealthHandler(n.Ready))
	return mux
}

// render returns the changing part of the page.
func (c *Cluster) render(now time.Time) ([]byte, error) {
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, "live", c.make(now))
	return b.Bytes(), err
}

// clusterPatience limits the time that the engine and the nodes may take to answer.
const clusterPatience = 5 * time.Second

// look reads the state of the job, unless the last reading is less than half a second old. The caller must hold the lock.
func (c *Cluster) look(now time.Time) {
	if now.Sub(c.read) < time.Second/2 {
		return
	}
	// All viewers share the result, so the end of one viewer's request must not cancel the reading.
	ctx, cancel := context.WithTimeout(context.Background(), clusterPatience)
	defer cancel()
	v, err := c.config.Watcher.View(ctx)
	c.read, c.broken = time.Now(), err
	if err != nil {
		return
	}
	c.view = v
	known := v.Left
	for _, s := range v.Sheets {
		was, is := c.counts[s.Shard], [2]int{s.Requests, s.Troubled}
		c.counts[s.Shard] = is
		if was != [2]int{} && is[0] > was[0] {
			evil := max(0, is[1]-was[1])
			c.rates.countMany(v.At, is[0]-was[0]-evil, evil)
		}
	}
	for _, n := range v.Outcomes() {
		known += n
	}
	c.growth.add(v.At, known, int(v.Pages))
}

// make returns the data of the page for the present time.
func (c *Cluster) make(now time.Time) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(now)
	p := &page{Name: "Job " + cli.Printable(c.config.Name), Running: true, Live: true, Refresh: true}
	if c.broken != nil {
		p.Note = "The engine does not answer: " + cli.Printable(c.broken.Error())
	}
	if c.view == nil {
		p.State, p.Title = "unknown", "amble"
		return p
	}
	v := c.view
	p.Running, p.Refresh, p.Paused = v.End == "", v.End == "", v.Paused
	p.Controls = p.Running && c.config.Operator != nil
	p.State, p.Class = "running", "fine"
	switch {
	case v.End != "":
		p.State, p.Class = strings.ReplaceAll(v.End, "_", " "), ""
	case v.Paused:
		p.State, p.Class = "paused", "wait"
	}
	p.Elapsed = plural(v.Shards, "shard")
	p.Title = fmt.Sprintf("%s · %s · amble", plural(int(v.Pages), "page"), p.State)
	sites, owners, more := clusterSites(v)
	p.Tiles = clusterTiles(v)
	p.Boxes = []box{clusterEnds(v, sites), clusterStuck(v, sites, now), {
		ID: "polite", Question: "Is it polite?", Answer: "verify judges each request",
		Text: "Each node keeps a ledger: amble cluster job collect makes one of them, and amble verify reads it",
	}}
	var rows []row
	for i := range sites[:min(len(sites), maxRows)] {
		rows = append(rows, clusterRow(&sites[i], owners[sites[i].Host], now))
	}
	p.Sites, p.More = grouped(rows), more+max(0, len(sites)-maxRows)
	r := recentOf(v)
	p.Lanes = (&view{now: now, sites: sites, known: true}).lanes(r, slices.Concat(rows, clusterDone(r, rows)))
	p.Rate, p.Growth = c.rates.rateChart(now), drawGrowth(c.growth.samples, "known")
	p.Events = clusterTroubles(v, now)
	p.Nodes, p.Ownerless = clusterNodes(v)
	return p
}

// clusterSites returns the sites of all shards, sorted by remaining time, longest first; their owners; and the number of sites not
// included.
func clusterSites(v *work.View) (sites []plan.Site, owners map[string]string, more int) {
	owners = map[string]string{}
	for _, s := range v.Sheets {
		more += s.More
		for _, x := range s.Sites {
			owners[x.Host] = s.Node
			sites = append(sites, x)
		}
	}
	slices.SortFunc(sites, func(a, b plan.Site) int { return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(a.Host, b.Host)) })
	return sites, owners, more
}

func clusterTiles(v *work.View) []tile {
	of := v.Outcomes()
	fetched := cli.Bytes(v.Bytes) + " received"
	if v.Limit > 0 {
		fetched = fmt.Sprintf("of at most %s; %s", plural(int(v.Limit), "page"), fetched)
	}
	return []tile{
		{"got", num(int(v.Pages)), "fetched", fetched, "sites"},
		{"broken", num(of[crawler.Failed]), "failed", "", "events"},
		{"refused", num(of[crawler.Refused]), "refused", "", "events"},
		{"", num(v.Left), "left", "URLs queued or under way", "sites"},
	}
}

func clusterEnds(v *work.View, sites []plan.Site) box {
	b := box{ID: "ends", Question: "When will it finish? Who decides?"}
	switch {
	case v.End != "":
		b.Answer, b.Text = "It has ended", strings.ReplaceAll(v.End, "_", " ")
	case len(sites) == 0:
		b.Answer = "Not known"
	default:
		s := &sites[0]
		b.Answer = "In " + span(s.Least) + " at least"
		b.Text = fmt.Sprintf("%s decides: %s, %s apart; more machines change nothing about it", clip(cli.Printable(s.Host), 60), plural(s.URLs, "URL"), delayText(s.Delay))
	}
	return b
}

// clusterStuck answers the question whether the job is stuck: it describes what nodes, shards or sites wait for.
func clusterStuck(v *work.View, sites []plan.Site, now time.Time) box {
	b := box{ID: "stuck", Question: "Is it stuck?", Answer: "No"}
	live := 0
	for _, n := range v.Nodes {
		if n.Live {
			live++
		}
	}
	var first *plan.Site
	due := false
	for i := range sites {
		due = due || !sites[i].Due.After(now)
		if first == nil || sites[i].Due.Before(first.Due) {
			first = &sites[i]
		}
	}
	switch {
	case v.End != "":
		b.Answer = "It is over"
	case v.Unstored != "":
		b.Answer, b.Class, b.Text = "Yes: the engine stores nothing", "bad", cli.Printable(v.Unstored)+"; nodes request nothing meanwhile"
	case live == 0:
		b.Answer, b.Class, b.Text = "Yes: no node works on it", "bad", "start some with amble cluster work"
	case v.Paused:
		b.Answer, b.Class, b.Text = "Paused", "wait", "nothing is requested until it is resumed"
	case v.Unheard > 0:
		b.Answer, b.Class = plural(v.Unheard, "shard")+" without an owner", "wait"
		b.Text = "Nodes take them over when the lease of the last owner has ended, and rest for a pause then"
	case first != nil && !due && digest.HeldBy(first.Waits):
		b.Answer, b.Class = "Waiting, as it must", "wait"
		b.Text = fmt.Sprintf("%s: %s, next try in %s", clip(cli.Printable(first.Host), 60), setBy(first.Waits), span(first.Due.Sub(now)))
	default:
		b.Text = fmt.Sprintf("%s at work; %s with URLs left", plural(live, "node"), plural(len(sites), "site"))
	}
	return b
}

// clusterRow describes a site with URLs left, and the node that owns it.
func clusterRow(s *plan.Site, owner string, now time.Time) row {
	x := row{
		Host: s.Host, Name: clip(cli.Printable(s.Host), 60), Slug: slug(s.Host), Owner: clip(cli.Printable(owner), 40), Left: num(s.URLs), Open: true,
		Pause: delayText(s.Delay), Least: span(s.Least), State: "ready", Slower: (2 * max(s.Delay, time.Second)).String(),
	}
	if s.Cause != "" {
		x.Trouble = causeText(cli.Printable(s.Cause))
	}
	if s.Due.After(now) {
		x.State, x.Again = "rests", span(s.Due.Sub(now))
		x.Pause += ", " + setBy(s.Waits)
		if digest.HeldBy(s.Waits) {
			x.State, x.Class = "waits", "wait"
		}
	}
	return x
}

// clusterDone returns rows for the sites that had requests but have no URLs left.
func clusterDone(r *recent, rows []row) (more []row) {
	for _, host := range slices.Sorted(maps.Keys(r.hosts)) {
		if !slices.ContainsFunc(rows, func(x row) bool { return x.Host == host }) {
			more = append(more, row{Host: host, Name: cli.Printable(host)})
		}
	}
	return more
}

// recentOf returns the requests of the last half minute, from the sheets of all shards.
func recentOf(v *work.View) *recent {
	r := newRecent()
	var all []work.Mark
	for _, s := range v.Sheets {
		all = append(all, s.Marks...)
	}
	slices.SortFunc(all, func(a, b work.Mark) int { return a.Start.Compare(b.Start) })
	for i := range all[max(0, len(all)-maxMarks):] {
		k := &all[i+max(0, len(all)-maxMarks)]
		h := r.host(k.Host)
		m := mark{host: k.Host, site: h, start: k.Start, end: k.End, robots: k.Robots, failed: k.Status == 0 || k.Status >= 400}
		if h.pause > 0 {
			m.owed = [2]time.Time{h.ended, h.ended.Add(h.pause)}
		}
		h.ended, h.pause = k.End, max(0, k.Ready.Sub(k.End))
		r.marks = append(r.marks, m)
	}
	return r
}

func clusterTroubles(v *work.View, now time.Time) []shownEvent {
	var all []work.Trouble
	for _, s := range v.Sheets {
		all = append(all, s.Troubles...)
	}
	slices.SortFunc(all, func(a, b work.Trouble) int { return a.At.Compare(b.At) })
	return eventsOf(all, now)
}

// shownNode is a node of a job on a cluster, as shown.
type shownNode struct{ Name, Slug, State, Class, Shards, Pages, Left, Lag, Clock string }

// clusterNodes returns the nodes, at most maxRows, and a remark if shards have no owner.
func clusterNodes(v *work.View) (shown []shownNode, ownerless string) {
	for _, n := range v.Nodes[:min(len(v.Nodes), maxRows)] {
		x := shownNode{
			Name: cli.Printable(n.Name), Slug: slug(n.Name), State: "at work", Class: "fine", Shards: num(n.Shards), Pages: num(int(n.Pages)), Left: num(n.Left),
			Lag: cli.Bytes(n.Lag), Clock: fmt.Sprintf("%d ± %d ms", int(1000*n.Ahead), int(1000*n.Error)),
		}
		switch {
		case n.Refuses != "":
			x.State, x.Class = "refuses the job: "+clip(cli.Printable(n.Refuses), 200), "refused"
		case !n.Live:
			x.State, x.Class = "silent", "wait"
		case n.Shards == 0:
			x.State, x.Class = strings.TrimSuffix("owns nothing: "+n.Waits, ": "), ""
		}
		shown = append(shown, x)
	}
	if v.Unheard > 0 && v.End == "" {
		ownerless = plural(v.Unheard, "shard") + " of " + num(v.Shards) + " without an owner that answers: their counts are missing here."
	}
	return shown, ownerless
}
