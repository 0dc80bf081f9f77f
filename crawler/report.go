package crawler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// Finish is the reason why a crawl ended.
type Finish string

// The reasons why a crawl ends, stable across versions.
const (
	FinishDone     Finish = "done"      // no URL was left
	FinishPages    Finish = "max_pages" // Config.Limits.Pages was reached, and URLs were left
	FinishBytes    Finish = "max_bytes"
	FinishTime     Finish = "max_time"
	FinishErrors   Finish = "max_errors"
	FinishMinFree  Finish = "min_free" // DrainFor was called: too little disk space is left
	FinishMaxDisk  Finish = "max_disk" // DrainFor was called: the crawl has used its disk allowance
	FinishDrained  Finish = "drained"  // Drain was called, a Handler returned Stop, or the loop over Pages was left
	FinishCanceled Finish = "canceled" // the context ended
	FinishError    Finish = "error"    // a sink or the frontier failed
	// FinishUnreachable means that no host has ever answered. See UnreachableError.
	FinishUnreachable Finish = "unreachable"
)

// Limit reports whether the crawl ended because a limit of its Config was reached.
func (f Finish) Limit() bool {
	return f == FinishPages || f == FinishBytes || f == FinishTime || f == FinishMinFree || f == FinishMaxDisk
}

// Duration is a time.Duration whose JSON form is a number of seconds.
type Duration struct{ time.Duration }

// MarshalJSON writes the number of seconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Seconds()) }

// UnmarshalJSON reads a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	err := json.Unmarshal(b, &seconds)
	d.Duration = time.Duration(seconds * float64(time.Second))
	return err
}

// Report summarizes a crawl. The command's report.json has its JSON form.
type Report struct {
	Started  time.Time `json:"started"` // start of the first run, if the frontier is durable
	Ended    time.Time `json:"ended"`
	Elapsed  Duration  `json:"seconds"` // time of all runs, without the time between them
	Runs     int       `json:"runs"`    // number of runs: 1, increased each time the crawl is resumed
	Finish   Finish    `json:"finish"`
	Stopped  string    `json:"stopped,omitempty"` // with FinishDrained: the reason that a Handler gave (StopBecause)
	Pages    int       `json:"pages"`             // visits with outcome Fetched
	Requests int       `json:"requests"`          // number of requests sent, including those for robots.txt and retries
	// Lost counts those requests, included in Requests, that were cut off because the process was killed or failed, or whose responses
	// were lost with it. No other count includes them. Package job sets it.
	Lost int `json:"lost_requests,omitempty"`
	// NotShared is the reason why the crawl did not take turns with the crawls of other processes, although it should; "" if it
	// did.
	NotShared string `json:"not_shared,omitempty"`

	Retries int   `json:"retries"` // number of retries that were planned
	Bytes   int64 `json:"bytes"`   // body bytes received, before decoding
	Hosts   int   `json:"hosts"`   // number of hosts that responded
	Left    int   `json:"left"`    // number of URLs still queued
	// Rejected counts URLs for which the queue had no room: links with FateFull, each time they were found, and other URLs.
	Rejected int `json:"rejected,omitempty"`

	Outcomes map[Outcome]int `json:"outcomes"` // visits by outcome
	Reasons  map[string]int  `json:"reasons"`  // visits by reason code, without ""
	Statuses map[int]int     `json:"statuses"` // visits with a response, by HTTP status
	// Errors counts fetched visits with status 4xx or 5xx, by status. It is nil in reports of earlier versions, which counted them only
	// together with visits of other outcomes.
	Errors map[int]int `json:"error_pages"`
	// Types counts fetched visits by media type. Long names, and names after the first 200, are counted as "other".
	Types    map[string]int `json:"types"`
	Links    map[Fate]int   `json:"links"`    // links found, by fate
	Sitemaps []string       `json:"sitemaps"` // sitemaps that robots.txt files name, at most 100
	// SitemapsCut counts the sitemaps that Config.Limits.Sitemaps left out, for the first 100 hosts that have any. Reasons counts them
	// for all hosts, under ReasonSitemapBudget.
	SitemapsCut map[string]int `json:"sitemaps_cut,omitempty"`

	// Resources counts the requests for resources of rendered pages, which are included in Requests. Rendering counts the pages
	// that were to be rendered; nil: there were none.
	Resources int             `json:"resources,omitempty"`
	Rendering *RenderingCount `json:"rendering,omitempty"`

	Robots      int `json:"robots,omitempty"` // number of requests that Config.Limits.Robots counts
	Connections int `json:"connections"`      // number of connections opened; other requests used an open connection
	// Server is the sum of the response times of all responses. TooMany and ServerErrors count responses with status 429 and 5xx,
	// including responses for robots.txt and those after which a URL was retried; Statuses counts final responses only.
	Server       Duration `json:"server_seconds"`
	TooMany      int      `json:"answers_429,omitempty"`
	ServerErrors int      `json:"answers_5xx,omitempty"`
	// LostToOthers is the time for which requests waited only because of other crawls that use the same host, address or domain. It is
	// the sum over all requests, even if hosts waited simultaneously. Package job sets it.
	LostToOthers Duration `json:"lost_to_others_s,omitzero"`
	// Walls counts the responses that are challenges of a bot wall, keyed by the wall's name, including responses for robots.txt.
	// WalledSeeds lists the seeds that got no other response, at most 10. HTMLRobots lists origins whose robots.txt is an HTML page but
	// not a challenge, which has no rules, at most 100.
	Walls       map[string]int `json:"walls,omitempty"`
	WalledSeeds []WalledSeed   `json:"walled_seeds,omitempty"`
	// WallStatuses counts visits to which a bot wall responded, by HTTP status. Statuses includes them.
	WallStatuses map[int]int `json:"wall_statuses,omitempty"`
	HTMLRobots   []string    `json:"html_robots,omitempty"`

	Same int `json:"same_body"` // fetched pages with the same body as an earlier page
	// Near counts fetched pages that are nearly the same as an earlier one, with Config.Duplicates.NearBits.
	Near         int `json:"near_duplicates,omitempty"`
	Noncanonical int `json:"noncanonical"` // fetched pages that declare another URL as their canonical one

	// Bound is a lower bound of the time for the requests of this crawl: the largest sum, for a host or an address, of its requests,
	// made one at a time, and the required pauses between them. BoundBy is that host or address.
	Bound   Duration `json:"bound_s"`
	BoundBy string   `json:"bound_by,omitempty"`

	// Usage counts visits by the site's preference about a use, such as "train-ai disallow"; uses that package robots does not name are
	// counted as "other". A visit counts once for each use, by the strictest statement about it. UsageHosts has the same counts by host,
	// for the first 1,000 hosts that state a preference; UsageMore counts the visits with a preference at all other hosts.
	Usage      map[string]int            `json:"usage,omitempty"`
	UsageHosts map[string]map[string]int `json:"usage_hosts,omitempty"`
	UsageMore  int                       `json:"usage_more,omitempty"`

	// Verdicts counts the visits at sites with statements about uses by verdict, such as "train-ai forbids". LeftOut counts the pages
	// that such statements excluded, by host and by the place and name of the deciding statement. Cost sums the prices of pages that
	// their sites offer for a payment; nothing is ever paid. LeftOut and Cost have the host "" for all hosts after the first 1,000.
	Verdicts map[string]int            `json:"verdicts,omitempty"`
	LeftOut  map[string]map[string]int `json:"left_out,omitempty"`
	Cost     []HostCost                `json:"cost,omitempty"`

	// Unmet has the Match of each entry of Config.Hosts that matched no host of the crawl.
	Unmet []string `json:"unmet_hosts,omitempty"`

	// Draws describes the sample of each site of a crawl with Config.Sample.
	Draws []SiteDraw `json:"draws,omitempty"`

	// Overrides lists the origins whose robots.txt was replaced, with the reasons.
	Overrides []politeness.Override `json:"overrides,omitempty"`
}

// WalledSeed is a seed that was not fetched because of a bot wall: the response to the request for it, or for its robots.txt, is a
// challenge.
type WalledSeed struct {
	URL  string `json:"url"`
	Wall string `json:"wall"` // name of the bot wall; "" if the crawl gave up the host before it requested the seed
}

// Maximum lengths of the lists of a Report.
const (
	maxWalledSeeds = 10
	maxHTMLRobots  = 100
	maxSitemaps    = 100
	maxSitemapsCut = 100
)

// RenderingCount counts the pages that were to be rendered, by outcome.
type RenderingCount struct {
	Pages    int            `json:"pages"`              // pages with a rendered document
	Cut      map[string]int `json:"cut,omitempty"`      // pages whose rendering ended early, keyed by Rendered.Cut
	Wanted   int            `json:"wanted,omitempty"`   // URLs that the pages requested, at most render.MaxFates for each page
	Answered int            `json:"answered,omitempty"` // of these, URLs with a response, even if another page had requested it
	Refused  map[string]int `json:"refused,omitempty"`  // of these, URLs that were refused, by reason
}

// add returns the sum of two counts, each of which may be nil.
func (c *RenderingCount) add(o *RenderingCount) *RenderingCount {
	switch {
	case o == nil:
		return c
	case c == nil:
		c = &RenderingCount{}
	}
	return &RenderingCount{
		Pages: c.Pages + o.Pages, Cut: summed(c.Cut, o.Cut), Wanted: c.Wanted + o.Wanted, Answered: c.Answered + o.Answered, Refused: summed(c.Refused, o.Refused),
	}
}

// rendered adds a page that was to be rendered to the counts.
func (c *RenderingCount) rendered(r *Rendered) *RenderingCount {
	if c == nil {
		c = &RenderingCount{}
	}
	if c.Cut == nil { // counts that were read from a report may have no map
		c.Cut = map[string]int{}
	}
	if c.Refused == nil {
		c.Refused = map[string]int{}
	}
	if r.DOM != nil {
		c.Pages++
	}
	if r.Cut != "" {
		c.Cut[r.Cut]++
	}
	for i := range r.Requests {
		c.Wanted++
		switch q := &r.Requests[i]; {
		case q.Refused != "":
			c.Refused[q.Refused]++
		case q.Status > 0:
			c.Answered++
		}
	}
	return c
}

// tally collects a Report while workers run.
type tally struct {
	mu       sync.Mutex
	r        Report
	hosts    map[string]int   // pages fetched, keyed by host
	retried  map[string]int   // retries, keyed by host
	used     map[string]*uses // keyed by host: hosts with sitemaps or with a limit of robots.txt requests
	sitemaps map[string]bool
	usage    usages
	spent    map[string]*spending // keyed by host: hosts with separate budgets; nil if there are none

	// The following fields are for crawls that can be resumed.
	elapsed time.Duration  // running time of earlier runs
	since   time.Time      // beginning of this run
	settled map[string]int // fetched pages whose visits are in the sinks, keyed by host
	fresh   map[string]bool
	origins map[string]bool // origins from which a page was requested in this run
}

func newTally(now time.Time) *tally {
	return &tally{
		r: Report{
			Started: now, Runs: 1, Outcomes: map[Outcome]int{}, Reasons: map[string]int{}, Statuses: map[int]int{}, Errors: map[int]int{},
			Types: map[string]int{}, Links: map[Fate]int{},
		},
		hosts:    map[string]int{},
		retried:  map[string]int{},
		used:     map[string]*uses{},
		sitemaps: map[string]bool{},
		since:    now,
	}
}

// request counts a request and its bytes, and returns the bytes of all requests. An aborted request is counted only if it had been sent.
func (t *tally) request(a *fetcher.Answer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Aborted {
		if f := failure(a.Err); f == nil || f.Reason != fetcher.ReasonCanceled || f.Phase != fetcher.PhaseHeader && f.Phase != fetcher.PhaseBody {
			return t.r.Bytes
		}
	}
	t.r.Requests++
	if a.Permit.Purpose() == politeness.Resource {
		t.r.Resources++
	}
	if !a.Aborted && (a.Page == nil || !a.Page.Reused) {
		t.r.Connections++
	}
	if a.Page != nil {
		t.answer(a.Page)
	}
	t.r.Bytes += wireBytes(a)
	return t.r.Bytes
}

// wireBytes returns the number of body bytes that were received.
func wireBytes(a *fetcher.Answer) int64 {
	if a.Page != nil {
		return a.Page.WireBytes
	}
	if failed := failure(a.Err); failed != nil {
		return failed.WireBytes
	}
	return 0
}

// answer counts a response: its time, and whether it is a challenge, a 429 or a 5xx.
func (t *tally) answer(p *fetcher.Page) {
	t.r.Server.Duration += max(0, p.Ended.Sub(p.Started))
	if p.Wall != "" {
		if t.r.Walls == nil {
			t.r.Walls = map[string]int{}
		}
		t.r.Walls[p.Wall]++
	}
	switch {
	case p.Status == http.StatusTooManyRequests:
		t.r.TooMany++
	case p.Status >= 500:
		t.r.ServerErrors++
	}
}

// resources returns the number of requests for resources of rendered pages so far.
func (t *tally) resources() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.r.Resources
}

// pagesOf returns the number of pages that count towards the page limit of a host.
func (t *tally) pagesOf(host string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hosts[host]
}

// requests returns the number of requests so far.
func (t *tally) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.r.Requests
}

// visit adds a visit to the counts and returns the number of failed visits so far.
func (t *tally) visit(v *Visit) (failed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Outcomes[v.Outcome]++
	if v.Reason != "" {
		t.r.Reasons[v.Reason]++
	}
	if v.Page != nil {
		t.r.Statuses[v.Page.Status]++
		if v.Reason == politeness.ReasonChallenge {
			if t.r.WallStatuses == nil {
				t.r.WallStatuses = map[int]int{}
			}
			t.r.WallStatuses[v.Page.Status]++
		}
	}
	if v.ofSeed() {
		t.seed(v)
	}
	if v.Outcome == Fetched && t.settled != nil {
		t.settled[v.URL.Host()]++
		t.fresh[v.URL.Host()] = true
		if v.Kind == frontier.KindSitemap {
			t.usesOf(v.URL.Host()).settled++
		}
	}
	if v.Reason == ReasonSitemapBudget {
		t.sitemapCut(v.URL.Host())
	}
	if len(v.Usage.Statements) > 0 && t.usage.count(v.URL.Host(), v.Usage) && t.fresh != nil {
		t.fresh[v.URL.Host()] = true
	}
	if v.Terms != nil {
		t.r.AddTerms(v.URL.Host(), v.Terms.Terms())
	}
	if v.Rendered != nil {
		t.r.Rendering = t.r.Rendering.rendered(v.Rendered)
	}
	if v.Outcome == Fetched {
		t.duplicate(v)
		t.r.Pages++
		if v.Page.Status >= 400 {
			t.r.Errors[v.Page.Status]++
		}
		t.countType(v.Page.ContentType)
	}
	for fate, n := range v.counts {
		t.r.Links[fate] += n
	}
	return t.r.Outcomes[Failed]
}

// seed records whether a bot wall prevented a seed from being fetched.
func (t *tally) seed(v *Visit) {
	url := v.URL.String()
	t.r.WalledSeeds = slices.DeleteFunc(slices.Clone(t.r.WalledSeeds), func(s WalledSeed) bool { return s.URL == url }) // remove an earlier entry
	if wall, is := v.wall(); is && len(t.r.WalledSeeds) < maxWalledSeeds {
		t.r.WalledSeeds = append(t.r.WalledSeeds, WalledSeed{url, wall})
	}
}

// htmlRobots records an origin whose robots.txt is an HTML page.
func (t *tally) htmlRobots(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.r.HTMLRobots) < maxHTMLRobots && !slices.Contains(t.r.HTMLRobots, origin) {
		t.r.HTMLRobots = append(slices.Clone(t.r.HTMLRobots), origin)
	}
}

// Only maxTypes media types are counted by name, because servers invent names; all others are counted together.
const (
	maxTypes   = 200
	maxType    = 100 // maximum length of a name, in bytes
	otherTypes = "other"
)

func (t *tally) countType(name string) {
	if _, known := t.r.Types[name]; !known && (len(t.r.Types) >= maxTypes || len(name) > maxType) {
		name = otherTypes
	}
	t.r.Types[name]++
}

// duplicate counts a page that is a duplicate of another, by comparison with earlier pages or because it declares another canonical URL.
func (t *tally) duplicate(v *Visit) {
	if v.SameAs != "" {
		t.r.Same++
	}
	if v.NearOf != "" {
		t.r.Near++
	}
	if c := v.Canonical(); !c.IsZero() && c.Key() != v.URL.Key() {
		t.r.Noncanonical++
	}
}

// sitemap records a sitemap that a robots.txt names, unless its URL is longer than the default limit for queued URLs.
func (t *tally) sitemap(ref string) {
	if len(ref) > DefaultMaxURL {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sitemaps[ref] || len(t.sitemaps) >= maxSitemaps {
		return
	}
	t.sitemaps[ref] = true
	t.r.Sitemaps = append(t.r.Sitemaps, ref)
}

// sitemapCut counts a sitemap of a host that the limit leaves out. The caller holds the lock.
func (t *tally) sitemapCut(host string) {
	if _, known := t.r.SitemapsCut[host]; !known && len(t.r.SitemapsCut) >= maxSitemapsCut {
		return
	}
	if t.r.SitemapsCut == nil {
		t.r.SitemapsCut = map[string]int{}
	}
	t.r.SitemapsCut[host]++
}

func (t *tally) report(now time.Time, finish Finish, left int) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.r
	r.Started, r.Ended, r.Finish, r.Left, r.Hosts = r.Started.UTC(), now.UTC(), finish, left, len(t.hosts)
	r.Elapsed = Duration{t.elapsed + now.Sub(t.since)}
	r.Usage, r.UsageHosts, r.UsageMore = t.usage.report()
	r.Walls, r.Verdicts, r.LeftOut, r.Cost = maps.Clone(r.Walls), maps.Clone(r.Verdicts), addLeftOut(nil, r.LeftOut), slices.Clone(r.Cost)
	if r.Sitemaps == nil {
		r.Sitemaps = []string{} // JSON must have [] here, not null
	}
	return &r
}

// keeps prepares the tally of a durable crawl for calls of keep.
func (t *tally) keeps() {
	t.settled, t.fresh, t.origins = map[string]int{}, map[string]bool{}, map[string]bool{}
}

// firstOf reports whether this is its first call for an origin in this run.
func (t *tally) firstOf(origin string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.origins[origin]
	t.origins[origin] = true
	return first
}

// keep returns the counts that must survive a crash.
func (t *tally) keep(now time.Time) kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := kept{Report: t.r, Elapsed: t.elapsed + now.Sub(t.since)}
	k.Report.Overrides, k.Report.Unmet, k.Usage, k.UsageMore = nil, nil, t.usage.all, t.usage.more
	return k
}

// hostCount holds the counts of a host that are stored in a durable frontier.
type hostCount struct {
	pages, retries int
	usage          usageCounts
	spent          *spending // nil if the host has no separate budgets
	used           uses
}

// changedHosts returns the counts of the hosts whose counts have changed since the last call.
func (t *tally) changedHosts() map[string]hostCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]hostCount, len(t.fresh))
	for host := range t.fresh {
		all[host] = hostCount{t.settled[host], t.retried[host], t.usage.of(host), t.spentBy(host), t.usedBy(host)}
	}
	clear(t.fresh)
	return all
}

// recall restores the counts of earlier runs.
func (t *tally) recall(k kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r, t.elapsed = k.Report, k.Elapsed
	t.r.Errors = t.r.errors()
	t.usage.all, t.usage.more = k.Usage, k.UsageMore
	t.r.Runs++
	for _, ref := range t.r.Sitemaps {
		t.sitemaps[ref] = true
	}
}

func (t *tally) recallHost(host string, n hostCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.pages > 0 {
		t.settled[host], t.hosts[host] = n.pages, n.pages
	}
	if n.retries > 0 {
		t.retried[host] = n.retries
	}
	t.usage.recall(host, n.usage)
	if n.spent != nil {
		*t.spends(host) = *n.spent
	}
}

// ParseStored returns the counts that a crawl stored in its durable Frontier with its last commit. Ended, Finish, Hosts, Left and Bound
// are zero, because they are set when a crawl ends.
func ParseStored(value []byte) (*Report, error) {
	var k kept
	if err := json.Unmarshal(value, &k); err != nil {
		return nil, fmt.Errorf("crawler: the counts of the crawl: %w", err)
	}
	r := k.Report
	r.Elapsed = Duration{k.Elapsed}
	return &r, nil
}

// ContentPages returns the number of fetched visits whose status is neither 4xx nor 5xx.
func (r *Report) ContentPages() int {
	n := r.Pages
	for _, count := range r.errors() {
		n -= count
	}
	return max(0, n)
}

// errors returns a copy of Errors. For a report of an earlier version, which has none, it computes them from Statuses.
func (r *Report) errors() map[int]int {
	if r.Errors != nil {
		return maps.Clone(r.Errors)
	}
	errors := map[int]int{}
	for status, n := range r.Statuses {
		if status >= 400 {
			errors[status] = n
		}
	}
	return errors
}

// Add adds the counts of a crawl of other hosts. Started becomes the earlier time, Ended the later one, and Bound the longer one. Elapsed
// and Runs are sums. Finish, Usage and the fields about single hosts are unchanged.
func (r *Report) Add(o *Report) {
	if r.Started.IsZero() || !o.Started.IsZero() && o.Started.Before(r.Started) {
		r.Started = o.Started
	}
	if o.Ended.After(r.Ended) {
		r.Ended = o.Ended
	}
	if o.Bound.Duration > r.Bound.Duration {
		r.Bound, r.BoundBy = o.Bound, o.BoundBy
	}
	r.Elapsed.Duration += o.Elapsed.Duration
	r.Server.Duration += o.Server.Duration
	r.Bytes += o.Bytes
	for to, n := range map[*int]int{
		&r.Runs: o.Runs, &r.Pages: o.Pages, &r.Requests: o.Requests, &r.Resources: o.Resources, &r.Retries: o.Retries, &r.Hosts: o.Hosts, &r.Left: o.Left,
		&r.Rejected: o.Rejected, &r.Robots: o.Robots, &r.Connections: o.Connections, &r.TooMany: o.TooMany, &r.ServerErrors: o.ServerErrors,
		&r.Same: o.Same, &r.Near: o.Near, &r.Noncanonical: o.Noncanonical,
	} {
		*to += n
	}
	r.Outcomes, r.Reasons, r.Statuses = summed(r.Outcomes, o.Outcomes), summed(r.Reasons, o.Reasons), summed(r.Statuses, o.Statuses)
	r.Errors = summed(r.errors(), o.errors())
	r.Types, r.Links = summed(r.Types, o.Types), summed(r.Links, o.Links)
	if len(o.Walls) > 0 {
		r.Walls, r.WallStatuses = summed(r.Walls, o.Walls), summed(r.WallStatuses, o.WallStatuses)
	}
	if len(o.Verdicts) > 0 {
		r.Verdicts = summed(r.Verdicts, o.Verdicts)
	}
	r.Rendering = r.Rendering.add(o.Rendering)
	r.LeftOut = addLeftOut(r.LeftOut, o.LeftOut)
	for _, c := range o.Cost {
		r.Cost = addCost(r.Cost, c)
	}
	if len(o.SitemapsCut) > 0 {
		r.SitemapsCut = summed(r.SitemapsCut, o.SitemapsCut)
		for _, host := range slices.Sorted(maps.Keys(r.SitemapsCut))[min(len(r.SitemapsCut), maxSitemapsCut):] {
			delete(r.SitemapsCut, host)
		}
	}
	r.WalledSeeds = slices.Concat(r.WalledSeeds, o.WalledSeeds)
	r.WalledSeeds = r.WalledSeeds[:min(len(r.WalledSeeds), maxWalledSeeds)]
	r.HTMLRobots = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.HTMLRobots, o.HTMLRobots))))
	r.HTMLRobots = r.HTMLRobots[:min(len(r.HTMLRobots), maxHTMLRobots)]
	r.Sitemaps = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Sitemaps, o.Sitemaps))))
	r.Sitemaps = r.Sitemaps[:min(len(r.Sitemaps), maxSitemaps)]
}

// summed returns the sums of a and b, which may be nil.
func summed[K cmp.Ordered](a, b map[K]int) map[K]int {
	sum := map[K]int{}
	maps.Copy(sum, a)
	for k, n := range b {
		sum[k] += n
	}
	return sum
}

// usageNames lists the uses that have separate counts; the last element stands for all other uses.
var usageNames = [...]string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM, robots.UseTrainAIImage, "other"}

// usageCounts counts visits by use, in the order of usageNames: first those whose site allows the use, then those whose site disallows
// it.
type usageCounts [2 * len(usageNames)]uint32

// maxUsageHosts limits the hosts whose usage is counted separately.
const maxUsageHosts = 1000

// usages counts the preferences that sites state about the uses of their pages. The caller holds the lock of its tally.
type usages struct {
	all   usageCounts
	hosts map[string]*usageCounts
	more  int // number of visits at hosts that are not in hosts
}

// count adds a visit to the counts if its page has a preference about uses, and reports whether it has.
func (n *usages) count(host string, u robots.Usage) bool {
	if !slices.ContainsFunc(u.Statements, func(s robots.Statement) bool { return s.Signal != robots.Unsaid }) {
		return false
	}
	var said [len(usageNames)]robots.Signal
	for _, s := range u.Statements {
		i := usageIndex(s.Use)
		said[i] = max(said[i], s.Signal)
	}
	h := n.host(host)
	if h == nil {
		n.more++
		h = &usageCounts{}
	}
	for i, signal := range said {
		switch signal {
		case robots.Allowed:
			n.all[i]++
			h[i]++
		case robots.Disallowed:
			n.all[len(usageNames)+i]++
			h[len(usageNames)+i]++
		}
	}
	return true
}

func usageIndex(use string) int {
	for i, name := range usageNames {
		if name == use {
			return i
		}
	}
	return len(usageNames) - 1
}

// host returns the counts of a host, or nil if as many hosts as possible have separate counts.
func (n *usages) host(name string) *usageCounts {
	h := n.hosts[name]
	if h == nil && len(n.hosts) < maxUsageHosts {
		if n.hosts == nil {
			n.hosts = map[string]*usageCounts{}
		}
		h = &usageCounts{}
		n.hosts[name] = h
	}
	return h
}

// of returns the counts of a host. They are zero if the host has no separate counts.
func (n *usages) of(host string) usageCounts {
	if h := n.hosts[host]; h != nil {
		return *h
	}
	return usageCounts{}
}

// recall restores the counts of a host.
func (n *usages) recall(host string, was usageCounts) {
	if was == (usageCounts{}) {
		return
	}
	if h := n.host(host); h != nil {
		*h = was
	}
}

// report returns the counts keyed by the names of [Report.Usage].
func (n *usages) report() (all map[string]int, hosts map[string]map[string]int, more int) {
	for name, h := range n.hosts {
		if hosts == nil {
			hosts = map[string]map[string]int{}
		}
		hosts[name] = h.named()
	}
	return n.all.named(), hosts, n.more
}

func (c *usageCounts) named() (m map[string]int) {
	for i, n := range c {
		if n == 0 {
			continue
		}
		if m == nil {
			m = map[string]int{}
		}
		signal := robots.Allowed
		if i >= len(usageNames) {
			signal = robots.Disallowed
		}
		m[usageNames[i%len(usageNames)]+" "+signal.String()] = int(n)
	}
	return m
}
